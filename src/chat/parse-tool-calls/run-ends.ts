import { isNameCode, spaceEnd } from './growing-text.ts';
import type { GrowingText } from './growing-text.ts';
import { Search } from './search.ts';

/** Where the white space that begins at `from` ends. */
export function skipSpace(input: GrowingText, from: number): Search<number> {
  return new SpaceEnd(input, from);
}

class SpaceEnd extends Search<number> {
  found: number;
  readonly #input: GrowingText;

  constructor(input: GrowingText, from: number) {
    super();
    this.#input = input;
    this.found = from;
  }

  isOver(): boolean {
    this.found = spaceEnd(this.#input.text, this.found);
    return !this.#input.lacks(this.found);
  }
}

const maxName = 256;

/** End of the name at `start`, which may be escaped as Markdown is (`get\_time`); `start` itself when none stands there. */
export function readName(input: GrowingText, start: number): Search<number> {
  return new NameEnd(input, start);
}

class NameEnd extends Search<number> {
  found: number;
  readonly #input: GrowingText;
  readonly #last: number;

  constructor(input: GrowingText, start: number) {
    super();
    this.#input = input;
    this.#last = start + maxName;
    this.found = start;
  }

  isOver(): boolean {
    const { text } = this.#input;
    for (;;) {
      while (this.found < text.length && this.found <= this.#last && isNameCode(text.charCodeAt(this.found))) this.found++;
      if (text.charCodeAt(this.found) !== 92 || this.found > this.#last) break;
      if (this.#input.lacks(this.found + 1)) return false;
      if (text.charCodeAt(this.found + 1) !== 95) break;
      this.found += 2;
    }
    return !this.#input.lacks(this.found);
  }
}
