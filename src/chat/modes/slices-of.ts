import { setImmediate as nextTurn } from 'node:timers/promises';

/** Reading so many of a hostile answer takes five milliseconds. */
const sliceCharacters = 16_000;

/** A text that came at once, in parts of which each has a turn of the event loop of its own. */
export async function* slicesOf(text: string): AsyncGenerator<string, void, undefined> {
  for (let start = 0; start < text.length;) {
    if (start > 0) await nextTurn();
    const end = start + sliceCharacters;
    // Both halves of a character beyond U+FFFF stay together.
    const slice = text.slice(start, isHighSurrogate(text.charCodeAt(end - 1)) ? end + 1 : end);
    yield slice;
    start += slice.length;
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd8_00 && code <= 0xdb_ff;
}
