import { groupOf } from './fair-shares.ts';

/** Limits concurrent tasks, fairly among callers. */
interface FairTurns {
  /** Runs the task when a slot is free for it. @throws the signal's reason if it aborts before the start; what the task throws */
  run<Value>(caller: string, signal: AbortSignal, work: () => Promise<Value>): Promise<Value>;
}

interface Turns {
  running: number;
  waiting: Set<() => void>;
}

/**
 * No caller, and no key with all its people, gets all slots (unless there is only one), so that another one finds one at once. A free slot goes to the
 * key with the fewest running tasks, there to the caller with the fewest, among equals to the one that has waited longest.
 */
export function createFairTurns(slots: number): FairTurns {
  const callers = new Map<string, Turns>();
  const slotsPerKey = Math.max(1, slots - 1);
  let running = 0;

  function startNext(): void {
    while (running < slots) {
      const runningOf = new Map<string, number>();
      for (const [caller, turns] of callers) runningOf.set(groupOf(caller), (runningOf.get(groupOf(caller)) ?? 0) + turns.running);
      const waiting = Array.from(callers, ([caller, turns]) => ({ turns, ofKey: runningOf.get(groupOf(caller)) ?? 0 })).filter(
        ({ turns, ofKey }) => turns.waiting.size > 0 && ofKey < slotsPerKey,
      );
      const [first] = waiting;
      if (first === undefined) return;
      const { turns: next } = waiting.reduce((fewest, one) =>
        (one.ofKey - fewest.ofKey || one.turns.running - fewest.turns.running) < 0 ? one : fewest,
      );
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
