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
    while (this.found < text.length && this.found <= this.#last) {
      if (isNameCode(text.charCodeAt(this.found))) this.found++;
      else if (text.startsWith('\\_', this.found)) this.found += 2;
      else break;
    }
    const isEscapeBegun = text.charCodeAt(this.found) === 92 && this.#input.lacks(this.found + 1);
    return !isEscapeBegun && !this.#input.lacks(this.found);
  }
}
