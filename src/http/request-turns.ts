export interface RequestTurns {
  /** Undefined when the request may begin at once; otherwise it waits for a later turn of the event loop. */
  take(): Promise<void> | undefined;
}

/** Requests that begin in one turn of the event loop: each takes half a millisecond or so until it waits for something. */
const requestsPerTurn = 8;

/**
 * Lets a few requests begin in each turn of the event loop, in the order in which they came. Node hands over all that have arrived, which may be
 * a thousand, before it looks at anything else.
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
