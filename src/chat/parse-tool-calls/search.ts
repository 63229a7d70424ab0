import type { Wait } from './call-pieces.ts';

/**
 * The smallest reader: it looks for one thing, each character once, and pauses as what it waits for itself. Readers say `yield* search`.
 * Being no generator it costs next to nothing where the text is there, which is why everything that is looked for often is one.
 */
export abstract class Search<Found> implements Wait {
  /** What was found, once the search is over. */
  protected abstract readonly found: Found;

  /** Goes on with what has arrived; true once `found` stands. */
  abstract isOver(): boolean;

  [Symbol.iterator](): this {
    return this;
  }

  next(): IteratorResult<Wait, Found> {
    return this.isOver() ? { done: true, value: this.found } : { done: false, value: this };
  }
}
