import type { CallRegistry } from '../../src/core/runs/run.ts';

/** Whoever may cancel single calls, for a test: by id, all calls of that id. */
export function scriptedRegistry(): CallRegistry & { cancel(callId: string): void; readonly size: number } {
  const open = new Map<symbol, { callId: string; cancel: () => void }>();
  return {
    register(callId, cancel) {
      const key = Symbol(callId);
      open.set(key, { callId, cancel });
      return () => void open.delete(key);
    },
    cancel(callId) {
      for (const [key, entry] of open) {
        if (entry.callId !== callId) continue;
        open.delete(key);
        entry.cancel();
      }
    },
    get size() {
      return open.size;
    },
  };
}
