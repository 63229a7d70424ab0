import { LRUCache } from 'lru-cache';

import type { ElicitationRequest } from '../core/elicitation.ts';
import { limits } from '../core/limits.ts';
import type { Reply } from './bus-messages.ts';

/** Remembered ids of settled requests: a bus may deliver twice or out of order, and a tool must not run twice for it. */
const rememberedIds = 1_000;

/** A tool call or an elicitation that the browser has not answered. */
export interface OpenRequest {
  id: string;
  /** The type of its frame. */
  type: 'execute:tool' | ElicitationRequest['type'];
  timeoutMs: number;
  reply: (reply: Reply) => void;
  /** The reply where the browser leaves without an answer. */
  disconnected: Reply;
}

/** What one session was sent and has not answered. Each request settles once, and no id is used twice. */
export interface OpenRequests {
  /** False when the id was used or cancelled before, or there are too many elicitations. */
  add(request: OpenRequest): boolean;
  has(id: string): boolean;
  /** False when no request of this type waits under the id, or its time limit has passed. */
  settle(type: OpenRequest['type'], id: string, reply: Reply): boolean;
  /** Forgets a request without an answer, and gives its type; undefined when none waits. */
  cancel(id: string): OpenRequest['type'] | undefined;
  /** The browser has gone. */
  disconnectAll(): void;
  countCalls(): number;
}

/** @param onExpired the time limit has passed without an answer. Whoever waits for the reply knows by its own clock. */
export function createOpenRequests(now: () => number, onExpired: (request: OpenRequest) => void): OpenRequests {
  const open = new Map<string, { request: OpenRequest; deadline: number; timer: NodeJS.Timeout }>();
  const usedIds = new LRUCache<string, true>({ max: rememberedIds });

  const countCalls = (): number => [...open.values()].filter(({ request }) => request.type === 'execute:tool').length;

  function take(id: string): OpenRequest | undefined {
    const entry = open.get(id);
    clearTimeout(entry?.timer);
    open.delete(id);
    return entry?.request;
  }

  return {
    countCalls,
    has: (id) => open.has(id),

    add(request) {
      const { id, type, timeoutMs } = request;
      if (usedIds.has(id) || open.has(id)) return false;
      if (type !== 'execute:tool' && open.size - countCalls() >= limits.elicitationsPerSession) return false;
      usedIds.set(id, true);
      const timer = setTimeout(() => {
        open.delete(id);
        onExpired(request);
      }, timeoutMs);
      open.set(id, { request, deadline: now() + timeoutMs, timer });
      return true;
    },

    settle(type, id, reply) {
      const entry = open.get(id);
      // The clock decides and not the timer alone: a busy process may run its timers late.
      if (entry?.request.type !== type || now() >= entry.deadline) return false;
      take(id)?.reply(reply);
      return true;
    },

    cancel(id) {
      usedIds.set(id, true);
      return take(id)?.type;
    },

    disconnectAll() {
      for (const id of Array.from(open.keys())) {
        const request = take(id);
        request?.reply(request.disconnected);
      }
    },
  };
}
