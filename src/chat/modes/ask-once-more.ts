import type { ModelEvent } from '../../core/chat/chat.ts';
import { UnreadableCallError } from '../../core/errors.ts';
import type { ModelBackend, ModelRequest } from '../../core/models/model.ts';
import type { Emit } from '../../shared/async/emit.ts';
import { withRemedies } from '../../shared/refusals/with-remedies.ts';

/**
 * Repeats a request once if the backend could not read a call that its model wrote: the next answer is usually better. Not after the model has said
 * something; thoughts may be repeated.
 */
export function askOnceMore(backend: ModelBackend): ModelBackend {
  return {
    answer: (request, emit) =>
      withRemedies<ModelRequest, ModelEvent, void>(request, (next, emitNext: Emit<ModelEvent>) => backend.answer(next, emitNext), {
        emit,
        isAnswer: saysOrCalls,
        remedy(error) {
          if (!(error instanceof UnreadableCallError)) return undefined;
          request.signal.throwIfAborted();
          return { ...request, purpose: { type: 'answer', ...request.purpose, reason: 'call_unreadable' } };
        },
      }),
  };
}

function saysOrCalls(event: ModelEvent): boolean {
  if (event.type === 'text') return event.text.trim() !== '';
  return event.type === 'tool-call' || (event.type === 'extra' && event.level === 'delta');
}
