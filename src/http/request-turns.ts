import { FairQueue } from '../shared/fairness/fair-queue.ts';

interface RequestTurns {
  /**
   * Undefined when the request may start at once; otherwise a promise to await, which resolves in a later tick of the event loop. `owner`: the id of the
   * caller, or of the address (`addressOwner`) where there is none.
   */
  take(owner: string): Promise<void> | undefined;
}

/**
 * How many requests start in one tick of the event loop: each takes about half a millisecond until it waits for something, and an answer needs several
 * turns. With more, a caller with one request waits in each of these for those of a caller with many; with two, as many are answered in all.
 */
const requestsPerTick = 2;

/**
 * Starts a few requests in each tick of the event loop. Otherwise Node would start all that have arrived, perhaps a thousand, before it handles anything
 * else. Callers take turns, so that a request waits for one of each other caller, and not for all that a single one has sent.
 */
export function createRequestTurns(perTick = requestsPerTick, atNextTick: (begin: () => void) => void = setImmediate): RequestTurns {
  const waiting = new FairQueue<() => void>();
  let begun = 0;
  let isNextTurnPlanned = false;

  function beginTurn(): void {
    isNextTurnPlanned = false;
    begun = Math.min(perTick, waiting.size);
    if (begun > 0) planNextTurn();
    for (let left = begun; left > 0; left -= 1) waiting.shift()?.();
  }

  function planNextTurn(): void {
    if (isNextTurnPlanned) return;
    isNextTurnPlanned = true;
    atNextTick(beginTurn);
  }

  return {
    take(owner) {
      planNextTurn();
      if (begun < perTick && waiting.size === 0) {
        begun += 1;
        return undefined;
      }
      return new Promise((resolve) => waiting.push(owner, resolve));
    },
  };
}
