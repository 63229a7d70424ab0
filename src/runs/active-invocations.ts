import type { Caller } from '../core/callers/caller.ts';
import { GatewayError } from '../core/errors.ts';
import { isWithin } from '../core/callers/people.ts';
import { Drain } from './drain.ts';
import { describeEndOfAccess, type EndOfAccess } from './end-of-access.ts';

/** Tool calls outside of chats. A shutdown waits for them, and they end with their caller's key. */
export interface ActiveInvocations {
  /**
   * Runs `work` with a signal that is aborted with `signal`, when the caller's key ends or changes, and when a drain takes too long.
   * @throws GatewayError `server_shutting_down`, `invalid_api_key`, `run_cancelled`; whatever `work` throws.
   */
  run<Value>(caller: Caller, signal: AbortSignal, work: (signal: AbortSignal) => Promise<Value>): Promise<Value>;
  /** Cancels the calls of a key and its people, or of one of them; after the deletion of the key no new ones start. */
  cancelAllOf(ownerId: string, cause: EndOfAccess): void;
  /** Aborted when a drain begins: calls that only wait for the answer of a person then end at once. */
  readonly draining: AbortSignal;
  /** Admits no more calls, and resolves when all have ended. After `timeoutMs` the rest is aborted. */
  drain(timeoutMs: number): Promise<void>;
}

export function createActiveInvocations(): ActiveInvocations {
  const draining = new AbortController();
  const running = new Set<{ callerId: string; controller: AbortController }>();
  const drain = new Drain(
    () => running.size,
    (reason) => {
      for (const { controller } of running) controller.abort(reason);
    },
  );

  return {
    draining: draining.signal,

    async run(caller, signal, work) {
      drain.requireOpen(caller.id);
      const controller = new AbortController();
      const call = { callerId: caller.id, controller };
      running.add(call);
      try {
        return await work(AbortSignal.any([signal, controller.signal]));
      } finally {
        running.delete(call);
        drain.noteEnd();
      }
    },

    cancelAllOf(ownerId, cause) {
      if (cause === 'deleted') drain.closeTo(ownerId);
      const why = describeEndOfAccess(cause, 'its key');
      const reason = new GatewayError('run_cancelled', `The call was cancelled because ${why}; whether it took effect is unknown.`);
      for (const call of running) if (isWithin(call.callerId, ownerId)) call.controller.abort(reason);
    },

    drain(timeoutMs) {
      draining.abort(new Error('The gateway is shutting down.'));
      return drain.run(timeoutMs, 'The gateway was shut down before this call ended.');
    },
  };
}
