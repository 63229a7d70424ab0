import { RunTranscripts } from '../../src/chat/suspend/run-transcripts.ts';
import type { RunTranscriptsOptions } from '../../src/chat/suspend/run-transcripts.ts';
import { memoryNotes, memoryWaitingRuns } from './memory-stores.ts';

/** Transcripts that are kept in memory, of runs that are not in the log. */
export function memoryTranscripts(options: Partial<RunTranscriptsOptions> = {}): RunTranscripts {
  return new RunTranscripts({
    store: memoryNotes(),
    waits: memoryWaitingRuns(),
    log: { find: async () => undefined },
    giveUp: async () => undefined,
    now: () => 0,
    onFault: (error) => {
      throw error;
    },
    ...options,
  });
}
