import type { ToolSpec } from '../../core/tools/tool.ts';
import type { AnswerPiece } from './answer-pieces.ts';
import { AnswerReader } from './answer-reader.ts';
import { AnswerText } from './answer-text.ts';
import { PieceWriter } from './piece-writer.ts';
import type { QuoteCheck } from './quotes/quoted-calls.ts';
import { createReadContext } from './read-context.ts';
import { AnswerRepairs } from './json/repair-json.ts';

export interface ToolCallParserOptions {
  /** Offered functions: their names distinguish calls from data, and their schemas give the types of values written as bare text. */
  tools: readonly ToolSpec[];
  /**
   * A native answer, whose text contains calls only by mistake, so the rules are strict: calls with unmistakable marks count anywhere outside code,
   * bare or fenced JSON must be the whole message, and names must be offered exactly as written. Absent: everything that looks like a call is one.
   */
  isNative?: boolean;
  /**
   * The answer to a selection prompt. No user sees it and its only purpose is to hold calls, so forms count that might be prose elsewhere (`f(a=1)`
   * by itself, `["f(a=1)"]`, a name on a line before its JSON). Nothing is read before the answer has ended.
   */
  isSelection?: boolean;
  /** The chat template has already opened a thinking block. */
  isThinkingOpen?: boolean;
  /** Thought / Action / Action Input labels are understood. */
  isReact?: boolean;
  /** Calls that only repeat what the model has read become text. Labelled actions are not checked here; the user of the parser has to. */
  quotes?: QuoteCheck;
  /** Absent: the whole budget of an answer is spent at once. */
  repairs?: AnswerRepairs;
}

export interface ToolCallParser {
  /** The pieces that are decided so far. */
  push(text: string): readonly AnswerPiece[];
  /** Continues after a pause (`isQuoted` did not know yet, or a repair is awaited), also one during `flush`. Nothing may be pushed before that. */
  resume(): readonly AnswerPiece[];
  /** The rest. `isCut`: the answer was ended by the token limit. Call it once, at the end. */
  flush(end: { isCut: boolean }): readonly AnswerPiece[];
}

/**
 * Reads the calls out of a model's answer while it arrives, in any of the forms that are known.
 *
 * The pieces, neighbouring texts joined, depend on the text alone, never on how it was cut. Text is held back only while it may be a mark or a call.
 * Nothing inside thinking or a repeated tool result is a call. A truncated call never runs: see `DamageReason`.
 */
export function createToolCallParser(options: ToolCallParserOptions): ToolCallParser {
  return new PieceParser(options);
}

/** A class, because one is made for each chat. */
class PieceParser implements ToolCallParser {
  readonly #input = new AnswerText();
  readonly #writer = new PieceWriter(this.#input);
  readonly #reader: AnswerReader;

  constructor(options: ToolCallParserOptions) {
    const { tools, isSelection = false, repairs = new AnswerRepairs() } = options;
    this.#reader = new AnswerReader(createReadContext({ input: this.#input, repairs, isSelection }, tools), this.#writer, options);
  }

  push(text: string): readonly AnswerPiece[] {
    return text !== '' && this.#input.append(text) ? this.resume() : nothing;
  }

  resume(): readonly AnswerPiece[] {
    this.#reader.read();
    return this.#writer.takePieces();
  }

  flush({ isCut }: { isCut: boolean }): readonly AnswerPiece[] {
    this.#input.end(isCut);
    return this.resume();
  }
}

const nothing: readonly AnswerPiece[] = [];
