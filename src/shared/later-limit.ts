/** Between the limit that ends some work and the limits of what carries it. Longer than an event loop stands still. */
const graceMs = 1_000;
/** Of a timer in Node; a longer one fires at once. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * A time limit, in milliseconds, for what carries work that has a limit of its own: a request, a relay. It only serves where that one failed:
 * with two equal limits chance would decide which of them ends the work, and in whose words.
 */
export function laterLimit(limitMs: number): number {
  return Math.min(limitMs + graceMs, longestTimerMs);
}
