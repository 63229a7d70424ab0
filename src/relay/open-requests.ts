import { LRUCache } from 'lru-cache';

import type { ElicitationRequest } from '../core/user-input/elicitation.ts';
import type { JsonObject } from '../shared/json/json.ts';
import type { Reply } from './bus-messages.ts';

/** Elicitations that one session may have open; more is a tool in a loop. */
export const elicitationsPerSession = 64;

/** How many ids are remembered: a bus may deliver twice or out of order, and a tool must not run twice because of that. */
const rememberedIds = 1_000;

/** A tool call or an elicitation that the browser has not answered. */
interface OpenRequest {
  id: string;
  /** The type of its frame. */
  type: 'execute:tool' | ElicitationRequest['type'];
  /** The data of its frame. */
  data: JsonObject;
  timeoutMs: number;
  reply: (reply: Reply) => void;
  /** Whether it stays open while the browser is away, and is sent again when that is back. Not a call: it may have run. */
  isPatient: boolean;
  /** The reply if the browser disconnects without an answer; for a patient request, if the session ends. */
  disconnected: Reply;
}

/** The requests that one session has not answered. Each settles once, and no id is used twice. */
interface OpenRequests {
  /** False when the id was used or cancelled before, or there are too many elicitations. */
  add(request: OpenRequest): boolean;
  has(id: string): boolean;
  /** False when no open request has this type and id, or its time limit has passed. */
  settle(type: OpenRequest['type'], id: string, reply: Reply): boolean;
  /** Removes a request without a reply and returns its type; undefined if it is not open. */
  cancel(id: string): OpenRequest['type'] | undefined;
  /** Settles the requests that are not patient, because the browser disconnected. */
  disconnectImpatient(): void;
  /** Settles every request, because the session has ended. */
  disconnectAll(): void;
  /** Those that are open, in the order in which they were added. */
  list(): OpenRequest[];
  countCalls(): number;
}

/** @param onExpired called when the time limit has passed without an answer. No reply is sent: the requesting side has its own time limit. */
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

  function disconnect(matches: (request: OpenRequest) => boolean): void {
    for (const { request } of [...open.values()].filter((entry) => matches(entry.request))) take(request.id)?.reply(request.disconnected);
  }

  return {
    countCalls,
    has: (id) => open.has(id),

    add(request) {
      const { id, type, timeoutMs } = request;
      if (usedIds.has(id) || open.has(id)) return false;
      if (type !== 'execute:tool' && open.size - countCalls() >= elicitationsPerSession) return false;
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

    disconnectImpatient: () => disconnect(({ isPatient }) => !isPatient),
    disconnectAll: () => disconnect(() => true),
    list: () => Array.from(open.values(), ({ request }) => request),
  };
}
