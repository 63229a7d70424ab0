import type { AnswerPiece } from './answer-pieces.ts';
import type { AnswerText } from './answer-text.ts';

/** Shared, because most chunks that arrive inside a call produce no pieces. */
const none: readonly AnswerPiece[] = [];

/** Turns text into pieces and moves the cursor forward. Every character ends up in exactly one place: text, reasoning, a call, or a skipped mark. */
export class PieceWriter {
  /** Position in `input.text` of the first character that is in no piece yet. */
  cursor = 0;
  /** Nothing but white space, reasoning and calls so far: the next thing may be the whole message. */
  isFresh = true;
  /** Only white space since a call or a thought: marks that belong to them may still follow. */
  isAfterBlock = true;
  lastCharacter = '';
  /** Calls, damaged ones too, and explicit empty choices. */
  entries = 0;
  readonly input: AnswerText;
  #pieces: AnswerPiece[] = [];

  constructor(input: AnswerText) {
    this.input = input;
  }

  text(end: number): void {
    const text = this.#take(end);
    if (text === '') return;
    if ((this.isFresh || this.isAfterBlock) && text.trim() !== '') {
      this.isFresh = false;
      this.isAfterBlock = false;
    }
    this.lastCharacter = text.charAt(text.length - 1);
    this.#join('text', text);
  }

  reasoning(end: number): void {
    const text = this.#take(end);
    if (text !== '') this.#join('reasoning', text);
  }

  /** Moves past marks and the text of calls, which the pieces of the calls contain. */
  skip(end: number): void {
    this.#take(end);
    this.lastCharacter = '';
    this.isAfterBlock = true;
  }

  put(piece: Exclude<AnswerPiece, { type: 'text' | 'reasoning' }>): void {
    this.#pieces.push(piece);
    this.entries += 1;
  }

  /** Frees the text in front of the cursor. */
  release(): void {
    if (this.input.isEnded) return;
    this.input.drop(this.cursor);
    this.cursor = 0;
  }

  takePieces(): readonly AnswerPiece[] {
    const pieces = this.#pieces;
    if (pieces.length === 0) return none;
    this.#pieces = [];
    return pieces;
  }

  #take(end: number): string {
    const text = this.input.text.slice(this.cursor, end);
    this.cursor = Math.max(this.cursor, end);
    return text;
  }

  #join(type: 'text' | 'reasoning', text: string): void {
    const last = this.#pieces.at(-1);
    if (last?.type === type) last.text += text;
    else this.#pieces.push({ type, text });
  }
}
