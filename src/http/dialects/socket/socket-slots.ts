import { limits } from '../../../core/limits.ts';
import { keyIdOf } from '../../../core/callers/people.ts';
import { createByteBudget, type ByteBudget } from './byte-budget.ts';

/** The same for all sockets of one caller. */
const callerSocketBytesPerSecond = 4 * 1024 * 1024;
const callerSocketBurstBytes = 8 * 1024 * 1024;

const callerBudget = { perSecond: callerSocketBytesPerSecond, burst: callerSocketBurstBytes };
/** After this time a used-up byte budget is full again, so it can be forgotten. */
const budgetMemoryMs = (callerSocketBurstBytes / callerSocketBytesPerSecond) * 1_000;

interface SocketSlots {
  /** Undefined when the caller, or its key with all its people, has too many. */
  take(callerId: string): ByteBudget | undefined;
  release(callerId: string): void;
}

/** Counts the sockets of each caller, which share a byte budget, and those of each key. */
export function createSocketSlots(): SocketSlots {
  const callers = new Map<string, { count: number; budget: ByteBudget; forgetting: NodeJS.Timeout | undefined }>();
  const ofKeys = new Map<string, number>();

  function addToKey(callerId: string, difference: 1 | -1): void {
    const count = (ofKeys.get(keyIdOf(callerId)) ?? 0) + difference;
    if (count === 0) ofKeys.delete(keyIdOf(callerId));
    else ofKeys.set(keyIdOf(callerId), count);
  }

  return {
    take(callerId) {
      const entry = callers.get(callerId) ?? { count: 0, budget: createByteBudget(callerBudget), forgetting: undefined };
      if (entry.count >= limits.socketsPerCaller || (ofKeys.get(keyIdOf(callerId)) ?? 0) >= limits.socketsPerKey) return undefined;
      clearTimeout(entry.forgetting);
      entry.count += 1;
      addToKey(callerId, 1);
      callers.set(callerId, entry);
      return entry.budget;
    },
    release(callerId) {
      const entry = callers.get(callerId);
      if (entry === undefined) return;
      entry.count -= 1;
      addToKey(callerId, -1);
      // Delayed, so that a caller cannot get a fresh budget by reconnecting.
      if (entry.count === 0) entry.forgetting = setTimeout(() => callers.delete(callerId), budgetMemoryMs).unref();
    },
  };
}
