/** Between the time limit of some work and those of what carries it. Longer than an event loop is blocked. */
const graceMs = 1_000;
/** Of a timer in Node; a longer one fires at once. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * A time limit, in milliseconds, for what carries work with a time limit of its own, such as a request or a relay. It matters only where that one
 * failed: with two equal limits chance would decide which of them ends the work, and with which message.
 */
export function laterLimit(limitMs: number): number {
  return Math.min(limitMs + graceMs, longestTimerMs);
}
