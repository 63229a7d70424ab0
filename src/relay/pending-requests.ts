import type { Reply, ReplyMessage } from './bus-messages.ts';

export interface Ask {
  /** Unguessable and used once: whoever knows it may answer. */
  id: string;
  sessionId: string;
  timeoutMs: number;
  signal?: AbortSignal;
  /** Sends the question; resolves with the number of those who got it. */
  send: () => Promise<number>;
  /** Fewer receivers than this are nobody. Default 1. */
  receivers?: number;
}

export type AskResult = { type: 'reply'; reply: Reply } | { type: 'nobody' } | { type: 'timeout' } | { type: 'closed' };

/** What this replica has asked sessions, here or elsewhere, and waits for. */
export interface PendingRequests {
  /** Settles once: by the first reply, at the limit, or when nobody was there to ask. Rejects only with the signal's reason. */
  ask(ask: Ask): Promise<AskResult>;
  /** False when the reply is late, a duplicate, or from a session that was not asked. */
  receive(message: ReplyMessage): boolean;
  /** Ends what waits: what was asked may still be done, but nobody here will hear of it. */
  close(): void;
}

export function createPendingRequests(now: () => number): PendingRequests {
  const waiting = new Map<string, { sessionId: string; deadline: number; settle: (result: AskResult) => void }>();

  return {
    async ask({ id, sessionId, timeoutMs, signal, send, receivers = 1 }) {
      const { promise, resolve, reject } = Promise.withResolvers<AskResult>();
      const onAbort = (): void => reject(signal?.reason as Error);
      const timer = setTimeout(() => resolve({ type: 'timeout' }), timeoutMs);
      signal?.addEventListener('abort', onAbort, { once: true });
      waiting.set(id, { sessionId, deadline: now() + timeoutMs, settle: resolve });
      send().then(
        (count) => {
          if (count < receivers) resolve({ type: 'nobody' });
        },
        () => resolve({ type: 'nobody' }),
      );
      try {
        return await promise;
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        waiting.delete(id);
      }
    },

    receive({ id, sessionId, reply }) {
      const ask = waiting.get(id);
      // The clock decides and not the timer alone: a busy process may run its timers late.
      if (ask === undefined || ask.sessionId !== sessionId || now() >= ask.deadline) return false;
      waiting.delete(id);
      ask.settle({ type: 'reply', reply });
      return true;
    },

    close() {
      for (const ask of waiting.values()) ask.settle({ type: 'closed' });
      waiting.clear();
    },
  };
}
