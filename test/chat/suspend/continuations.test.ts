import { expect, it } from 'vitest';
import type { ChatMessage } from '../../../src/core/chat/chat.ts';
import { memoryNotes } from '../../_support/memory-stores.ts';
import { ann, bob, call, executed, memoryContinuations, own } from '../../_support/continuations.ts';
import { continuationMs, continuationsPerRequest, continuationsLimit } from '../../../src/chat/suspend/continuations.ts';

it('restores executed calls for the same caller and call ids, and for nobody else', async () => {
  const continuations = memoryContinuations();
  await continuations.save(ann, [call('1')], executed('1'));
  expect(await continuations.restore(ann, [own('1')])).toEqual(executed('1'));
  expect(await continuations.restore(bob, [own('1')])).toEqual([own('1')]);
  expect(await continuations.restore(ann, [own('2')])).toEqual([own('2')]);
});

it('uses a history as it was sent once the stored turn has expired', async () => {
  let time = 0;
  const continuations = memoryContinuations({ now: () => time });
  await continuations.save(ann, [call('1')], executed('1'));
  time = continuationMs + 1;
  expect(await continuations.restore(ann, [own('1')])).toEqual([own('1')]);
});

it('keeps turns with results across restarts, and writes turns without results only to memory', async () => {
  const store = memoryNotes();
  const before = memoryContinuations({ store });
  await before.save(ann, [call('1')], executed('1'));
  await before.save(ann, [call('2')], [own('2')]);
  const after = memoryContinuations({ store });
  expect(await after.restore(ann, [own('1')])).toEqual(executed('1'));
  const thought = { ...own('2'), content: 'changed' } as ChatMessage;
  expect([await before.restore(ann, [thought]), await after.restore(ann, [thought])]).toEqual([[own('2')], [thought]]);
});

it('evicts the oldest turns of a caller with too many, and nobody else’s', async () => {
  const many = memoryContinuations();
  await many.save(bob, [call('0')], executed('0'));
  for (let n = 0; n < continuationsLimit; n++) await many.save(ann, [call(`${n}`)], executed(`${n}`));
  expect(await many.restore(ann, [own('0')])).toEqual([own('0')]);
  expect(await many.restore(ann, [own('1')])).toEqual(executed('1'));
  expect(await many.restore(bob, [own('0')])).toEqual(executed('0'));
});

it('looks up only the latest turns of a history with thousands of them', async () => {
  const store = memoryNotes();
  let looks = 0;
  const counted = { ...store, find: (...asked: Parameters<typeof store.find>) => ((looks += 1), store.find(...asked)) };
  const continuations = memoryContinuations({ store: counted });
  await continuations.save(ann, [call('last')], executed('last'));
  looks = 0;
  const history = [...Array.from({ length: 5_000 }, (_, n) => own(`${n}`)), own('last')];
  expect(await continuations.restore(ann, history)).toEqual([...history.slice(0, -1), ...executed('last')]);
  expect(looks).toBe(continuationsPerRequest);
});

it('separates calls of one turn to which the backend gave the same id, including those of the gateway', async () => {
  const continuations = memoryContinuations();
  const calls = ['look', 'mine', 'mine'].map((name, index) => ({ id: 'c', name, arguments: `{"n":${index}}` }));
  const messages: ChatMessage[] = [
    { role: 'assistant', content: null, toolCalls: calls },
    { role: 'tool', toolCallId: 'c', content: 'looked' },
  ];
  const [first, second] = await continuations.saveDerived(ann, 'seed', { calls: calls.slice(1), messages });
  const sent: ChatMessage = { role: 'assistant', content: null, toolCalls: [first, second].filter((each) => each !== undefined) };
  expect(first?.id).not.toBe(second?.id);
  expect(await continuations.restore(ann, [sent])).toEqual([{ ...messages[0], toolCalls: [calls[0], first, second] }, messages[1]]);
});

it('returns a later turn under new ids when the backend restarts its ids, so that turns never mix', async () => {
  let count = 0;
  const continuations = memoryContinuations({ newCallId: () => `own_${++count}` });
  expect(await continuations.save(ann, [call('0')], executed('0', 'first'))).toEqual([call('0')]);
  expect(await continuations.save(ann, [call('0')], executed('0', 'second'))).toEqual([call('own_1')]);
  const second = await continuations.restore(ann, [own('own_1')]);
  expect(second[0]).toMatchObject({ toolCalls: [{ id: 'own_1' }, { id: 'g' }] });
  const first = await continuations.restore(ann, [own('0')]);
  expect([first[1]?.content, second[1]?.content]).toEqual(['first', 'second']);
});

it('does the same when both turns end at the same time', async () => {
  const continuations = memoryContinuations();
  const both = await Promise.all(['first', 'second'].map((text) => continuations.save(ann, [call('0')], executed('0', text))));
  expect(both).toEqual([[call('0')], [call('own')]]);
  const texts = await Promise.all(['0', 'own'].map(async (id) => (await continuations.restore(ann, [own(id)]))[1]?.content));
  expect(texts).toEqual(['first', 'second']);
});

it('uses a turn of other functions as it was sent, whatever its ids', async () => {
  const continuations = memoryContinuations();
  await continuations.save(ann, [call('0')], executed('0'));
  const other: ChatMessage = { role: 'assistant', content: null, toolCalls: [{ id: '0', name: 'another', arguments: '{}' }] };
  expect(await continuations.restore(ann, [other])).toEqual([other]);
});

it('stores the turn in memory and reports the fault when the store fails', async () => {
  const faults: unknown[] = [];
  const fault = (): Promise<never> => Promise.reject(new Error('The disk is full.'));
  const store = { ...memoryNotes(), save: fault, find: fault };
  const continuations = memoryContinuations({ store, onFault: (error) => void faults.push(error) });
  expect(await continuations.save(ann, [call('1')], executed('1'))).toEqual([call('1')]);
  expect(await continuations.restore(ann, [own('1')])).toEqual(executed('1'));
  expect(faults.length).toBeGreaterThan(0);
});
