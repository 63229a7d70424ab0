import { limits } from '../../core/limits.ts';

/**
 * Thrown where a reader would look behind the text that has arrived. The answer reader catches it, holds the text back and reads it again later.
 * Always the same object: the stack of a new one would cost more than the reading.
 */
export class NeedsMoreText extends Error {}
const needsMoreText = new NeedsMoreText('The text that has arrived ends here.');

/** Up to so many characters a text is read again with every arrival; a longer one when it has grown by a sixth, so that all readings of it go through seven times its length at most. */
const smallText = 512;
const worthwhileShare = 1 / 6;

const spaces = /\s*/y;
/** What function names consist of (`functions.get_time`, `time/get_time`), also escaped as in Markdown (`get\_time`). Longer names are none. */
const name = /(?:[\w./-]|[^\0-\u00ff\s]|\\_){0,257}/y;

/** `find`: not within the distance. */
export const tooFar = -1;
/** `find`: the answer ended before. */
export const cutOff = -2;

/**
 * The part of an answer that is not decided yet. Whoever looks at a position goes through its methods: they throw `NeedsMoreText` while what stands
 * there has not arrived, so that what is read depends on the characters alone, never on how they arrived.
 */
export class AnswerText {
  text = '';
  isEnded = false;
  /** Ended by the token limit. Known only once `isEnded` is true. */
  isCut = false;
  /** How far marks were searched for in vain: what counts as the end of a false start. */
  searchedTo = 0;
  /** Characters that were dropped in front of `text`. */
  dropped = 0;
  #waiting = '';
  /** What a search waits for: before its last character, or the search's limit, no reader would get further. */
  #awaited: { character: string; limit: number } | undefined;

  /** True when it is worth reading on: a long text is read again, and copied, only when it has grown by its share. */
  append(piece: string): boolean {
    this.#waiting += piece;
    const length = this.text.length + this.#waiting.length;
    if (this.#awaited !== undefined && length <= this.#awaited.limit && !piece.includes(this.#awaited.character)) return false;
    this.#awaited = undefined;
    if (this.text.length > smallText && this.#waiting.length < this.text.length * worthwhileShare) return false;
    this.#join();
    return true;
  }

  end(isCut: boolean): void {
    this.#join();
    this.isEnded = true;
    this.isCut = isCut;
  }

  drop(length: number): void {
    this.text = this.text.slice(length);
    this.dropped += length;
    this.searchedTo = Math.max(0, this.searchedTo - length);
  }

  need(position: number): void {
    if (position >= this.text.length && !this.isEnded) throw needsMoreText;
  }

  /** For what cannot be decided now although the text is there. */
  pause(): never {
    throw needsMoreText;
  }

  /** The character at a position; empty at the end of the answer. */
  at(position: number): string {
    this.need(position);
    return this.text.charAt(position);
  }

  startsWith(mark: string, position: number): boolean {
    const { text } = this;
    // One character tells nearly always.
    if (position < text.length && text.charCodeAt(position) !== mark.charCodeAt(0)) return false;
    if (text.length < position + mark.length && mark.startsWith(text.slice(position))) this.need(position + mark.length - 1);
    return text.startsWith(mark, position);
  }

  /** The first of the marks that stands at a position. No mark may be the beginning of a later one. */
  firstOf(marks: readonly string[], position: number): string | undefined {
    return marks.find((mark) => this.startsWith(mark, position));
  }

  /** Where the white space that begins at a position ends. */
  skipSpace(from: number): number {
    const end = spaceEnd(this.text, from);
    this.need(end);
    return end;
  }

  /** Where the name that begins at a position ends: there, if none does. */
  nameEnd(start: number): number {
    const end = matchEnd(name, this.text, start) ?? start;
    this.need(this.text[end] === '\\' ? end + 1 : end);
    return end;
  }

  /** Where a mark stands at or after a position, within the distance; else `tooFar` or `cutOff`, both below 0. */
  find(mark: string, from: number, maxDistance: number): number {
    const stop = from + maxDistance + mark.length;
    // A slice, because the search must not go on behind the distance.
    const found = this.text.slice(from, stop).indexOf(mark);
    if (found !== -1) return from + found;
    this.#await(mark.charAt(mark.length - 1), stop - 1);
    this.searchedTo = Math.max(this.searchedTo, Math.min(stop, this.text.length));
    return this.text.length >= stop ? tooFar : cutOff;
  }

  /** Where the string whose quote stands at a position ends, behind its closing quote; `cutOff` or `tooFar` as for `find`. */
  stringEnd(start: number): number {
    const { text } = this;
    const quote = text.charCodeAt(start);
    const last = start + limits.argumentsBytes;
    const end = Math.min(text.length, last);
    for (let position = start + 1; position < end; position += 1) {
      const code = text.charCodeAt(position);
      if (code === quote) return position + 1;
      if (code === 92 /* \ */) position += 1;
    }
    if (end === last) return tooFar;
    this.#await(text.charAt(start), last);
    return cutOff;
  }

  /** Needs the text up to the limit, or a character before. */
  #await(character: string, limit: number): void {
    if (limit < this.text.length || this.isEnded) return;
    this.#awaited = { character, limit };
    throw needsMoreText;
  }

  #join(): void {
    this.text += this.#waiting;
    this.#waiting = '';
  }
}

/** Where the white space that begins at a position ends, as far as the text goes. */
export function spaceEnd(text: string, from: number): number {
  return matchEnd(spaces, text, from) ?? from;
}

/** Where the match of a sticky pattern at a position ends. */
export function matchEnd(pattern: RegExp, text: string, from: number): number | undefined {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}
