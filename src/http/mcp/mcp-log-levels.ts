import { createOwnedEntries } from './owned-entries.ts';

/** Sessions of MCP clients that can be asked: an application has one for each of its windows. Beyond it a caller's least recently used one ends. */
export const mcpSessionsPerCaller = 32;

/** Beyond it the level that was unused for the longest time is dropped, and its client gets every message again. */
const maxLevels = 1_000;

/** From the least important one (MCP specification, utilities/logging). */
export const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;
export type LogLevel = (typeof logLevels)[number];

/** The levels that clients of older protocol versions set with `logging/setLevel`, for their session. Without one a level applies to the caller. */
export interface McpLogLevels {
  set(callerId: string, level: LogLevel, sessionId?: string): void;
  /** Whether messages of a level are sent. */
  includes(level: LogLevel, callerId: string, sessionId?: string): boolean;
}

export function createMcpLogLevels(): McpLogLevels {
  // One for each session, and one for all clients without.
  const levels = createOwnedEntries<LogLevel>({ perOwner: mcpSessionsPerCaller + 1, total: maxLevels, end: () => undefined });
  return {
    set(callerId, level, sessionId = callerId) {
      levels.add(sessionId, callerId, level);
    },
    includes(level, callerId, sessionId = callerId) {
      const least = levels.find(sessionId, callerId);
      return least === undefined || logLevels.indexOf(level) >= logLevels.indexOf(least);
    },
  };
}
