import type { Thought, ThoughtSealer, ThoughtSeals } from '../../core/chat/thought.ts';

/** Seals the thoughts of one run for its caller. */
export class RunThoughts implements ThoughtSealer {
  model: string;
  readonly #seals: ThoughtSeals;
  readonly #callerId: string;

  constructor(seals: ThoughtSeals, callerId: string, model: string) {
    this.#seals = seals;
    this.#callerId = callerId;
    this.model = model;
  }

  seal(thought: Thought): string {
    return this.#seals.seal(this.#callerId, { model: this.model, ...thought });
  }
}
