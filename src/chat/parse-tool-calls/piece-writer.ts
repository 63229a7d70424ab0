import type { AnswerPiece } from './answer-pieces.ts';
import type { AnswerText } from './answer-text.ts';

const maxSaid = 400;
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
  #said = '';

  constructor(input: AnswerText) {
    this.input = input;
  }

  /** The end of the text so far: enough of it to see what it leads to. */
  get said(): string {
    return this.#said.slice(-maxSaid);
  }

  text(end: number): void {
    const text = this.#take(end);
    if (text === '') return;
    if ((this.isFresh || this.isAfterBlock) && text.trim() !== '') {
      this.isFresh = false;
      this.isAfterBlock = false;
    }
    this.lastCharacter = text.charAt(text.length - 1);
    this.#said += text;
    if (this.#said.length > 2 * maxSaid) this.#said = this.said;
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
    if (this.input.isEnded || this.cursor === 0) return;
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

/** Text that is passed on as it arrives, up to one of the marks in `ends`. */
export interface Passage {
  as: 'text' | 'reasoning';
  ends: readonly string[];
  /** What to do with the mark that ends it. */
  end: 'skip' | 'write' | 'leave';
  /** The first characters of the marks. */
  beginnings: RegExp;
}

export function createPassage(ends: readonly string[], { as, end }: Pick<Passage, 'as' | 'end'>): Passage {
  return { as, ends, end, beginnings: new RegExp(`[${ends.map((mark) => mark.charAt(0)).join('')}]`, 'g') };
}

/** Writes the text up to the next possible end. `open`: all the text that has arrived was written. */
export function writePassage(writer: PieceWriter, { as, ends, end, beginnings }: Passage): 'open' | 'undecided' | 'ended' {
  const { text } = writer.input;
  beginnings.lastIndex = writer.cursor;
  const at = beginnings.exec(text)?.index ?? text.length;
  writer[as](at);
  if (at === text.length) return 'open';
  const mark = writer.input.firstOf(ends, at);
  if (mark === undefined) {
    writer[as](at + 1);
    return 'undecided';
  }
  if (end === 'write') writer[as](at + mark.length);
  if (end === 'skip') writer.skip(at + mark.length);
  return 'ended';
}
