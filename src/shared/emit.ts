/**
 * Takes events in batches and in their order, as soon as they are there. Gives a promise where the reader is slow: nothing more is to be
 * emitted until it resolves. What it throws ends whoever emits.
 */
export type Emit<Event> = (events: readonly Event[]) => Promise<void> | undefined;

/** What a reader throws that has read enough: it ends whoever emits, and nothing is at fault. */
export class StopReading extends Error {}

/**
 * Runs steps in one go, and from the first on that has to wait (gives a promise) asynchronously. So work that seldom waits costs no promise where
 * it does not.
 */
export function runSteps(steps: Iterator<Promise<unknown> | undefined, void>): Promise<void> | undefined {
  for (let next = steps.next(); next.done !== true; next = steps.next()) if (next.value !== undefined) return runRest(next.value, steps);
  return undefined;
}

async function runRest(first: Promise<unknown>, steps: Iterator<Promise<unknown> | undefined, void>): Promise<void> {
  await first;
  for (let next = steps.next(); next.done !== true; next = steps.next()) if (next.value !== undefined) await next.value;
}
