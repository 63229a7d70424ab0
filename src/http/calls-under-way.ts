import type { Caller } from '../core/caller.ts';
import { GatewayError } from '../core/errors.ts';

/** Keys that were deleted while this process ran; a request that began with one of them may still be sending its body. */
const maxRemembered = 10_000;
/** Time for calls that were ended to send their answer. */
const lastWordsMs = 500;

/** Calls of tools outside of chats: a shutdown waits for them, and they end with their key. */
export interface CallsUnderWay {
  /**
   * Does work under a signal that is aborted when the given one is, when the caller's key ends or changes, and when a drain takes too long.
   * @throws GatewayError `server_shutting_down`, `invalid_api_key`, `run_cancelled`; whatever the work throws.
   */
  run<Value>(caller: Caller, signal: AbortSignal, work: (signal: AbortSignal) => Promise<Value>): Promise<Value>;
  /** Ends the calls of a key; after its deletion no other one begins. */
  cancelAllOf(callerId: string, cause: 'deleted' | 'changed'): void;
  /** Nothing begins any more; resolves when all have ended, at the latest after `timeoutMs`, and then ends the rest. */
  drain(timeoutMs: number): Promise<void>;
}

export function createCallsUnderWay(): CallsUnderWay {
  const running = new Set<{ callerId: string; leave: AbortController }>();
  const gone = new Set<string>();
  let isDraining = false;
  let becomeIdle: (() => void) | undefined;

  return {
    async run(caller, signal, work) {
      if (isDraining)
        throw new GatewayError('server_shutting_down', 'This gateway is shutting down. Try again in a moment.', { retryAfter: '5' });
      if (gone.has(caller.id)) throw new GatewayError('invalid_api_key', 'The key was deleted.');
      const leave = new AbortController();
      const call = { callerId: caller.id, leave };
      running.add(call);
      try {
        return await work(AbortSignal.any([signal, leave.signal]));
      } finally {
        running.delete(call);
        if (running.size === 0) becomeIdle?.();
      }
    },

    cancelAllOf(callerId, cause) {
      if (cause === 'deleted') {
        gone.add(callerId);
        const oldest = gone.values().next();
        if (gone.size > maxRemembered && oldest.done !== true) gone.delete(oldest.value);
      }
      const reason = new GatewayError(
        'run_cancelled',
        `The call was cancelled, because its key was ${cause}; whether it took effect is unknown.`,
      );
      for (const call of running) if (call.callerId === callerId) call.leave.abort(reason);
    },

    async drain(timeoutMs) {
      isDraining = true;
      if (running.size === 0) return;
      const { promise: idle, resolve } = Promise.withResolvers<void>();
      becomeIdle = resolve;
      const timer = setTimeout(() => {
        const reason = new GatewayError('server_shutting_down', 'The gateway was shut down before this call had ended.');
        for (const { leave } of running) leave.abort(reason);
        // A call that ignores its signal must not keep the process alive.
        setTimeout(resolve, lastWordsMs).unref();
      }, timeoutMs);
      await idle;
      clearTimeout(timer);
    },
  };
}
