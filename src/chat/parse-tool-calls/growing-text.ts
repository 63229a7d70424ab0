/** Characters below which text is appended at once. */
const smallText = 512;

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
  #waiting = '';

  /** True when readers should go on: appending to a long text copies it, so small pieces wait until they are worth a copy. */
  append(piece: string): boolean {
    if (this.text.length <= smallText && this.#waiting === '') {
      this.text += piece;
      return true;
    }
    this.#waiting += piece;
    if (this.text.length > smallText && this.#waiting.length < this.text.length / 16) return false;
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
    this.looked = Math.max(0, this.looked - length);
  }

  #join(): void {
    this.text += this.#waiting;
    this.#waiting = '';
  }
}

/** Where the white space that begins at `from` ends, as far as the text goes. */
export function spaceEnd(text: string, from: number): number {
  let position = from;
  while (position < text.length && isSpace(text.charCodeAt(position))) position++;
  return position;
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
