import { requireModel } from '../chat/require-model.ts';
import type { ChatEvent } from '../core/chat.ts';
import { GatewayError } from '../core/errors.ts';
import type { RunStarter } from './run-starter.ts';

/** Keys that were deleted while this process ran; a request that began with one of them may still be sending its body. */
const maxRemembered = 10_000;

export interface CallerRuns extends RunStarter {
  /** The caller's key is gone: cancels its runs and starts no other. */
  cancelAllOf: (callerId: string) => void;
}

/** Runs that keep to what their caller's key allows, and end with it. */
export function createCallerRuns(runs: RunStarter): CallerRuns {
  const running = new Map<string, Set<AbortController>>();
  const gone = new Set<string>();

  function add(callerId: string, leave: AbortController): () => void {
    const own = running.get(callerId) ?? new Set();
    running.set(callerId, own.add(leave));
    return () => {
      own.delete(leave);
      if (own.size === 0 && running.get(callerId) === own) running.delete(callerId);
    };
  }

  async function* until(events: AsyncGenerator<ChatEvent>, onEnd: () => void): AsyncGenerator<ChatEvent> {
    try {
      yield* events;
    } finally {
      onEnd();
    }
  }

  return {
    ...runs,
    start(request, caller, leave) {
      if (gone.has(caller.id)) throw new GatewayError('invalid_api_key', 'The key was deleted.');
      requireModel(caller, request.model);
      const { run, events } = runs.start(request, caller, leave);
      const remove = add(caller.id, leave);
      leave.signal.addEventListener('abort', remove, { once: true });
      return { run, events: until(events, remove) };
    },
    cancelAllOf(callerId) {
      gone.add(callerId);
      const oldest = gone.values().next();
      if (gone.size > maxRemembered && oldest.done !== true) gone.delete(oldest.value);
      const reason = new GatewayError('run_cancelled', 'The run was cancelled, because the key it was started with was deleted.');
      for (const leave of running.get(callerId) ?? []) leave.abort(reason);
    },
  };
}
