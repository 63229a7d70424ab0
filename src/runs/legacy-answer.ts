import type { ChatEvent } from '../core/chat.ts';

/**
 * An answer in OpenAI's first form of calls: `message.function_call` and the finish reason `function_call`. It holds one call; what a model has called beside it is
 * left out, and called again when it is still wanted. The `id` is ours: who sends the message back as it came gets the results of this run put back; others' history is used as sent.
 */
export function inLegacyForm(events: AsyncGenerator<ChatEvent>): AsyncGenerator<ChatEvent> {
  const spoken = new Set<number>();
  const called = new Set<number>();

  function translate(event: ChatEvent): ChatEvent | undefined {
    if (event.type === 'text' && event.text !== '') spoken.add(event.choice ?? 0);
    if (event.type === 'finish' && event.reason === 'tool_calls' && called.has(event.choice ?? 0))
      return { type: 'extra', level: 'choice', choice: event.choice ?? 0, fields: { finish_reason: 'function_call' } };
    if (event.type !== 'tool-call') return event;
    const { call, choice = 0 } = event;
    if (called.has(choice)) return undefined;
    called.add(choice);
    const content = spoken.has(choice) ? {} : { content: null };
    const fields = { ...content, function_call: { name: call.name, arguments: call.arguments, id: call.id } };
    return { type: 'extra', level: 'delta', choice, fields };
  }
  async function translated(step: Promise<IteratorResult<ChatEvent>>): Promise<IteratorResult<ChatEvent>> {
    for (let next = await step; ; next = await events.next()) {
      const event = next.done === true ? undefined : translate(next.value);
      if (next.done === true) return next;
      if (event !== undefined) return { done: false, value: event };
    }
  }

  const legacy: AsyncGenerator<ChatEvent> = {
    next: () => translated(events.next()),
    return: (value: unknown) => events.return(value),
    throw: (error) => translated(events.throw(error)),
    [Symbol.asyncIterator]: () => legacy,
    async [Symbol.asyncDispose]() {
      await events.return(undefined);
    },
  };
  return legacy;
}
