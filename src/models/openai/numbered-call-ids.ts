import { LRUCache } from 'lru-cache';
import type { ChatMessage, ModelEvent, ToolCall } from '../../core/chat/chat.ts';

/** The most models to remember; the one that was used least recently is evicted first. */
const maxModels = 1_000;

/** What stands before the name of the function: `functions.` of `functions.search:0`. `none`: the model has ids of another form. */
type Form = { prefix: string } | 'none';

/**
 * The ids of calls for models that write them themselves, as `functions.search:0`, and count over the whole conversation. Kimi's models stop calling where
 * the history has others. Within the gateway ids are unique and of another form, so those of a history are numbered anew for such a model.
 */
export class NumberedCallIds {
  readonly #forms = new LRUCache<string, Form>({ max: maxModels });

  /** Takes the calls of an answer, as they come. */
  learn(model: string, events: readonly ModelEvent[]): void {
    for (const event of events) if (event.type === 'tool-call') this.#forms.set(model, formOf(event.call));
  }

  /** The messages as the model gets them: the same ones if it takes any id. */
  write(model: string, messages: ChatMessage[]): ChatMessage[] {
    const form = this.#forms.get(model) ?? (/kimi/iu.test(model) ? { prefix: 'functions.' } : 'none');
    return form === 'none' ? messages : numbered(messages, form.prefix);
  }
}

function formOf({ id, name }: ToolCall): Form {
  const [, prefix, written] = /^(functions\.)?(.{1,256}):\d{1,9}$/u.exec(id) ?? [];
  return written === name ? { prefix: prefix ?? '' } : 'none';
}

function numbered(messages: readonly ChatMessage[], prefix: string): ChatMessage[] {
  /** By the id in the gateway. A result follows its call, so a later call with the same id takes the place of the earlier one. */
  const ids = new Map<string, string>();
  let count = 0;
  return messages.map((message) => {
    if (message.role === 'tool') return { ...message, toolCallId: ids.get(message.toolCallId) ?? message.toolCallId };
    if (message.role !== 'assistant' || message.toolCalls.length === 0) return message;
    const toolCalls = message.toolCalls.map((call) => {
      const id = `${prefix}${call.name}:${count++}`;
      ids.set(call.id, id);
      return { ...call, id };
    });
    return { ...message, toolCalls };
  });
}
