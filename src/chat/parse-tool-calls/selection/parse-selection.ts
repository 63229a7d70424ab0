import type { JsonObject } from '../../../shared/json/json.ts';
import { limits } from '../../../core/limits.ts';
import type { ToolSpec } from '../../../core/tools/tool.ts';
import type { AnswerPiece, DamageReason } from '../answer-pieces.ts';
import { meantPieces } from './meant-calls.ts';
import { quotesOf } from '../quotes/quoted-calls.ts';
import { AnswerRepairs, repairedInPlace } from '../json/repair-json.ts';
import { createToolCallParser } from '../tool-call-parser.ts';
import { judgeWords, type WordsAround } from './words-around.ts';

/** A call that a model wrote in its answer to the selection prompt; its name is not yet checked against the offer. */
interface SelectedCall {
  name: string;
  arguments: JsonObject;
}

export interface Selection {
  calls: SelectedCall[];
  /** Descriptions of repairs, for the run's `selection` event. */
  repairs: string[];
  /** Names of calls that were left out because the answer had stated them before. */
  restated: string[];
  /** Clearly intended as calls, but must not run. */
  damaged: { name?: string; reason: DamageReason }[];
  /** Names of calls that are only examples or quotations: see `meantPieces`. */
  examples: string[];
  wordsAround: WordsAround;
  /** False when the answer holds no selection at all; an explicitly empty selection is readable. */
  isReadable: boolean;
}

/** An answer to the selection prompt, with the functions that were offered. */
export interface SelectionAnswer {
  answer: string;
  tools: readonly ToolSpec[];
  isCut: boolean;
  /** The texts of the conversation: a call that occurs in them, with prose around it, is a quotation. */
  earlierTexts: readonly string[];
}

/**
 * Reads an answer to the selection prompt in up to three ways: only the text after a closing thinking tag without an opening one, then the whole
 * answer (see `parseSelection`), then the ReAct labels that some models write instead of JSON.
 */
export function findSelection(answer: SelectionAnswer): Selection {
  return findWithRepairs(answer, new AnswerRepairs());
}

/** The same on the main thread; undefined for an answer whose repair takes too long there. */
export function findSelectionInPlace(answer: SelectionAnswer): Selection | undefined {
  const repairs = new AnswerRepairs({ inPlace: repairedInPlace });
  const found = findWithRepairs(answer, repairs);
  return repairs.awaited === undefined ? found : undefined;
}

function findWithRepairs({ answer, tools, isCut, earlierTexts }: SelectionAnswer, repairs: AnswerRepairs): Selection {
  const reading = { tools, isCut, isQuoted: quotesOf(earlierTexts), repairs };
  const rest = textAfterThinking(answer);
  const decided = rest === undefined ? undefined : parseSelection(rest, reading);
  if (decided !== undefined && decided.calls.length > 0) return decided;
  const plain = parseSelection(answer, reading);
  if (plain.isReadable || plain.damaged.length > 0) return plain;
  const parser = createToolCallParser({ tools, isReact: true, isSelection: true, repairs });
  const first = [...parser.push(answer), ...parser.flush({ isCut })].find((piece) => piece.type === 'call' || piece.type === 'damaged');
  if (first === undefined || first.isBare === true) return plain;
  if (first.type === 'damaged') return { ...plain, damaged: [first] };
  // What follows an observation is invented.
  const [behind = ''] = answer.slice(answer.indexOf(first.text) + first.text.length).split(/\n\W{0,9}observation\b/i, 1);
  return { ...plain, calls: [first], repairs: first.repairs, isReadable: true, wordsAround: judgeWords({ before: '', behind }, [first]) };
}

/** `findSelection` for a worker thread, as JSON text: sending objects would lose the digits of an `ExactNumber`. */
export function findSelectionAsText(given: SelectionAnswer): string {
  return JSON.stringify(findSelection(given));
}

const thoughtEnd = /<\/(?:think|thinking|reason|reasoning|thought)>/i;
const thoughtBeginning = /<(?:think|thinking|reason|reasoning|thought)>/i;

