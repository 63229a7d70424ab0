import { limits } from '../../core/limits.ts';

/**
 * Thrown when a reader needs text that has not arrived yet. `AnswerReader` catches it, holds the text back and reads it again later.
 * A single shared instance, because capturing a stack trace each time would cost more than the reading.
 */
export class NeedsMoreText extends Error {}
const needsMoreText = new NeedsMoreText('The text that has arrived ends here.');

/**
 * Characters. Up to this length an undecided text is read again with every arrival; a longer one only when it has grown by a sixth, so that all
 * readings together cover at most seven times its length.
 */
const smallText = 512;
const worthwhileShare = 1 / 6;

/** White space that may stand before the rest of a call. Without it, a model that writes nothing else would have its whole answer held back. */
const maxSpace = 32 * 1024;

const spaces = /\s*/y;
/** A function name (`functions.get_time`, `time/get_time`), possibly with Markdown escapes (`get\_time`), of at most 257 characters. */
const name = /(?:[\w./-]|[^\0-\u00ff\s]|\\_){0,257}/y;

/** Result of `find`: the mark does not occur within the distance. */
export const tooFar = -1;
/** Result of `find`: the answer ended within the distance. */
export const cutOff = -2;

/**
 * The undecided part of an answer. Readers must access positions through its methods, which throw `NeedsMoreText` if the text there has not arrived.
 * This is what makes a result independent of how the answer was split into chunks.
 */
export class AnswerText {
  text = '';
  isEnded = false;
  /** Ended by the token limit. Known only once `isEnded` is true. */
  isCut = false;
  /** The furthest position that an unsuccessful search has reached. The cost of a false start is counted up to here. */
  searchedTo = 0;
  /** Characters that were dropped in front of `text`. */
  dropped = 0;
  #waiting = '';
  /** An unfinished search: reading again is pointless until this character arrives or the text reaches the limit. */
  #awaited: { character: string; limit: number } | undefined;

  /** True when it is worth reading again: see `smallText`. */
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

  /** Ends the step although the text is there, because a check of earlier messages is not possible yet. */
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
    // Fast path: the first character nearly always decides.
    if (position < text.length && text.charCodeAt(position) !== mark.charCodeAt(0)) return false;
    if (text.length < position + mark.length && mark.startsWith(text.slice(position))) this.need(position + mark.length - 1);
    return text.startsWith(mark, position);
  }

  /** The first of the marks that stands at a position. No mark may be the beginning of a later one. */
  firstOf(marks: readonly string[], position: number): string | undefined {
    return marks.find((mark) => this.startsWith(mark, position));
  }

  /** Where the white space that begins at a position ends, or as far into it as `maxSpace`. */
  skipSpace(from: number): number {
    const end = spaceEnd(this.text, from);
    if (end - from >= maxSpace) return from + maxSpace;
    this.need(end);
    return end;
  }

  /** The end of the name that begins at a position, or the position itself if there is no name. */
  nameEnd(start: number): number {
    const end = matchEnd(name, this.text, start) ?? start;
    this.need(this.text[end] === '\\' ? end + 1 : end);
    return end;
  }

  /** Where a mark stands at or after a position, within the distance; else `tooFar` or `cutOff`, both below 0. */
  find(mark: string, from: number, maxDistance: number): number {
    const stop = from + maxDistance + mark.length;
    // `indexOf` on the whole text would search beyond the distance.
    const found = this.text.slice(from, stop).indexOf(mark);
    if (found !== -1) return from + found;
    this.#await(mark.charAt(mark.length - 1), stop - 1);
    this.searchedTo = Math.max(this.searchedTo, Math.min(stop, this.text.length));
    return this.text.length >= stop ? tooFar : cutOff;
  }

  /** Where the string whose quote stands at a position ends, after its closing quote; `cutOff` or `tooFar` as for `find`. */
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

  /** Waits until the character arrives or the text reaches the limit. */
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
