import type { RunEvent } from '../../core/chat/run-event.ts';
import type { JsonObject } from '../../shared/json/json.ts';
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

  /** Another model may take over within a run. */
  note({ type, data }: RunEvent): void {
    const { model } = data as JsonObject;
    if (type === 'warning' && data.within === undefined && typeof model === 'string') this.model = model;
  }

  seal(thought: Thought): string {
    return this.#seals.seal(this.#callerId, { model: this.model, ...thought });
  }
}
