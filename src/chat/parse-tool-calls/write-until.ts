import { CharacterSet } from './character-set.ts';
import type { PieceWriter } from './piece-writer.ts';
import { Search } from './search.ts';

export interface WriteUntil {
  as: 'text' | 'reasoning';
  ends: readonly string[];
  /** What to do with the mark that was found. */
  end: 'skip' | 'write' | 'leave';
}

/** Gives text as it comes until one of the marks. The mark, or undefined at the end of the answer. */
export function writeUntil(writer: PieceWriter, until: WriteUntil): Search<string | undefined> {
  return new WrittenUntil(writer, until);
}

class WrittenUntil extends Search<string | undefined> {
  found: string | undefined;
  readonly #writer: PieceWriter;
  readonly #until: WriteUntil;
  readonly #longest: number;
  readonly #beginnings: CharacterSet;
  #from: number;

  constructor(writer: PieceWriter, until: WriteUntil) {
    super();
    this.#writer = writer;
    this.#until = until;
    this.#longest = Math.max(...until.ends.map((end) => end.length));
    this.#beginnings = CharacterSet.of(until.ends.map((end) => end.charAt(0)).join(''));
    this.#from = writer.cursor;
  }

  isOver(): boolean {
    const { input } = this.#writer;
    const { ends } = this.#until;
    for (;;) {
      const at = this.#beginnings.indexIn(input.text, this.#from);
      if (at === undefined) return this.#pause(input.text.length);
      const found = ends.find((end) => input.text.startsWith(end, at));
      if (found !== undefined) return this.#meet(found, at);
      const rest = input.text.slice(at, at + this.#longest);
      if (!input.isEnded && ends.some((end) => end.startsWith(rest))) return this.#pause(at);
      this.#from = at + 1;
    }
  }

  /** Gives what cannot be a mark; false while more may come. */
  #pause(at: number): boolean {
    this.#writer[this.#until.as](at);
    if (this.#writer.input.isEnded) return true;
    this.#writer.release();
    this.#from = 0;
    return false;
  }

  #meet(mark: string, at: number): boolean {
    const { as, end } = this.#until;
    this.#writer[as](end === 'write' ? at + mark.length : at);
    if (end === 'skip') this.#writer.skip(at + mark.length);
    this.found = mark;
    return true;
  }
}
