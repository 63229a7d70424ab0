import type { ChatMessage, ModelEvent } from '../../core/chat/chat.ts';
import type { ModelBackend } from '../../core/models/model.ts';
import { isCountedId } from '../../shared/text/call-ids.ts';

/**
 * Gives a call an id of the gateway if its own is not unique: if a call of the conversation has it, or if it is a mere count, which the backend begins anew
 * in each answer. Clients, and what is kept of a conversation, find a call by its id.
 */
export function uniqueCallIds(newCallId: () => string): (backend: ModelBackend) => ModelBackend {
  return (backend) => ({
    answer(request, emit) {
      let taken: Set<string> | undefined;
      const withUniqueId = (event: ModelEvent): ModelEvent => {
        if (event.type !== 'tool-call') return event;
        const { id, name } = event.call;
        taken ??= idsIn(request.messages);
        const unique = taken.has(id) || isCountedId(id, name) ? newCallId() : id;
        taken.add(unique);
        return unique === id ? event : { ...event, call: { ...event.call, id: unique } };
      };
      return backend.answer(request, (events) => emit(events.some(isCall) ? events.map((event) => withUniqueId(event)) : events));
    },
  });
}

function isCall({ type }: ModelEvent): boolean {
  return type === 'tool-call';
}

function idsIn(messages: readonly ChatMessage[]): Set<string> {
  return new Set(messages.flatMap((message) => (message.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : [])));
}
