import { createOwnedEntries } from './owned-entries.ts';

/** Sessions of MCP clients that can be asked: an application has one for each of its windows. Beyond it a caller's least recently used one ends. */
export const mcpSessionsPerCaller = 32;

/** Beyond it the level that was unused for the longest time is dropped, and its client gets every message again. */
const maxLevels = 1_000;

/** Levels above `info` (specification, utilities/logging). */
const quieterThanInfo: ReadonlySet<string> = new Set(['notice', 'warning', 'error', 'critical', 'alert', 'emergency']);

/** The levels that clients of older protocol versions set with `logging/setLevel`, for their session. Without one a level applies to the caller. */
export interface McpLogLevels {
  set(callerId: string, level: string, sessionId?: string): void;
  /** Whether messages of the level `info` are sent. */
  includesInfo(callerId: string, sessionId?: string): boolean;
}

export function createMcpLogLevels(): McpLogLevels {
  // One for each session, and one for all clients without.
  const levels = createOwnedEntries<string>({ perOwner: mcpSessionsPerCaller + 1, total: maxLevels, end: () => undefined });
  return {
    set(callerId, level, sessionId = callerId) {
      levels.add(sessionId, callerId, level);
    },
    includesInfo(callerId, sessionId = callerId) {
      const level = levels.find(sessionId, callerId);
      return level === undefined || !quieterThanInfo.has(level);
    },
  };
}