/**
 * The text after a closing thinking tag whose opening tag was part of the prompt. No user sees a selection, so calls after such a tag take
 * precedence wherever it occurs.
 */
function textAfterThinking(answer: string): string | undefined {
  const end = thoughtEnd.exec(answer);
  return end === null || thoughtBeginning.test(answer.slice(0, end.index)) ? undefined : answer.slice(end.index + end[0].length);
}

interface SelectionReading {
  /** Functions on offer; with them more forms are understood, and values between tags get their types. */
  tools?: readonly ToolSpec[];
  /** The answer was ended by the token limit. */
  isCut?: boolean;
  /** Whether a text occurs in the conversation (see `quotesOf`): a call with prose around it is then a quotation. */
  isQuoted?: (text: string) => boolean;
  repairs?: AnswerRepairs;
}

/**
 * Reads the answer to the selection prompt: `{"tool_calls":[{"name","parameters"}]}`, or calls in any of the forms that models were trained on,
 * with thinking, fences and prose around it. Nothing inside a thinking block is ever a call. Equal calls in one list all count; calls that the
 * answer repeats after prose ("so the call is …") or in another complete selection count once.
 */
export function parseSelection(
  answer: string,
  { tools = [], isCut = false, isQuoted = () => false, repairs = new AnswerRepairs() }: SelectionReading = {},
): Selection {
  const parser = createToolCallParser({ tools, isSelection: true, repairs });
  const isTooLong = answer.length > limits.argumentsBytes;
  const pieces = [...parser.push(answer.slice(0, limits.argumentsBytes)), ...parser.flush({ isCut: isCut || isTooLong })];
  const selection: Selection = {
    calls: [],
    repairs: [],
    restated: [],
    damaged: [],
    examples: [],
    wordsAround: 'harmless',
    isReadable: false,
  };
  const stated: StatedCalls = { before: new Set(), inThisList: new Set() };
  const meant = meantPieces(pieces.slice(pieces.findLastIndex((piece) => piece.type === 'retraction') + 1), isQuoted);
  selection.examples.push(...meant.examples.slice(0, limits.callsPerRound));
  for (const piece of meant.pieces) {
    if (piece.type === 'damaged' && selection.damaged.length < limits.callsPerRound)
      selection.damaged.push({ ...(piece.name === undefined ? {} : { name: piece.name }), reason: piece.reason });
    if (piece.type === 'nothing-chosen') selection.isReadable = true;
    if (piece.type === 'text' && piece.text.trim() !== '') endList(stated);
    if (piece.type === 'call') addCall(selection, stated, piece);
  }
  const words = judgeWords(meant.around, selection.calls);
  const hasReservation = meant.pieces.some((piece) => piece.type === 'call' && piece.hasReservation === true);
  selection.wordsAround = hasReservation && words === 'harmless' ? 'open' : words;
  return selection;
}

/** Calls as text: those of earlier lists of the answer, and those of the one that is being read. */
interface StatedCalls {
  before: Set<string>;
  inThisList: Set<string>;
}

/** For a selection of a single call, the text of the piece is the whole selection object. */
const wholeSelection = /^\s*\{\s*"tool_calls"/;

function endList({ before, inThisList }: StatedCalls): void {
  for (const text of inThisList) before.add(text);
  inThisList.clear();
}

function addCall(selection: Selection, stated: StatedCalls, piece: Extract<AnswerPiece, { type: 'call' }>): void {
  const call = { name: piece.name, arguments: piece.arguments };
  const text = JSON.stringify(call);
  selection.isReadable = true;
  if (wholeSelection.test(piece.text)) endList(stated);
  if (stated.before.has(text)) {
    if (selection.restated.length < limits.callsPerRound) selection.restated.push(call.name);
    return;
  }
  stated.inThisList.add(text);
  // One more than may run, so that the selection is seen to be too large.
  if (selection.calls.length > limits.callsPerRound) return;
  selection.calls.push(call);
  for (const repair of piece.repairs) if (!selection.repairs.includes(repair)) selection.repairs.push(repair);
}
