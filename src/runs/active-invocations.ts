import type { Caller } from '../core/caller.ts';
import { GatewayError } from '../core/errors.ts';
import { Drain } from './drain.ts';

/** Calls of tools outside of chats: a shutdown waits for them, and they end with their key. */
export interface ActiveInvocations {
  /**
   * Does work under a signal that is aborted when the given one is, when the caller's key ends or changes, and when a drain takes too long.
   * @throws GatewayError `server_shutting_down`, `invalid_api_key`, `run_cancelled`; whatever the work throws.
   */
  run<Value>(caller: Caller, signal: AbortSignal, work: (signal: AbortSignal) => Promise<Value>): Promise<Value>;
  /** Ends the calls of a key; after its deletion no other one begins. */
  cancelAllOf(callerId: string, cause: 'deleted' | 'changed' | 'expired'): void;
  /** Nothing begins any more; resolves when all have ended, at the latest after `timeoutMs`, and then ends the rest. */
  drain(timeoutMs: number): Promise<void>;
}

export function createActiveInvocations(): ActiveInvocations {
  const running = new Set<{ callerId: string; leave: AbortController }>();
  const drain = new Drain(
    () => running.size,
    (reason) => {
      for (const { leave } of running) leave.abort(reason);
    },
  );

  return {
    async run(caller, signal, work) {
      drain.requireOpen(caller.id);
      const leave = new AbortController();
      const call = { callerId: caller.id, leave };
      running.add(call);
      try {
        return await work(AbortSignal.any([signal, leave.signal]));
      } finally {
        running.delete(call);
        drain.noteEnd();
      }
    },

    cancelAllOf(callerId, cause) {
      if (cause === 'deleted') drain.closeTo(callerId);
      const reason = new GatewayError(
        'run_cancelled',
        `The call was cancelled, because its key ${cause === 'expired' ? 'has' : 'was'} ${cause}; whether it took effect is unknown.`,
      );
      for (const call of running) if (call.callerId === callerId) call.leave.abort(reason);
    },

    drain: (timeoutMs) => drain.run(timeoutMs, 'The gateway was shut down before this call had ended.'),
  };
}
