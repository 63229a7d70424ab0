import type { PieceWriter } from './piece-writer.ts';
import { Search } from './search.ts';

/** The next character with which something may begin; what stands before it is given as text, and at the end of the answer everything. */
export class NextBeginning extends Search<number | undefined> {
  found: number | undefined;
  /** Position where the search goes on; never before the writer's cursor. */
  from = 0;
  readonly #writer: PieceWriter;
  /** By code, 1 for each character that is looked for. An expression would cost more than all else in a piece of a few characters. */
  readonly #beginnings: Uint8Array;

  constructor(writer: PieceWriter, beginnings: string) {
    super();
    this.#writer = writer;
    this.#beginnings = tableOf(beginnings);
  }

  isOver(): boolean {
    const { input } = this.#writer;
    // What is in pieces goes first: appending to a short text costs less.
    this.from = Math.max(0, this.from - this.#writer.cursor);
    this.#writer.release();
    const at = this.#search(input.text);
    this.found = at;
    if (at !== undefined) return true;
    this.#writer.text(input.text.length);
    this.from = input.text.length;
    return input.isEnded;
  }

  #search(text: string): number | undefined {
    for (let at = this.from; at < text.length; at += 1) if (this.#beginnings[text.charCodeAt(at)] === 1) return at;
    return undefined;
  }
}

/** There are two sets, for answers with labels and for those without. */
const tables = new Map<string, Uint8Array>();

function tableOf(characters: string): Uint8Array {
  const codes = characters.split('').map((character) => character.charCodeAt(0));
  const table = tables.get(characters) ?? new Uint8Array(Math.max(...codes) + 1);
  for (const code of codes) table[code] = 1;
  tables.set(characters, table);
  return table;
}
