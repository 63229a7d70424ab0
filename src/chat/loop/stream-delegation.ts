import type { ChatEvent } from '../../core/chat.ts';

/**
 * What a generator of events returns to step aside: the rest comes from another one, and `last` after it. Each generator that only hands on
 * costs every event some microseconds, and an answer has thousands.
 */
export class Rest {
  readonly events: AsyncGenerator<ChatEvent, unknown>;
  readonly last: ChatEvent;

  constructor(events: AsyncGenerator<ChatEvent, unknown>, last: ChatEvent) {
    this.events = events;
    this.last = last;
  }
}

/** A generator of events, and then the one that it steps aside for. */
export class StreamDelegation {
  /** Whose turn it is. */
  events: AsyncGenerator<ChatEvent, unknown>;
  /** Of those that stepped aside, the outermost first. */
  readonly #last: ChatEvent[] = [];
  #isOver = false;

  constructor(first: AsyncGenerator<ChatEvent, unknown>) {
    this.events = first;
  }

  /** What follows where `events` has ended with this value: the next event, or the end of all. */
  async after(value: unknown): Promise<IteratorResult<ChatEvent, unknown>> {
    if (value instanceof Rest && !this.#isOver) {
      this.events = value.events;
      this.#last.push(value.last);
      const step = await this.events.next();
      return step.done === true ? this.after(step.value) : step;
    }
    const last = this.#last.pop();
    return last === undefined ? { done: true, value } : { done: false, value: last };
  }

  /** Nobody reads on: nothing else is begun. */
  return(value: unknown): Promise<IteratorResult<ChatEvent, unknown>> {
    this.#isOver = true;
    return this.events.return(value);
  }
}

/** All events of a generator that may step aside, for whoever is in no hurry. */
export async function* withDelegated<Result>(
  first: AsyncGenerator<ChatEvent, Result | Rest>,
): AsyncGenerator<ChatEvent, Result | undefined> {
  const result = yield* first;
  if (!(result instanceof Rest)) return result;
  yield* withDelegated(result.events);
  yield result.last;
  return undefined;
}
