import type { ResultStore } from '../../core/stores/result-store.ts';

/** Truncated results that one run stores for `read_result`. */
export const keptResultsCharacters = 8 * 1024 * 1024;
export const keptResults = 64;

/** Stores results in memory for one run; no other run can read them. */
export function createResultStore(known: readonly string[] = []): ResultStore {
  return new StoredResults(known);
}

/** A class, because one is made for each chat. */
class StoredResults implements ResultStore {
  /** By their references; made with the first result. */
  #stored: Map<string, string> | undefined;
  #characters = 0;

  constructor(known: readonly string[]) {
    if (known.length === 0) return;
    this.#stored = new Map(known.map((text, index) => [`result_${index + 1}`, text]));
    this.#characters = known.reduce((sum, text) => sum + text.length, 0);
  }

  get isEmpty(): boolean {
    return this.#stored === undefined;
  }

  add(text: string): string | undefined {
    const count = this.#stored?.size ?? 0;
    if (count >= keptResults || this.#characters + text.length > keptResultsCharacters) return undefined;
    this.#characters += text.length;
    // Short, so that models copy it without mistakes. It need not be secret, because it is only valid within this run.
    const reference = `result_${count + 1}`;
    (this.#stored ??= new Map()).set(reference, text);
    return reference;
  }

  find(reference: string): string | undefined {
    return this.#stored?.get(reference);
  }

  entries(): string[] {
    return [...(this.#stored?.values() ?? [])];
  }
}
