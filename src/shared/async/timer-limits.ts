/** Added to the time limit of work for the limit of what carries it. Longer than the event loop is ever blocked. */
const graceMs = 1_000;
/** The longest delay of a Node timer; a longer one would fire at once. */
export const longestTimerMs = 2 ** 31 - 1;

/**
 * A time limit, in milliseconds, for the carrier of work that has its own limit, such as a request or a relay. It is a fallback only: with two equal
 * limits, chance would decide which one ends the work, and with which message.
 */
export function laterLimit(limitMs: number): number {
  return Math.min(limitMs + graceMs, longestTimerMs);
}
