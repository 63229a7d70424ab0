import { LRUCache } from 'lru-cache';

/** With more callers, the level that was unused for the longest time is dropped, and its clients get every message again. */
const maxCallers = 1_000;

/** Levels above `info` (specification, utilities/logging). */
const quieterThanInfo: ReadonlySet<string> = new Set(['notice', 'warning', 'error', 'critical', 'alert', 'emergency']);

/** The levels that clients of older protocol versions set with `logging/setLevel`. There are no sessions, so a level applies to the key. */
export interface McpLogLevels {
  set(callerId: string, level: string): void;
  /** Whether messages of the level `info` are sent. */
  includesInfo(callerId: string): boolean;
}

export function createMcpLogLevels(): McpLogLevels {
  const levels = new LRUCache<string, string>({ max: maxCallers });
  return {
    set(callerId, level) {
      levels.set(callerId, level);
    },
    includesInfo(callerId) {
      const level = levels.get(callerId);
      return level === undefined || !quieterThanInfo.has(level);
    },
  };
}
