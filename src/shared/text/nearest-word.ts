/** Of each word, from its beginning. No name of a function has more. */
const comparedCharacters = 64;
/** Pairs of characters that are compared at all: two thousand names of twenty characters. A thousand names of a thousand would take seconds. */
const maxComparisons = 1_000_000;

/**
 * The candidate with the smallest Levenshtein distance, and that distance. The first one of equals; there must be at least one candidate. Of very many, the
 * first ones only.
 */
export function nearestWord(word: string, candidates: readonly string[]): { word: string; changes: number } {
  const wanted = comparable(word);
  let best = { word: candidates[0] ?? '', changes: Infinity };
  let comparisons = 0;
  for (const candidate of candidates) {
    const compared = comparable(candidate);
    // At least as many changes as one of the two is longer.
    if (Math.abs(compared.length - wanted.length) >= best.changes) continue;
    comparisons += compared.length * wanted.length;
    if (comparisons > maxComparisons) break;
    const changes = countChanges(wanted, compared);
    if (changes < best.changes) best = { word: candidate, changes };
  }
  return best;
}

const comparable = (word: string): string => word.slice(0, comparedCharacters).toLowerCase();

function countChanges(from: string, to: string): number {
  let previous = Uint16Array.from({ length: to.length + 1 }, (_, column) => column);
  let current = new Uint16Array(to.length + 1);
  for (let row = 0; row < from.length; row += 1) {
    const letter = from.charCodeAt(row);
    current[0] = row + 1;
    for (let column = 0; column < to.length; column += 1) {
      const substituted = (previous[column] ?? 0) + (letter === to.charCodeAt(column) ? 0 : 1);
      current[column + 1] = Math.min(substituted, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1);
    }
    [previous, current] = [current, previous];
  }
  return previous[to.length] ?? 0;
}
