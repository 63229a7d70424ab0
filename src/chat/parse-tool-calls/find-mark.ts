import type { GrowingText } from './growing-text.ts';
import { Search } from './search.ts';

/** Whether `mark` stands at `position`. */
export function standsAt(input: GrowingText, position: number, mark: string): Search<boolean> {
  return new MarkStanding(input, position, mark);
}

class MarkStanding extends Search<boolean> {
  found = false;
  readonly #input: GrowingText;
  readonly #position: number;
  readonly #mark: string;

  constructor(input: GrowingText, position: number, mark: string) {
    super();
    this.#input = input;
    this.#position = position;
    this.#mark = mark;
  }

  isOver(): boolean {
    const isStanding = stands(this.#input, this.#position, this.#mark);
    this.found = isStanding === true;
    return isStanding !== undefined;
  }
}

/** The first of the marks that stands at `position`. No mark may be the beginning of a later one. */
export function markAt(input: GrowingText, position: number, marks: readonly string[]): Search<string | undefined> {
  return new FirstMark(input, position, marks);
}

class FirstMark extends Search<string | undefined> {
  found: string | undefined;
  readonly #input: GrowingText;
  readonly #position: number;
  readonly #marks: readonly string[];

  constructor(input: GrowingText, position: number, marks: readonly string[]) {
    super();
    this.#input = input;
    this.#position = position;
    this.#marks = marks;
  }

  isOver(): boolean {
    for (const mark of this.#marks) {
      const isStanding = stands(this.#input, this.#position, mark);
      if (isStanding === undefined) return false;
      if (isStanding) {
        this.found = mark;
        return true;
      }
    }
    return true;
  }
}

/** Undefined while the text ends within what may become the mark. */
function stands({ text, isEnded }: GrowingText, position: number, mark: string): boolean | undefined {
  // One character tells nearly always.
  if (position < text.length && text.charCodeAt(position) !== mark.charCodeAt(0)) return false;
  const isUndecided = !isEnded && text.length < position + mark.length && mark.startsWith(text.slice(position));
  return isUndecided ? undefined : text.startsWith(mark, position);
}

/** `findMark`: not within the distance. */
export const tooFar = -1;
/** `findMark`: the answer ended before. */
export const cutOff = -2;

/** Where `mark` stands at or after `from`, within `maxDistance`; else `tooFar` or `cutOff`, both below 0. */
export function findMark(input: GrowingText, from: number, options: { mark: string; maxDistance: number }): MarkSearch {
  return new MarkSearch(input, from, options);
}

export class MarkSearch extends Search<number> {
  found = tooFar;
  readonly #input: GrowingText;
  readonly #from: number;
  readonly #mark: string;
  readonly #stop: number;
  #searched: number;

  constructor(input: GrowingText, from: number, { mark, maxDistance }: { mark: string; maxDistance: number }) {
    super();
    this.#input = input;
    this.#from = from;
    this.#mark = mark;
    this.#stop = from + maxDistance + mark.length;
    this.#searched = from;
  }

  isOver(): boolean {
    const { text, isEnded } = this.#input;
    // A slice, because the search must not go on behind the distance.
    const found = text.slice(this.#searched, this.#stop).indexOf(this.#mark);
    if (found !== -1) {
      this.found = this.#searched + found;
      return true;
    }
    this.#searched = Math.max(this.#from, text.length - this.#mark.length + 1);
    if (text.length < this.#stop && !isEnded) return false;
    this.#input.looked = Math.max(this.#input.looked, Math.min(this.#stop, text.length));
    this.found = text.length >= this.#stop ? tooFar : cutOff;
    return true;
  }
}
