import { expect, it } from 'vitest';
import type { ChatMessage } from '../../../../src/core/chat/chat.ts';
import { parseOllamaChat } from '../../../../src/http/dialects/ollama/ollama-chat.ts';

function messagesOf(...messages: object[]): ChatMessage[] {
  return parseOllamaChat({ model: 'm', messages }).request.messages;
}

const call = (name: string, args: object, id?: string): object => ({
  ...(id !== undefined && { id }),
  function: { name, arguments: args },
});

function idsOf(message: ChatMessage | undefined): string[] {
  if (message?.role === 'tool') return [message.toolCallId];
  return message?.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : [];
}

it('calls have the same ids again, whatever the time in the system prompt is, and others after other words', () => {
  const idAfter = (system: string, text: string, args: object): string[] =>
    idsOf(
      messagesOf(
        { role: 'system', content: system },
        { role: 'user', content: text },
        { role: 'assistant', tool_calls: [call('add', args)] },
      ).at(-1),
    );
  expect(idAfter('Now is 12:01', 'Add!', { b: 2, a: 1 })).toEqual(idAfter('Now is 12:00', 'Add!', { a: 1, b: 2 }));
  expect(idAfter('', 'Add!', { a: 1 })).not.toEqual(idAfter('', 'Add!', { a: 2 }));
  expect(idAfter('', 'Add!', { a: 1 })).not.toEqual(idAfter('', 'Sum!', { a: 1 }));
});

it('roles are read in any case, and content may be missing', () => {
  expect(messagesOf({ role: 'User', content: 'Hi' }, { role: 'assistant' })).toEqual([
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: '', toolCalls: [] },
  ]);
});

it('images become parts, with the type that their first bytes tell', () => {
  const [message] = messagesOf({ role: 'user', content: 'What is it?', images: ['/9j/AAA', 'iVBORw0', 'data:image/webp;base64,UklGR'] });
  expect(message?.content).toEqual([
    { type: 'text', text: 'What is it?' },
    { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,/9j/AAA' } },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0' } },
    { type: 'image_url', image_url: { url: 'data:image/webp;base64,UklGR' } },
  ]);
});

it('results find their calls by id', () => {
  const [calls, first, second] = messagesOf(
    { role: 'assistant', tool_calls: [call('add', { a: 1 }, 'one'), call('add', { a: 2 }, 'two')] },
    { role: 'tool', content: '2', tool_call_id: 'two' },
    { role: 'tool', content: '1', tool_call_id: 'one' },
  );
  expect(first).toEqual({ role: 'tool', toolCallId: idsOf(calls)[1], content: '2', name: 'add' });
  expect(second).toEqual({ role: 'tool', toolCallId: idsOf(calls)[0], content: '1', name: 'add' });
});

it('results find their calls by name where the calls have no ids, also when two have the same name', () => {
  const [calls, ...results] = messagesOf(
    { role: 'assistant', tool_calls: [call('add', { a: 1 }), call('time', {}), call('add', { a: 2 })] },
    { role: 'tool', content: 'noon', tool_name: 'time' },
    { role: 'tool', content: '1', tool_name: 'add' },
    { role: 'tool', content: '2', name: 'add' },
  );
  expect(calls).toMatchObject({
    toolCalls: [
      { name: 'add', arguments: '{"a":1}' },
      { name: 'time', arguments: '{}' },
      { name: 'add', arguments: '{"a":2}' },
    ],
  });
  const [one, two, three] = idsOf(calls);
  expect(new Set([one, two, three]).size).toBe(3);
  expect(results.flatMap(idsOf)).toEqual([two, one, three]);
});

it('results without id and name belong to the calls in their order, and one too many to none', () => {
  const [calls, ...results] = messagesOf(
    { role: 'assistant', tool_calls: [call('add', {}), call('time', {})] },
    { role: 'tool', content: '1' },
    { role: 'tool', content: 'noon' },
    { role: 'tool', content: 'more' },
  );
  expect(results).toEqual([
    { role: 'tool', toolCallId: idsOf(calls)[0], content: '1', name: 'add' },
    { role: 'tool', toolCallId: idsOf(calls)[1], content: 'noon', name: 'time' },
    { role: 'tool', toolCallId: 'call_3', content: 'more' },
  ]);
});

it('a result of another name takes no call away', () => {
  const [calls, stray, result] = messagesOf(
    { role: 'assistant', tool_calls: [call('add', {})] },
    { role: 'tool', content: '?', tool_name: 'other' },
    { role: 'tool', content: '1', tool_name: 'add' },
  );
  expect(stray).toMatchObject({ toolCallId: 'call_1', name: 'other' });
  expect(result).toMatchObject({ toolCallId: idsOf(calls)[0], name: 'add' });
});

it('thinking goes back with the message that it belongs to', () => {
  const [message] = messagesOf({ role: 'assistant', content: '', thinking: 'Hm', tool_calls: [call('add', {})] });
  expect(message).toMatchObject({ extra: { thinking: 'Hm' } });
});

it.each([
  [{ model: 'm', messages: [{ role: 'robot', content: '' }] }, 'messages.0.role'],
  [{ model: 'm', messages: [{ role: 'user', content: [{ type: 'text' }] }] }, 'messages.0.content'],
  [
    { model: 'm', messages: [{ role: 'assistant', tool_calls: [{ function: { arguments: {} } }] }] },
    'messages.0.tool_calls.0.function.name',
  ],
  [{ model: 'm', messages: [], tools: [{ type: 'function' }] }, 'tools.0.function'],
  [{ model: 'm', messages: [], think: 'often' }, 'think'],
  [{ model: 'm', messages: [], format: 'xml' }, 'format'],
  [{ model: 'm', messages: [], options: [] }, 'options'],
  [{ model: 'm', messages: [], keep_alive: true }, 'keep_alive'],
  [{ model: 'm', messages: [], stream: 'yes' }, 'stream'],
  [{ messages: [] }, 'model'],
])('bad input is refused by the name of its field: %j', (body, param) => {
  expect(() => parseOllamaChat(body)).toThrow(expect.objectContaining({ code: 'invalid_request', param }) as Error);
});
