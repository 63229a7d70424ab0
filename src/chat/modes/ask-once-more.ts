import type { ModelEvent } from '../../core/chat/chat.ts';
import { UnreadableCallError } from '../../core/errors.ts';
import type { ModelBackend, ModelRequest } from '../../core/models/model.ts';
import type { Emit } from '../../shared/async/emit.ts';

/**
 * Repeats a request once if the backend could not read a call that its model wrote: the next answer is usually better. Not after the model has said
 * something; thoughts may be repeated.
 */
export function askOnceMore(backend: ModelBackend): ModelBackend {
  return {
    answer(request, emit) {
      let hasBegun = false;
      const watched: Emit<ModelEvent> = (events) => {
        hasBegun ||= events.some(saysOrCalls);
        return emit(events);
      };
      return backend.answer(request, watched).catch((error: unknown) => {
        if (!(error instanceof UnreadableCallError) || hasBegun) throw error;
        request.signal.throwIfAborted();
        const again: ModelRequest = { ...request, purpose: { type: 'answer', ...request.purpose, reason: 'call_unreadable' } };
        return backend.answer(again, emit);
      });
    },
  };
}

function saysOrCalls(event: ModelEvent): boolean {
  if (event.type === 'text') return event.text.trim() !== '';
  return event.type === 'tool-call' || (event.type === 'extra' && event.level === 'delta');
}
