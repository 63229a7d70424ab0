import type { ChatMessage, ModelEvent } from '../../core/chat/chat.ts';
import type { ModelBackend } from '../../core/models/model.ts';
import { isCountedId } from '../../shared/text/call-ids.ts';

/**
 * Gives a call an id of the gateway if its own is not unique: if a call of the conversation has it, or if it is a mere count, which the backend begins anew
 * in each answer. Clients, and what is kept of a conversation, find a call by its id.
 */
export function uniqueCallIds(backend: ModelBackend, newCallId: () => string): ModelBackend {
  return {
    answer(request, emit) {
      let ids: CallIds | undefined;
      return backend.answer(request, (events) => {
        if (!events.some(isCall)) return emit(events);
        ids ??= new CallIds(request.messages, newCallId);
        return emit(ids.makeUnique(events));
      });
    },
  };
}

/** The ids of the calls of a conversation and an answer. */
class CallIds {
  readonly #taken: Set<string>;
  readonly #newCallId: () => string;

  constructor(messages: readonly ChatMessage[], newCallId: () => string) {
    this.#taken = idsIn(messages);
    this.#newCallId = newCallId;
  }

  makeUnique(events: readonly ModelEvent[]): ModelEvent[] {
    return events.map((event) => {
      if (event.type !== 'tool-call') return event;
      const { id, name } = event.call;
      const unique = this.#taken.has(id) || isCountedId(id, name) ? this.#newCallId() : id;
      this.#taken.add(unique);
      return unique === id ? event : { ...event, call: { ...event.call, id: unique } };
    });
  }
}

function isCall({ type }: ModelEvent): boolean {
  return type === 'tool-call';
}

function idsIn(messages: readonly ChatMessage[]): Set<string> {
  return new Set(messages.flatMap((message) => (message.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : [])));
}
