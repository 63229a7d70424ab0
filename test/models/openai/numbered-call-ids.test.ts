import { expect, it } from 'vitest';
import type { ChatMessage } from '../../../src/core/chat/chat.ts';
import { NumberedCallIds } from '../../../src/models/openai/numbered-call-ids.ts';

const history: ChatMessage[] = [
  { role: 'user', content: 'Find it.' },
  {
    role: 'assistant',
    content: null,
    toolCalls: [
      { id: 'aB3dE6gH9', name: 'search', arguments: '{}' },
      { id: 'zY8xW5vU2', name: 'open', arguments: '{}' },
    ],
  },
  { role: 'tool', toolCallId: 'zY8xW5vU2', content: 'open' },
  { role: 'tool', toolCallId: 'aB3dE6gH9', content: 'found' },
  { role: 'assistant', content: null, toolCalls: [{ id: 'mN1bV2cX3', name: 'search', arguments: '{}' }] },
  { role: 'tool', toolCallId: 'mN1bV2cX3', content: 'found' },
];

function idsIn(messages: readonly ChatMessage[]): string[] {
  return messages.flatMap((message) => {
    if (message.role === 'tool') return [message.toolCallId];
    return message.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : [];
  });
}

function learned(model: string, id: string): NumberedCallIds {
  const ids = new NumberedCallIds();
  ids.learn(model, [{ type: 'tool-call', call: { id, name: 'search', arguments: '{}' } }]);
  return ids;
}

it('counts over the conversation for a model that writes such ids', () => {
  expect(idsIn(learned('m', 'functions.search:0').write('m', history))).toEqual([
    'functions.search:0',
    'functions.open:1',
    'functions.open:1',
    'functions.search:0',
    'functions.search:2',
    'functions.search:2',
  ]);
  expect(idsIn(learned('m', 'search:4').write('m', history)).slice(0, 2)).toEqual(['search:0', 'open:1']);
});

it('knows the form of Kimi before its first answer, until an answer has another', () => {
  expect(idsIn(new NumberedCallIds().write('moonshotai/Kimi-K2-Instruct', history))[0]).toBe('functions.search:0');
  expect(learned('Kimi-K2', 'chatcmpl-tool-3f2a1b').write('Kimi-K2', history)).toBe(history);
});

it.each(['call_0', 'functions.other:0', 'search'])('leaves the ids of a model that writes %s as they are', (id) => {
  expect(learned('m', id).write('m', history)).toBe(history);
  expect(learned('m', 'functions.search:0').write('other', history)).toBe(history);
});
