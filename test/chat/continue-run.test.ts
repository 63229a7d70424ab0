import { expect, test } from 'vitest';
import { createContinuations } from '../../src/chat/continue-run.ts';
import type { ChatMessage, ToolCall } from '../../src/core/chat.ts';
import { limits } from '../../src/core/limits.ts';

const ann = { id: 'ann', role: 'user', isOpen: false } as const;
const bob = { ...ann, id: 'bob' };
const call = (id: string): ToolCall => ({ id, name: 'theirs', arguments: '{}' });
const own = (id: string): ChatMessage => ({ role: 'assistant', content: null, toolCalls: [call(id)] });
const executed = (id: string, text = 'result'): ChatMessage[] => [
  { role: 'assistant', content: null, toolCalls: [call(id), { id: 'g', name: 'ours', arguments: '{}' }] },
  { role: 'tool', toolCallId: 'g', content: text },
];

test('what was executed is put back for the same caller and calls, and for nobody else', () => {
  const continuations = createContinuations(
    () => 0,
    () => 'own',
  );
  continuations.keep(ann, [call('1')], executed('1'));
  expect(continuations.restore(ann, [own('1')])).toEqual(executed('1'));
  expect(continuations.restore(bob, [own('1')])).toEqual([own('1')]);
  expect(continuations.restore(ann, [own('2')])).toEqual([own('2')]);
});

test('after its time a history is used as it was sent', () => {
  let time = 0;
  const continuations = createContinuations(
    () => time,
    () => 'own',
  );
  continuations.keep(ann, [call('1')], executed('1'));
  time = limits.continuationMs + 1;
  expect(continuations.restore(ann, [own('1')])).toEqual([own('1')]);
});

test('of too many, and of too much text, the oldest go first', () => {
  const many = createContinuations(
    () => 0,
    () => 'own',
  );
  for (let n = 0; n <= limits.continuations; n++) many.keep(ann, [call(`${n}`)], executed(`${n}`));
  expect(many.restore(ann, [own('0')])).toEqual([own('0')]);
  expect(many.restore(ann, [own('1')])).toEqual(executed('1'));
  const large = createContinuations(
    () => 0,
    () => 'own',
  );
  const text = 'x'.repeat(limits.continuationsCharacters / 2);
  for (const id of ['a', 'b']) large.keep(ann, [call(id)], executed(id, text));
  expect(large.restore(ann, [own('a')])).toEqual([own('a')]);
  expect(large.restore(ann, [own('b')])).toEqual(executed('b', text));
});

test('ids that a backend counts anew never mix two turns: the later one is handed over under ids of its own', () => {
  let count = 0;
  const continuations = createContinuations(
    () => 0,
    () => `own_${++count}`,
  );
  expect(continuations.keep(ann, [call('0')], executed('0', 'first'))).toEqual([call('0')]);
  expect(continuations.keep(ann, [call('0')], executed('0', 'second'))).toEqual([call('own_1')]);
  const second = continuations.restore(ann, [own('own_1')]);
  expect(second[0]).toMatchObject({ toolCalls: [{ id: 'own_1' }, { id: 'g' }] });
  expect([continuations.restore(ann, [own('0')])[1]?.content, second[1]?.content]).toEqual(['first', 'second']);
});

test('a turn of other functions is used as it was sent, whatever its ids', () => {
  const continuations = createContinuations(
    () => 0,
    () => 'own',
  );
  continuations.keep(ann, [call('0')], executed('0'));
  const other: ChatMessage = { role: 'assistant', content: null, toolCalls: [{ id: '0', name: 'another', arguments: '{}' }] };
  expect(continuations.restore(ann, [other])).toEqual([other]);
});
