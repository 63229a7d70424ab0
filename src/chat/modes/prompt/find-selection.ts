import type { ToolSpec } from '../../../core/tool.ts';
import type { AnswerPiece, ReadEntry } from '../../parse-tool-calls/answer-pieces.ts';
import { parseSelection } from '../../parse-tool-calls/parse-selection.ts';
import type { Selection } from '../../parse-tool-calls/parse-selection.ts';
import { quotesOf } from '../../parse-tool-calls/quoted-calls.ts';
import { createToolCallParser } from '../../parse-tool-calls/tool-call-parser.ts';

const thoughtEnd = /<\/(?:think|thinking|reason|reasoning|thought)>/i;
const thoughtBeginning = /<(?:think|thinking|reason|reasoning|thought)>/i;

/**
 * What stands behind the end of a thought whose beginning the chat template wrote. Nobody reads a selection but the gateway, so that wherever such an
 * end stands, calls behind it outweigh those before it.
 */
function behindThought(answer: string): string | undefined {
  const end = thoughtEnd.exec(answer);
  return end === null || thoughtBeginning.test(answer.slice(0, end.index)) ? undefined : answer.slice(end.index + end[0].length);
}

/** An answer to the selection prompt, with the functions that were offered. */
export interface SelectionAnswer {
  answer: string;
  tools: readonly ToolSpec[];
  isCut: boolean;
  /** What stands in the conversation: amid words it is repeated, not called. */
  earlierTexts: readonly string[];
}

/** Some models that were asked for JSON answer in the labels of thought and action. */
export function findSelection({ answer, tools, isCut, earlierTexts }: SelectionAnswer): Selection {
  const reading = { tools, isCut, isQuoted: quotesOf(earlierTexts) };
  const rest = behindThought(answer);
  const decided = rest === undefined ? undefined : parseSelection(rest, reading);
  if (decided !== undefined && decided.calls.length > 0) return decided;
  const plain = parseSelection(answer, reading);
  if (plain.isReadable || plain.damaged.length > 0) return plain;
  const parser = createToolCallParser({ tools, isReact: true, isSelection: true });
  const first = [...parser.push(answer), ...parser.flush({ isCut })].find((piece) => isEntry(piece));
  if (first === undefined || first.isBare === true) return plain;
  if (first.type === 'damaged') return { ...plain, damaged: [first] };
  return { ...plain, calls: [first], repairs: first.repairs, isReadable: true };
}

function isEntry(piece: AnswerPiece): piece is ReadEntry {
  return piece.type === 'call' || piece.type === 'damaged';
}
