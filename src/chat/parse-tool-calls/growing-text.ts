import type { Scan } from './call-pieces.ts';

/** Characters below which text is appended at once. */
const smallText = 4096;

/**
 * The part of an answer that is not decided yet. Readers ask `lacks` before they look at a position, and pause while it is true;
 * that makes them independent of how the text was cut.
 */
export class GrowingText {
  text = '';
  isEnded = false;
  /** Ended by the token limit. Known only once `isEnded` is true. */
  isCut = false;
  /** How far readers searched in vain: what counts as the end of a false start. */
  looked = 0;
  /** Characters that were dropped in front of `text`. */
  dropped = 0;
  #waiting: string[] = [];
  #waitingLength = 0;

  /** True when readers should go on: appending to a long text copies it, so small pieces wait until they are worth a copy. */
  append(piece: string): boolean {
    this.#waiting.push(piece);
    this.#waitingLength += piece.length;
    if (this.text.length > smallText && this.#waitingLength < this.text.length / 16) return false;
    this.#join();
    return true;
  }

  end(isCut: boolean): void {
    this.#join();
    this.isEnded = true;
    this.isCut = isCut;
  }

  lacks(position: number): boolean {
    return position >= this.text.length && !this.isEnded;
  }

  drop(length: number): void {
    this.text = this.text.slice(length);
    this.dropped += length;
  }

  #join(): void {
    this.text += this.#waiting.join('');
    this.#waiting = [];
    this.#waitingLength = 0;
  }
}

/** Whether `mark` stands at `position`. */
export function* standsAt(input: GrowingText, position: number, mark: string): Scan<boolean> {
  while (isUndecided(input, position, mark)) yield;
  return input.text.startsWith(mark, position);
}

/** The first of the marks that stands at `position`. No mark may be the beginning of a later one. */
export function* markAt(input: GrowingText, position: number, marks: readonly string[]): Scan<string | undefined> {
  for (const mark of marks) {
    while (isUndecided(input, position, mark)) yield;
    if (input.text.startsWith(mark, position)) return mark;
  }
  return undefined;
}

/** The text ends within what may become the mark. */
export function isUndecided(input: GrowingText, position: number, mark: string): boolean {
  if (input.isEnded || input.text.length >= position + mark.length) return false;
  return mark.startsWith(input.text.slice(position));
}

/** `findMark`: not within the distance. */
export const tooFar = -1;
/** `findMark`: the answer ended before. */
export const cutOff = -2;

/** Where `mark` stands at or after `from`, within `maxDistance`; else `tooFar` or `cutOff`, both below 0. */
export function* findMark(input: GrowingText, from: number, { mark, maxDistance }: { mark: string; maxDistance: number }): Scan<number> {
  const stop = from + maxDistance + mark.length;
  let searched = from;
  for (;;) {
    // A slice, because the search must not go on behind the distance.
    const found = input.text.slice(searched, stop).indexOf(mark);
    if (found !== -1) return searched + found;
    if (input.text.length >= stop || input.isEnded) {
      input.looked = Math.max(input.looked, Math.min(stop, input.text.length));
      return input.text.length >= stop ? tooFar : cutOff;
    }
    searched = Math.max(from, input.text.length - mark.length + 1);
    yield;
  }
}

export function* skipSpace(input: GrowingText, from: number): Scan<number> {
  let position = from;
  for (;;) {
    if (input.lacks(position)) yield;
    else if (position < input.text.length && isSpace(input.text.charCodeAt(position))) position++;
    else return position;
  }
}

export function isSpace(code: number): boolean {
  return (
    code === 32 || (code >= 9 && code <= 13) || code === 0xa0 || code === 0x3000 || code === 0x2028 || code === 0x2029 || code === 0xfeff
  );
}

/** Letters, digits and what function names hold besides (`functions.get_time`, `time/get_time`). */
export function isNameCode(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 45 && code <= 57) ||
    code === 95 ||
    (code > 0xff && !isSpace(code))
  );
}

/** Without at most one line break at each end: models set values on lines of their own. */
export function withoutOuterBreaks(text: string): string {
  return text.replace(/^\r?\n/, '').replace(/\r?\n$/, '');
}
