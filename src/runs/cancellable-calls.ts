import type { CallRegistry } from '../core/runs/run.ts';

/** The running calls of one run, so that each can be cancelled. */
export interface CancellableCalls extends CallRegistry {
  /** False when no running call has that id. */
  cancel(callId: string): boolean;
}

export function createCancellableCalls(): CancellableCalls {
  const underWay = new Map<string, Set<() => void>>();

  return {
    register(callId, cancel) {
      const known = underWay.get(callId) ?? new Set();
      // A new function each time, so that the same `cancel` can be registered twice.
      const entry = (): void => cancel();
      underWay.set(callId, known.add(entry));
      return () => {
        known.delete(entry);
        if (known.size === 0 && underWay.get(callId) === known) underWay.delete(callId);
      };
    },
    cancel(callId) {
      const found = underWay.get(callId);
      if (found === undefined) return false;
      underWay.delete(callId);
      for (const cancel of found) cancel();
      return true;
    },
  };
}
