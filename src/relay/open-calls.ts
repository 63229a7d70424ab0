import { LRUCache } from 'lru-cache';

import type { ToolOutcome } from '../core/tool.ts';

/** Remembered ids of settled calls: a bus may deliver twice or out of order, and a tool must not run twice for it. */
const rememberedIds = 1_000;

export interface OpenBrowserCall {
  id: string;
  /** The offered name, for messages. */
  name: string;
  timeoutMs: number;
  reply(outcome: ToolOutcome): void;
  /** The limit has passed without an answer. Whoever asked knows by its own clock. */
  onExpired(): void;
}

/** The calls that one session was asked to run and has not answered. Each settles once, and no id is taken twice. */
export interface OpenBrowserCalls {
  /** False when the id was used or cancelled before. */
  add(call: OpenBrowserCall): boolean;
  has(id: string): boolean;
  /** False when no such call waits, or its limit has passed. */
  settle(id: string, outcome: ToolOutcome): boolean;
  /** Forgets a call without an answer; false when no such call waits. */
  cancel(id: string): boolean;
  settleAll(outcomeOf: (name: string) => ToolOutcome): void;
  size(): number;
}

export function createOpenBrowserCalls(now: () => number): OpenBrowserCalls {
  const open = new Map<string, { call: OpenBrowserCall; deadline: number; timer: NodeJS.Timeout }>();
  const usedIds = new LRUCache<string, true>({ max: rememberedIds });

  function take(id: string): { call: OpenBrowserCall; deadline: number } | undefined {
    const entry = open.get(id);
    if (entry !== undefined) clearTimeout(entry.timer);
    open.delete(id);
    return entry;
  }

  return {
    add(call) {
      if (usedIds.has(call.id) || open.has(call.id)) return false;
      usedIds.set(call.id, true);
      const timer = setTimeout(() => {
        open.delete(call.id);
        call.onExpired();
      }, call.timeoutMs);
      open.set(call.id, { call, deadline: now() + call.timeoutMs, timer });
      return true;
    },

    has: (id) => open.has(id),

    settle(id, outcome) {
      const entry = open.get(id);
      if (entry === undefined || now() >= entry.deadline) return false;
      take(id);
      entry.call.reply(outcome);
      return true;
    },

    cancel(id) {
      usedIds.set(id, true);
      return take(id) !== undefined;
    },

    settleAll(outcomeOf) {
      for (const id of Array.from(open.keys())) {
        const call = take(id)?.call;
        call?.reply(outcomeOf(call.name));
      }
    },

    size: () => open.size,
  };
}
