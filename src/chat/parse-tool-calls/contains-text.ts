/** What is looked for by the engine's own search, which takes this many steps a character at most; what it finds is compared here. */
const headCharacters = 8;

/**
 * Whether one of the texts contains `wanted`, in time that grows with their lengths. `String.prototype.includes` takes the product of the two for texts
 * that repeat themselves (15 seconds for 9 MB of `a` and 10,000 characters), and whoever writes a conversation chooses both.
 * Knuth, Morris and Pratt, "Fast Pattern Matching in Strings" (1977).
 */
export function isInAny(texts: readonly string[], wanted: string): boolean {
  if (wanted.length <= headCharacters) return texts.some((text) => text.includes(wanted));
  // Prepared once, not for each of thousands of messages.
  const borders = bordersOf(wanted);
  return texts.some((text) => contains(text, wanted, borders));
}

function contains(text: string, wanted: string, borders: Uint32Array): boolean {
  const head = wanted.slice(0, headCharacters);
  let matched = 0;
  for (let position = 0; position < text.length; position += 1) {
    if (matched === 0) {
      position = text.indexOf(head, position);
      if (position === -1) return false;
    }
    const code = text.charCodeAt(position);
    while (matched > 0 && wanted.charCodeAt(matched) !== code) matched = borders[matched - 1] ?? 0;
    if (wanted.charCodeAt(matched) === code) matched += 1;
    if (matched === wanted.length) return true;
  }
  return false;
}

/** For each beginning of a text the length of its longest proper beginning that is also its end. */
function bordersOf(text: string): Uint32Array {
  const borders = new Uint32Array(text.length);
  let matched = 0;
  for (let index = 1; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    while (matched > 0 && text.charCodeAt(matched) !== code) matched = borders[matched - 1] ?? 0;
    if (text.charCodeAt(matched) === code) matched += 1;
    borders[index] = matched;
  }
  return borders;
}
