import { LRUCache } from 'lru-cache';

/** Models that one backend is expected to serve; the oldest lesson is forgotten first. */
const maxModels = 1_000;

/**
 * Which models' chat templates open the reasoning themselves, learned from their answers and unlearned the same way:
 * a model that is made to write a closing tag misleads one answer at most.
 */
export class ReasoningTemplateCache {
  readonly #opening = new LRUCache<string, true>({ max: maxModels });

  startsInReasoning(model: string): boolean {
    return this.#opening.has(model);
  }

  /** `opensInTemplate` of a splitter; undefined teaches nothing. */
  learn(model: string, opensInTemplate: boolean | undefined): void {
    if (opensInTemplate === true) this.#opening.set(model, true);
    else if (opensInTemplate === false) this.#opening.delete(model);
  }
}
