import { limits } from '../../core/limits.ts';
import type { ResultStore } from '../../core/result-store.ts';

/** In memory and for one run: gone with it, and readable by nobody else. */
export function createResultStore(known: readonly string[] = []): ResultStore {
  const kept = new Map(known.map((text, index) => [`result_${index + 1}`, text]));
  let characters = known.reduce((sum, text) => sum + text.length, 0);
  return {
    keep(text) {
      if (kept.size >= limits.keptResults || characters + text.length > limits.keptResultsCharacters) return undefined;
      characters += text.length;
      // Short and counted: models copy it without mistakes. It needs no secrecy, since it is looked up in this run alone.
      const reference = `result_${kept.size + 1}`;
      kept.set(reference, text);
      return reference;
    },
    find: (reference) => kept.get(reference),
    entries: () => [...kept.values()],
    get isEmpty() {
      return kept.size === 0;
    },
  };
}
