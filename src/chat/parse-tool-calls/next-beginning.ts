import { CharacterSet } from './character-set.ts';
import type { PieceWriter } from './piece-writer.ts';
import { Search } from './search.ts';

/** The next character with which something may begin; what stands before it is given as text, and at the end of the answer everything. */
export class NextBeginning extends Search<number | undefined> {
  found: number | undefined;
  /** Position where the search goes on; never before the writer's cursor. */
  from = 0;
  readonly #writer: PieceWriter;
  readonly #beginnings: CharacterSet;

  constructor(writer: PieceWriter, beginnings: string) {
    super();
    this.#writer = writer;
    this.#beginnings = CharacterSet.of(beginnings);
  }

  isOver(): boolean {
    const { input } = this.#writer;
    // What is in pieces goes first: appending to a short text costs less.
    this.from = Math.max(this.from, this.#writer.cursor) - this.#writer.release();
    this.found = this.#beginnings.indexIn(input.text, this.from);
    if (this.found !== undefined) return true;
    this.#writer.text(input.text.length);
    this.from = input.text.length;
    return input.isEnded;
  }
}
