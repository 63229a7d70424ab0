export interface RequestTurns {
  /** Undefined when the request may start at once; otherwise a promise to await, which resolves in a later turn of the event loop. */
  take(): Promise<void> | undefined;
}

/** How many requests start in one turn of the event loop: each takes about half a millisecond until it waits for something. */
const requestsPerTurn = 8;

/**
 * Starts a few requests in each turn of the event loop, in order of arrival. Otherwise Node would start all that have arrived, perhaps a thousand,
 * before it handles anything else.
 */
export function createRequestTurns(perTurn = requestsPerTurn, atNextTurn: (begin: () => void) => void = setImmediate): RequestTurns {
  let waiting: (() => void)[] = [];
  let begun = 0;
  let isNextTurnPlanned = false;

  function beginTurn(): void {
    isNextTurnPlanned = false;
    const next = waiting.slice(0, perTurn);
    waiting = waiting.slice(perTurn);
    begun = next.length;
    if (begun > 0) planNextTurn();
    for (const begin of next) begin();
  }

  function planNextTurn(): void {
    if (isNextTurnPlanned) return;
    isNextTurnPlanned = true;
    atNextTurn(beginTurn);
  }

  return {
    take() {
      planNextTurn();
      if (begun < perTurn && waiting.length === 0) {
        begun += 1;
        return undefined;
      }
      return new Promise((resolve) => waiting.push(resolve));
    },
  };
}
