import { limits } from '../../core/limits.ts';
import { cutOff, tooFar } from './find-mark.ts';
import { isNameCode, isSpace } from './growing-text.ts';
import type { GrowingText } from './growing-text.ts';
import { Search } from './search.ts';
import { QuotedEnd } from './token-ends.ts';

export type BracketScan = { type: 'end'; end: number; isClosed: boolean } | { type: 'failed'; at: number };

const closings = new Map([
  ['(', ')'],
  ['[', ']'],
  ['{', '}'],
]);

/**
 * End of the bracket at `start`. Outside strings only what literals consist of may stand, anything else shows that it is prose; with
 * `takesExpressions` operators too, but never `<`, which may begin a mark.
 */
export class BracketEnd extends Search<BracketScan> {
  found: BracketScan;
  #isFound = false;
  readonly #input: GrowingText;
  readonly #start: number;
  readonly #expected: string[] = [];
  #position: number;
  readonly #takesExpressions: boolean;
  /** The search for the end of the string at `#position`. */
  #string: QuotedEnd | undefined;

  constructor(input: GrowingText, start: number, { takesExpressions }: { takesExpressions: boolean }) {
    super();
    this.#takesExpressions = takesExpressions;
    this.#input = input;
    this.#start = start;
    this.#position = start;
    this.found = { type: 'failed', at: start };
  }

  isOver(): boolean {
    while (!this.#isFound) if (!this.#step()) return false;
    return true;
  }

  /** False when the end of a string has not arrived. */
  #step(): boolean {
    const { text } = this.#input;
    const last = Math.min(text.length, this.#start + limits.argumentsBytes + 1);
    while (this.#position < last && mayStand(text.charCodeAt(this.#position), this.#takesExpressions)) this.#position++;
    if (this.#position >= text.length) return this.#input.isEnded && this.#find({ type: 'end', end: this.#position, isClosed: false });
    if (this.#position - this.#start > limits.argumentsBytes || this.#expected.length > limits.jsonDepth) return this.#fail();
    const character = text.charAt(this.#position);
    return character === '"' || character === "'" ? this.#quoted() : this.#bracket(character);
  }

  #bracket(character: string): boolean {
    const closing = closings.get(character);
    if (closing === undefined && (this.#expected.length === 0 || this.#expected.pop() !== character)) return this.#fail();
    if (closing !== undefined) this.#expected.push(closing);
    this.#position++;
    return this.#expected.length > 0 || this.#find({ type: 'end', end: this.#position, isClosed: true });
  }

  #quoted(): boolean {
    this.#string ??= new QuotedEnd(this.#input, this.#position);
    if (!this.#string.isOver()) return false;
    const { found } = this.#string;
    this.#string = undefined;
    if (found === tooFar) return this.#fail();
    if (found === cutOff) return this.#find({ type: 'end', end: this.#input.text.length, isClosed: false });
    this.#position = found;
    return true;
  }

  #fail(): boolean {
    return this.#find({ type: 'failed', at: this.#position });
  }

  #find(result: BracketScan): boolean {
    this.found = result;
    this.#isFound = true;
    return true;
  }
}

const operators = new Set('*%!&^~@#$?|>\\;'.split('').map((character) => character.charCodeAt(0)));

function mayStand(code: number, takesExpressions: boolean): boolean {
  return isLiteralCode(code) || (takesExpressions && code !== 34 && code !== 39 && operators.has(code));
}

function isLiteralCode(code: number): boolean {
  return isSpace(code) || isNameCode(code) || code === 44 || code === 61 || code === 58 || code === 43;
}
