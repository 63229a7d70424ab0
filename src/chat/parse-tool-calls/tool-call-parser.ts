import type { ToolSpec } from '../../core/tool.ts';
import type { AnswerPiece } from './answer-pieces.ts';
import { AnswerReader } from './answer-reader.ts';
import { AnswerText } from './answer-text.ts';
import { PieceWriter } from './piece-writer.ts';
import type { QuoteCheck } from './quoted-calls.ts';
import { createReadContext } from './read-context.ts';

export interface ToolCallParserOptions {
  /** Functions on offer: their names tell calls from data, their schemas type what is written as bare text. */
  tools: readonly ToolSpec[];
  /**
   * A native answer, whose text holds a call only where it leaked: a form with unmistakable marks may stand anywhere outside code, bare or fenced JSON
   * has to be the whole message, and names have to be offered exactly. Absent: everything that reads as a call is one.
   */
  isNative?: boolean;
  /**
   * The answer to a selection prompt: nobody reads it, and it is there to hold calls, so that forms are understood which anywhere else might be prose
   * (`f(a=1)` by itself, `["f(a=1)"]`, a name on a line before its JSON). It is read when it has ended.
   */
  isSelection?: boolean;
  /** The chat template has already opened a thinking block. */
  isThinkingOpen?: boolean;
  /** Thought / Action / Action Input labels are understood. */
  isReact?: boolean;
  /** Calls that stand in an earlier message are text. Labelled actions are for the caller to judge. */
  quotes?: QuoteCheck;
}

export interface ToolCallParser {
  /** Pieces that are decided by now. */
  push(text: string): readonly AnswerPiece[];
  /** Goes on where it paused because `mayCheck` said no, also after `flush`; until then nothing more may be pushed. */
  resume(): readonly AnswerPiece[];
  /** The rest. `isCut`: the answer was ended by the token limit. Call it once, at the end. */
  flush(end: { isCut: boolean }): readonly AnswerPiece[];
}

/**
 * Reads the calls out of a model's answer while it arrives, in any of the forms that are known.
 *
 * The pieces, neighbouring texts joined, depend on the text alone, never on how it was cut. Text is held back only while it may be a mark or a call.
 * Nothing inside thinking or a tool's repeated result is a call. What was truncated never is one: see `DamageReason`.
 */
export function createToolCallParser(options: ToolCallParserOptions): ToolCallParser {
  const input = new AnswerText();
  const writer = new PieceWriter(input);
  const reader = new AnswerReader(createReadContext(input, options.tools, options.isSelection === true), writer, options);
  const readOn = (): readonly AnswerPiece[] => {
    reader.read();
    return writer.takePieces();
  };
  return {
    push: (text) => (text !== '' && input.append(text) ? readOn() : []),
    resume: readOn,
    flush({ isCut }) {
      input.end(isCut);
      return readOn();
    },
  };
}
