import type { ToolSpec } from '../../core/tool.ts';
import { AnswerReader } from './answer-reader.ts';
import type { AnswerPiece, Wait } from './call-pieces.ts';
import { GrowingText } from './growing-text.ts';
import { PieceWriter } from './piece-writer.ts';
import { createReadContext } from './read-context.ts';
import type { RescueRules } from './rescue-rules.ts';

export interface ToolCallParserOptions {
  /** Functions on offer: their names tell calls from data, their schemas type what is written as bare text. */
  tools: readonly ToolSpec[];
  /** Careful reading of native answers (see `RescueRules`); absent: tolerant reading of answers to a prompt. */
  rescue?: RescueRules;
  /**
   * The answer to a selection prompt: nobody reads it, and it is there to hold calls, so that forms are understood which anywhere else might be prose
   * (`f(a=1)` by itself, `["f(a=1)"]`, a name on a line before its JSON). It is read when it has ended.
   */
  isSelection?: boolean;
  /** The chat template has already opened a thinking block. */
  isThinkingOpen?: boolean;
  /** Thought / Action / Action Input labels are understood. */
  isReact?: boolean;
  /** Without `rescue`: calls that stand in an earlier message are text. Labelled actions are for the caller to judge. */
  quotes?: RescueRules;
}

export interface ToolCallParser {
  /** Pieces that are decided by now. */
  push(text: string): readonly AnswerPiece[];
  /** Goes on where it paused because `mayAsk` said no, also after `flush`; until then nothing more may be pushed. */
  resume(): readonly AnswerPiece[];
  /** The rest. `isCut`: the answer was ended by the token limit. Call it once, at the end. */
  flush(end: { isCut: boolean }): readonly AnswerPiece[];
}

/**
 * Reads the calls out of a model's answer while it arrives, in any of the forms that are known.
 *
 * The pieces, neighbouring texts joined, depend on the text alone, never on how it was cut. Text is held back only while it may be a mark or a call.
 * Nothing inside thinking or a tool's repeated result is a call. What was truncated never is one: see `DamageReason`.
 *
 * Without `rescue` everything that reads as a call is one; names are as written and arguments not yet fitted to a schema, fences and prose around are fine.
 * With `rescue` a form with unmistakable marks may stand anywhere outside code, bare or fenced JSON has to be the whole message, names have to be
 * offered exactly, and a call that stands in an earlier message is text.
 */
export function createToolCallParser(options: ToolCallParserOptions): ToolCallParser {
  const input = new GrowingText();
  const writer = new PieceWriter(input);
  const scan = new AnswerReader(createReadContext(input, options.tools, options.isSelection === true), writer, options).read();
  // Waking the readers goes through all of them, down to the one that waits; asking what it waits for does not.
  let wait: Wait | undefined;
  return {
    push(text) {
      if (text !== '' && input.append(text) && wait?.isOver() !== false) wait = scan.next().value ?? undefined;
      return writer.takePieces();
    },
    resume() {
      wait = scan.next().value ?? undefined;
      return writer.takePieces();
    },
    flush({ isCut }) {
      input.end(isCut);
      scan.next();
      return writer.takePieces();
    },
  };
}
