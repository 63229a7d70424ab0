/** The candidate with the smallest Levenshtein distance, and that distance. The first one of equals; there must be at least one candidate. */
export function nearestWord(word: string, candidates: readonly string[]): { word: string; changes: number } {
  const scored = candidates.map((candidate) => ({ word: candidate, changes: countChanges(word.toLowerCase(), candidate.toLowerCase()) }));
  return scored.reduce((best, next) => (next.changes < best.changes ? next : best));
}

function countChanges(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [row, letter] of from.split('').entries()) {
    const current = [row + 1];
    for (let column = 0; column < to.length; column += 1) {
      const substituted = (previous[column] ?? 0) + (letter === to[column] ? 0 : 1);
      current.push(Math.min(substituted, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    previous = current;
  }
  return previous.at(-1) ?? 0;
}
