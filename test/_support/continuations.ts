import { Continuations } from '../../src/chat/suspend/continuations.ts';
import type { ContinuationOptions, ReturnedTurn } from '../../src/chat/suspend/continuations.ts';
import type { ChatMessage, ToolCall } from '../../src/core/chat/chat.ts';
import { memoryNotes } from './memory-stores.ts';

export const ann = { id: 'ann', role: 'user', isOpen: false } as const;
export const bob = { ...ann, id: 'bob' };
/** Of a function of the caller. */
export const call = (id: string): ToolCall => ({ id, name: 'theirs', arguments: '{}' });
/** What the caller's history has of a turn. */
export const own = (id: string): ChatMessage => ({ role: 'assistant', content: null, toolCalls: [call(id)] });
/** The same turn with a call of the gateway. */
export const executed = (id: string, text = 'result'): ChatMessage[] => [
  { role: 'assistant', content: null, toolCalls: [call(id), { id: 'g', name: 'ours', arguments: '{}' }] },
  { role: 'tool', toolCallId: 'g', content: text },
];

/** A turn to be stored. */
export const turnOf = (calls: readonly ToolCall[], messages: readonly ChatMessage[], more: Partial<ReturnedTurn> = {}): ReturnedTurn => ({
  model: 'model',
  calls,
  messages,
  ...more,
});

/** Continuations that are kept in memory. Calls whose ids are taken become `own`. */
export function memoryContinuations(options: Partial<ContinuationOptions> = {}): Continuations {
  return new Continuations({
    store: memoryNotes(),
    fallback: memoryNotes(),
    now: () => 0,
    newCallId: () => 'own',
    onFault: (error) => {
      throw error;
    },
    ...options,
  });
}
