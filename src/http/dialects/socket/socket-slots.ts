import { limits } from '../../../core/limits.ts';
import { createByteBudget } from './byte-budget.ts';
import type { ByteBudget } from './byte-budget.ts';

const callerBudget = { perSecond: limits.callerSocketBytesPerSecond, burst: limits.callerSocketBurstBytes };
/** After this time a used-up byte budget is full again, so it can be forgotten. */
const budgetMemoryMs = (limits.callerSocketBurstBytes / limits.callerSocketBytesPerSecond) * 1_000;

/** Counts the sockets of each caller, which share a byte budget. `take` returns undefined when the caller has too many. */
export function createSocketSlots(): { take(callerId: string): ByteBudget | undefined; release(callerId: string): void } {
  const callers = new Map<string, { count: number; budget: ByteBudget; forgetting: NodeJS.Timeout | undefined }>();
  return {
    take(callerId) {
      const entry = callers.get(callerId) ?? { count: 0, budget: createByteBudget(callerBudget), forgetting: undefined };
      if (entry.count >= limits.socketsPerCaller) return undefined;
      clearTimeout(entry.forgetting);
      entry.count += 1;
      callers.set(callerId, entry);
      return entry.budget;
    },
    release(callerId) {
      const entry = callers.get(callerId);
      if (entry === undefined) return;
      entry.count -= 1;
      // Delayed, so that a caller cannot get a fresh budget by reconnecting.
      if (entry.count === 0) entry.forgetting = setTimeout(() => callers.delete(callerId), budgetMemoryMs).unref();
    },
  };
}
