/**
 * Receives events in batches, in order, as soon as they exist. Returns a promise if the reader is slow: the emitter must wait for it before it emits
 * more. An exception ends the emitter.
 */
export type Emit<Event> = (events: readonly Event[]) => Promise<void> | undefined;

/** Thrown by a reader that needs no more events, to end the emitter. Not an error. */
export class StopReading extends Error {}

/**
 * Runs steps synchronously until one yields a promise, and the rest asynchronously. So work that rarely has to wait creates no promises otherwise.
 */
export function runSteps(steps: Iterator<Promise<unknown> | undefined, void>): Promise<void> | undefined {
  for (let next = steps.next(); next.done !== true; next = steps.next()) if (next.value !== undefined) return runRest(next.value, steps);
  return undefined;
}

async function runRest(first: Promise<unknown>, steps: Iterator<Promise<unknown> | undefined, void>): Promise<void> {
  await first;
  for (let next = steps.next(); next.done !== true; next = steps.next()) if (next.value !== undefined) await next.value;
}
