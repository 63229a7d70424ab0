import type { ResultStore } from '../../core/stores/result-store.ts';

/** Truncated results that one run stores for `read_result`. */
export const keptResultsCharacters = 8 * 1024 * 1024;
export const keptResults = 64;

/** Stores results in memory for one run; no other run can read them. */
export function createResultStore(known: readonly string[] = []): ResultStore {
  const stored = new Map(known.map((text, index) => [`result_${index + 1}`, text]));
  let characters = known.reduce((sum, text) => sum + text.length, 0);
  const store: ResultStore & { isEmpty: boolean } = {
    isEmpty: stored.size === 0,
    add(text) {
      if (stored.size >= keptResults || characters + text.length > keptResultsCharacters) return undefined;
      characters += text.length;
      // Short, so that models copy it without mistakes. It need not be secret, because it is only valid within this run.
      const reference = `result_${stored.size + 1}`;
      stored.set(reference, text);
      store.isEmpty = false;
      return reference;
    },
    find: (reference) => stored.get(reference),
    entries: () => [...stored.values()],
  };
  return store;
}
