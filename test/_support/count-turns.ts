import { onTestFinished } from 'vitest';

/** Counts the turns of the event loop from now on, until the test has ended. What works in one go lets none pass. */
export function countTurns(): () => number {
  let turns = 0;
  const takeTurn = (): void => {
    turns += 1;
    next = setImmediate(takeTurn);
  };
  let next = setImmediate(takeTurn);
  onTestFinished(() => clearImmediate(next));
  return () => turns;
}
