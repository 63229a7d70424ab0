/** Reading this many characters takes about five milliseconds in the worst case, a hostile answer. */
export const sliceCharacters = 16_000;

interface TextSlice {
  text: string;
  /** Not the first slice: let the event loop turn before reading it. */
  isLater: boolean;
}

/** Splits a long text into parts that can each be read in one turn of the event loop without blocking it. */
export function slicesOf(text: string): readonly TextSlice[] {
  if (text.length <= sliceCharacters) return text === '' ? [] : [{ text, isLater: false }];
  const slices: TextSlice[] = [];
  for (let start = 0; start < text.length;) {
    const end = start + sliceCharacters;
    // Do not split a surrogate pair.
    const slice = text.slice(start, isHighSurrogate(text.charCodeAt(end - 1)) ? end + 1 : end);
    slices.push({ text: slice, isLater: start > 0 });
    start += slice.length;
  }
  return slices;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd8_00 && code <= 0xdb_ff;
}
