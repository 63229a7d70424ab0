import { LRUCache } from 'lru-cache';

/** The most models to remember; the oldest entry is evicted first. */
const maxModels = 1_000;

/**
 * Remembers for which models the chat template opens the reasoning block. Learned from each answer and corrected by the next one, so that a model
 * that is tricked into writing a closing tag spoils one answer at most.
 */
export class ReasoningTemplateCache {
  readonly #opening = new LRUCache<string, true>({ max: maxModels });

  startsInReasoning(model: string): boolean {
    return this.#opening.has(model);
  }

  /** Takes `opensInTemplate` of a splitter; undefined changes nothing. */
  learn(model: string, opensInTemplate: boolean | undefined): void {
    if (opensInTemplate === true) this.#opening.set(model, true);
    else if (opensInTemplate === false) this.#opening.delete(model);
  }
}
