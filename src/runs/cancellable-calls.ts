import type { CallRegistry } from '../core/runs/run.ts';

/** The running calls of one run, so that each can be cancelled. */
export interface CancellableCalls extends CallRegistry {
  /** False when no running call has that id. */
  cancel(callId: string): boolean;
}

export function createCancellableCalls(): CancellableCalls {
  return new RegisteredCalls();
}

class RegisteredCalls implements CancellableCalls {
  /** Absent until the run makes a call. */
  #running: Map<string, Set<() => void>> | undefined;

  register(callId: string, cancel: () => void): () => void {
    const running = (this.#running ??= new Map());
    const known = running.get(callId) ?? new Set();
    // A new function each time, so that the same `cancel` can be registered twice.
    const entry = (): void => cancel();
    running.set(callId, known.add(entry));
    return () => {
      known.delete(entry);
      if (known.size === 0 && running.get(callId) === known) running.delete(callId);
    };
  }

  cancel(callId: string): boolean {
    const found = this.#running?.get(callId);
    if (found === undefined) return false;
    this.#running?.delete(callId);
    for (const cancel of found) cancel();
    return true;
  }
}
