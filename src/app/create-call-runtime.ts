import type { ChatServices } from '../chat/loop/answer-chat.ts';
import { createResultCache } from '../chat/results/result-cache.ts';
import type { Config } from './config/config.ts';

/** The part of a log that is needed here. */
export interface FaultLog {
  error(fields: object, message: string): void;
}

/** What calls of tools share over all runs: their total limit, the cache of results, and where masked exceptions are written down. */
export function createCallRuntime(
  config: Config,
  { logger, now, newId }: { logger: FaultLog; now: () => number; newId: () => string },
): NonNullable<ChatServices['runtime']> {
  return {
    totalTimeoutMs: config.toolTotalTimeoutMs,
    cache: createResultCache(now),
    newFaultId: newId,
    onFault: ({ id, tool, runId, callId, error }) =>
      logger.error({ err: error, fault_id: id, tool, run_id: runId, call_id: callId }, 'a tool threw an exception'),
  };
}
