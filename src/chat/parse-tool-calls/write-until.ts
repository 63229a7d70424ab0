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
  readonly #beginnings: RegExp;
  #from: number;

  constructor(writer: PieceWriter, until: WriteUntil) {
    super();
    this.#writer = writer;
    this.#until = until;
    this.#longest = Math.max(...until.ends.map((end) => end.length));
    this.#beginnings = beginningsOf(until.ends);
    this.#from = writer.cursor;
  }

  isOver(): boolean {
    const { input } = this.#writer;
    const { as, ends } = this.#until;
    for (;;) {
      this.#beginnings.lastIndex = this.#from;
      const at = this.#beginnings.exec(input.text)?.index ?? input.text.length;
      const found = ends.find((end) => input.text.startsWith(end, at));
      if (found !== undefined) return this.#meet(found, at);
      const rest = input.text.slice(at, at + this.#longest);
      if (rest === '' || (!input.isEnded && ends.some((end) => end.startsWith(rest)))) {
        this.#writer[as](at);
        if (input.isEnded) return true;
        this.#writer.release();
        this.#from = 0;
        return false;
      }
      this.#from = at + 1;
    }
  }

  #meet(mark: string, at: number): boolean {
    const { as, end } = this.#until;
    this.#writer[as](end === 'write' ? at + mark.length : at);
    if (end === 'skip') this.#writer.skip(at + mark.length);
    this.found = mark;
    return true;
  }
}

/** The same few marks end nearly everything; making an expression costs more than a short text. */
const known = new Map<string, RegExp>();
const maxKnown = 100;

function beginningsOf(ends: readonly string[]): RegExp {
  const key = ends.join('\0');
  const made = known.get(key);
  if (made !== undefined) return made;
  const characters = [...new Set(ends.map((end) => end.charAt(0)))].join('');
  const pattern = new RegExp(`[${characters.replaceAll(/[\\\]^-]/g, String.raw`\\$&`)}]`, 'g');
  if (known.size >= maxKnown) known.clear();
  known.set(key, pattern);
  return pattern;
}
