import { LRUCache } from 'lru-cache';

/** Wishes that are remembered; with more callers the oldest is forgotten, and its clients hear everything again. */
const maxCallers = 1_000;

/** Levels above the one at which everything is said (specification, utilities/logging). */
const quieterThanInfo: ReadonlySet<string> = new Set(['notice', 'warning', 'error', 'critical', 'alert', 'emergency']);

/** What clients of the first era have asked for with `logging/setLevel`. There are no sessions, so it stands for their key. */
export interface McpLogLevels {
  set(callerId: string, level: string): void;
  /** Whether a message of the level `info` is to be sent. */
  hearsInfo(callerId: string): boolean;
}

export function createMcpLogLevels(): McpLogLevels {
  const levels = new LRUCache<string, string>({ max: maxCallers });
  return {
    set(callerId, level) {
      levels.set(callerId, level);
    },
    hearsInfo(callerId) {
      const level = levels.get(callerId);
      return level === undefined || !quieterThanInfo.has(level);
    },
  };
}
