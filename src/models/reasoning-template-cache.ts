/** Models that one backend is expected to serve; the oldest lesson is forgotten first. */
const maxModels = 1_000;

/**
 * Which models' chat templates open the reasoning themselves, learned from their answers and unlearned the same way:
 * a model that is told to write a closing tag misleads one answer at most.
 */
export class ReasoningTemplateCache {
  readonly #opening = new Set<string>();

  startsInReasoning(model: string): boolean {
    return this.#opening.has(model);
  }

  /** `opensInTemplate` of a splitter; undefined teaches nothing. */
  learn(model: string, opensInTemplate: boolean | undefined): void {
    if (opensInTemplate === undefined) return;
    this.#opening.delete(model);
    if (!opensInTemplate) return;
    this.#opening.add(model);
    if (this.#opening.size <= maxModels) return;
    for (const oldest of this.#opening) {
      this.#opening.delete(oldest);
      return;
    }
  }
}
