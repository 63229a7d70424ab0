import { createContinuations } from '../../src/chat/suspend/continuations.ts';
import type { ContinuationOptions, Continuations } from '../../src/chat/suspend/continuations.ts';
import { memoryNotes } from './memory-stores.ts';

/** Continuations that are kept in memory. Calls whose ids are taken become `own`. */
export function memoryContinuations(options: Partial<ContinuationOptions> = {}): Continuations {
  return createContinuations({
    store: memoryNotes(),
    spare: memoryNotes(),
    now: () => 0,
    newCallId: () => 'own',
    onFault: (error) => {
      throw error;
    },
    ...options,
  });
}
