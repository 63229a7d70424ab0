import { limits } from '../../core/limits.ts';
import { cutOff, tooFar } from './find-mark.ts';
import { isSpace } from './growing-text.ts';
import type { GrowingText } from './growing-text.ts';
import { Search } from './search.ts';

/** Position after the closing quote of the string at `start`; `cutOff` when the answer ends inside it, `tooFar` when it is too long. */
export class QuotedEnd extends Search<number> {
  found = tooFar;
  readonly #input: GrowingText;
  readonly #quote: number;
  readonly #last: number;
  #position: number;

  constructor(input: GrowingText, start: number) {
    super();
    this.#input = input;
    this.#quote = input.text.charCodeAt(start);
    this.#last = start + limits.argumentsBytes;
    this.#position = start + 1;
  }

  isOver(): boolean {
    const { text, isEnded } = this.#input;
    const quote = this.#quote;
    const end = Math.min(text.length, this.#last);
    let position = this.#position;
    while (position < end) {
      const code = text.charCodeAt(position);
      if (code === quote) {
        this.found = position + 1;
        return true;
      }
      position += code === 92 /* \\ */ ? 2 : 1;
    }
    this.#position = position;
    if (position < this.#last && isEnded) this.found = cutOff;
    return position >= this.#last || isEnded;
  }
}

/** Characters of a word without quotes; longer ones are no word. */
const maxWord = 512;

/** End of a bare word: a number, a constant, a key or a value without quotes (`15:30` too). `tooFar` where none begins. */
export class WordEnd extends Search<number> {
  found = tooFar;
  readonly #input: GrowingText;
  readonly #start: number;
  readonly #isNumeric: boolean;
  #position: number;

  constructor(input: GrowingText, start: number) {
    super();
    this.#input = input;
    this.#start = start;
    this.#isNumeric = isDigit(input.text.charCodeAt(start));
    this.#position = start;
  }

  isOver(): boolean {
    const { text } = this.#input;
    const last = this.#start + maxWord;
    let position = this.#position;
    while (position < text.length && position < last && this.#belongs(text.charCodeAt(position))) position++;
    this.#position = position;
    if (position < last && this.#input.lacks(position)) return false;
    if (position > this.#start) this.found = position;
    return true;
  }

  #belongs(code: number): boolean {
    return isWordCode(code) || (this.#isNumeric && code === 58);
  }
}

function isWordCode(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    isDigit(code) ||
    code === 95 ||
    code === 45 ||
    code === 43 ||
    code === 46 ||
    code === 36 ||
    (code > 0xff && !isSpace(code))
  );
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}
