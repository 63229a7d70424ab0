import { expect, it } from 'vitest';
import { repairHistory } from '../../../src/chat/messages/repair-history.ts';
import type { ChatMessage } from '../../../src/core/chat/chat.ts';
import { limits } from '../../../src/core/limits.ts';
import { calls, says, ScriptedModel } from '../../_support/scripted-model.ts';
import { collect, toolNamed } from '../../_support/tools.ts';
import { loop } from '../loop-fixture.ts';
import { countReads } from '../../_support/count-reads.ts';

const user = (content: string): ChatMessage => ({ role: 'user', content });
const asks = (...calls: [id: string, args: string][]): ChatMessage => ({
  role: 'assistant',
  content: null,
  toolCalls: calls.map(([id, args]) => ({ id, name: 'f', arguments: args })),
});
const result = (toolCallId: string, content: string): ChatMessage => ({ role: 'tool', toolCallId, content });
const lost = (id: string): ChatMessage => ({
  role: 'tool',
  toolCallId: id,
  name: 'f',
  content: '{"error":"The result of this call is not in the conversation."}',
});
const sound = [user('Go'), asks(['1', '{}'], ['2', '{"a":1}']), result('1', 'one'), result('2', 'two'), user('And?')];

it.each<[string, ChatMessage[], ChatMessage[]]>([
  ['a sound one stays as it is', sound, sound],
  [
    'a call without a result gets one',
    [asks(['1', '{}'], ['2', '{}']), result('2', 'two')],
    [asks(['1', '{}'], ['2', '{}']), lost('1'), result('2', 'two')],
  ],
  [
    'a result behind another message moves to its call',
    [asks(['1', '{}']), user('Hm'), result('1', 'one')],
    [asks(['1', '{}']), result('1', 'one'), user('Hm')],
  ],
  ['a result without its call becomes text', [user('Go'), result('9', 'nine')], [user('Go'), user('Tool `9` Output: nine')]],
  [
    'arguments that were read although they are no JSON stay as they were read',
    [asks(['1', '{"a":1}<|im_end|>'], ['2', "{'a': True}"]), result('1', 'x'), result('2', 'y')],
    [asks(['1', '{"a":1}'], ['2', '{"a":true}']), result('1', 'x'), result('2', 'y')],
  ],
  ['arguments that are no JSON become an empty object', [asks(['1', '{"a": ']), result('1', 'x')], [asks(['1', '{}']), result('1', 'x')]],
  [
    'ids that are counted anew in every turn keep their own results',
    [asks(['0', '{}']), result('0', 'first'), asks(['0', '{}']), result('0', 'second')],
    [asks(['0', '{}']), result('0', 'first'), asks(['0', '{}']), result('0', 'second')],
  ],
  [
    'two calls of one id have their results in order',
    [asks(['0', '{}'], ['0', '{"a":1}']), result('0', 'first'), result('0', 'second')],
    [asks(['0', '{}'], ['0', '{"a":1}']), result('0', 'first'), result('0', 'second')],
  ],
  [
    'the result of a later turn is not taken for a lost one',
    [asks(['0', '{}']), asks(['0', '{}']), result('0', 'second')],
    [asks(['0', '{}']), lost('0'), asks(['0', '{}']), result('0', 'second')],
  ],
])('repairs a history %s', (_name, messages, expected) => {
  expect(repairHistory(messages)).toEqual(expected);
  expect(repairHistory(repairHistory(messages))).toEqual(expected);
});

it('checks each call of a long history without results only a few times', () => {
  const asking = (turn: number): ChatMessage =>
    asks(...Array.from({ length: 20 }, (_, place): [string, string] => [`${turn}-${place}`, '{}']));
  const { counted, reads } = countReads(Array.from({ length: 500 }, (_, turn) => asking(turn)));
  expect(repairHistory(counted)).toHaveLength(500 * 21);
  expect(reads()).toBeLessThan(500 * 20 * 20);
});

it('requests the model with a valid history, however the frontend has truncated it', async () => {
  const model = new ScriptedModel(says('Hello.'));
  const messages = [asks(['1', 'nonsense']), user('And now?')];
  await collect(loop(model, [toolNamed('f', 1)], { messages }));
  expect(model.requests[0]?.messages).toEqual([asks(['1', '{}']), lost('1'), user('And now?')]);
});

it.each([
  ['default_api.f g<x>', 'default_api_f_g_x_'],
  ['f'.repeat(200), 'f'.repeat(64)],
  ['фу', '_'],
])('replaces a name that backends reject (%s) by one that every backend accepts', async (written, expected) => {
  const model = new ScriptedModel(calls([written, {}]), says('Sorry.'));
  await collect(loop(model, [toolNamed('look', 1)]));
  const [asked, result] = model.requests[1]?.messages.slice(-2) ?? [];
  expect(asked).toMatchObject({ toolCalls: [{ name: expected }] });
  expect(result).toMatchObject({ role: 'tool', name: expected });
});

it.each<[string, string, string]>([
  ['what the model wrote', '{"place": "Rome"}', '{"place": "Rome"}'],
  ['nothing of what nobody can read', '{"place": ', '{}'],
  ['nothing of what is no object', '["Rome"]', '{}'],
  ['nothing of what is too large', JSON.stringify({ place: 'x'.repeat(limits.argumentsBytes) }), '{}'],
])('keeps %s in a call of an unknown name', async (_, written, kept) => {
  const model = new ScriptedModel(calls(['weather_in', written]), says('Sorry.'));
  await collect(loop(model, [toolNamed('look', 1)]));
  expect(model.requests[1]?.messages.at(-2)).toMatchObject({ toolCalls: [{ name: 'weather_in', arguments: kept }] });
});
