/** Reading so many of a hostile answer takes five milliseconds. */
const sliceCharacters = 16_000;

export interface TextSlice {
  text: string;
  /** Another one came before: each slice is read in a turn of the event loop of its own. */
  isLater: boolean;
}

/** A text that came at once, in parts that can each be read in one turn of the event loop. */
export function* slicesOf(text: string): Generator<TextSlice, void> {
  for (let start = 0; start < text.length;) {
    const end = start + sliceCharacters;
    // Both halves of a character beyond U+FFFF stay together.
    const slice = text.slice(start, isHighSurrogate(text.charCodeAt(end - 1)) ? end + 1 : end);
    yield { text: slice, isLater: start > 0 };
    start += slice.length;
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd8_00 && code <= 0xdb_ff;
}
