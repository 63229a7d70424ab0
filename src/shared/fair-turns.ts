/** Limits concurrent tasks, fairly among callers. */
export interface FairTurns {
  /** Runs the task when a slot is free for it. @throws the signal's reason if it aborts before the start; what the task throws */
  run<Value>(caller: string, signal: AbortSignal, work: () => Promise<Value>): Promise<Value>;
}

interface Turns {
  running: number;
  waiting: Set<() => void>;
}

/**
 * No caller gets all slots (unless there is only one), so that another caller finds one at once. A free slot goes to the caller with the
 * fewest running tasks, among equals to the one that has waited longest.
 */
export function createFairTurns(slots: number): FairTurns {
  const callers = new Map<string, Turns>();
  const slotsPerCaller = Math.max(1, slots - 1);
  let running = 0;

  function startNext(): void {
    while (running < slots) {
      const waiting = [...callers.values()].filter((turns) => turns.waiting.size > 0 && turns.running < slotsPerCaller);
      if (waiting.length === 0) return;
      const next = waiting.reduce((fewest, turns) => (turns.running < fewest.running ? turns : fewest));
      const [begin] = next.waiting;
      if (begin === undefined) return;
      next.waiting.delete(begin);
      next.running += 1;
      running += 1;
      begin();
    }
  }

  /** Moves the caller to the end of the order, so that equals take turns; removes a caller without tasks. */
  function settle(caller: string, turns: Turns): void {
    callers.delete(caller);
    if (turns.running > 0 || turns.waiting.size > 0) callers.set(caller, turns);
    startNext();
  }

  return {
    async run(caller, signal, work) {
      signal.throwIfAborted();
      const turns = callers.get(caller) ?? { running: 0, waiting: new Set() };
      callers.set(caller, turns);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const stopWaiting = (): void => {
        if (!turns.waiting.delete(resolve)) return;
        reject(signal.reason as Error);
        settle(caller, turns);
      };
      signal.addEventListener('abort', stopWaiting, { once: true });
      turns.waiting.add(resolve);
      startNext();
      try {
        await promise;
      } finally {
        signal.removeEventListener('abort', stopWaiting);
      }
      try {
        return await work();
      } finally {
        turns.running -= 1;
        running -= 1;
        settle(caller, turns);
      }
    },
  };
}
