import { expect, it } from 'vitest';
import type { ChatMessage } from '../../../src/core/chat/chat.ts';
import { memoryNotes } from '../../_support/memory-stores.ts';
import { ann, bob, call, executed, memoryContinuations, own } from '../../_support/continuations.ts';
import { continuationMs, continuationsPerRequest, continuationsLimit } from '../../../src/chat/suspend/continuations.ts';

it('what was executed is put back for the same caller and calls, and for nobody else', async () => {
  const continuations = memoryContinuations();
  await continuations.save(ann, [call('1')], executed('1'));
  expect(await continuations.restore(ann, [own('1')])).toEqual(executed('1'));
  expect(await continuations.restore(bob, [own('1')])).toEqual([own('1')]);
  expect(await continuations.restore(ann, [own('2')])).toEqual([own('2')]);
});

it('after its time a history is used as it was sent', async () => {
  let time = 0;
  const continuations = memoryContinuations({ now: () => time });
  await continuations.save(ann, [call('1')], executed('1'));
  time = continuationMs + 1;
  expect(await continuations.restore(ann, [own('1')])).toEqual([own('1')]);
});

it('what is in the store outlives the process; what ran nothing is not written there', async () => {
  const store = memoryNotes();
  const before = memoryContinuations({ store });
  await before.save(ann, [call('1')], executed('1'));
  await before.save(ann, [call('2')], [own('2')]);
  const after = memoryContinuations({ store });
  expect(await after.restore(ann, [own('1')])).toEqual(executed('1'));
  const thought = { ...own('2'), content: 'changed' } as ChatMessage;
  expect([await before.restore(ann, [thought]), await after.restore(ann, [thought])]).toEqual([[own('2')], [thought]]);
});

it('a caller with too many loses its oldest ones, and nobody else does', async () => {
  const many = memoryContinuations();
  await many.save(bob, [call('0')], executed('0'));
  for (let n = 0; n < continuationsLimit; n++) await many.save(ann, [call(`${n}`)], executed(`${n}`));
  expect(await many.restore(ann, [own('0')])).toEqual([own('0')]);
  expect(await many.restore(ann, [own('1')])).toEqual(executed('1'));
  expect(await many.restore(bob, [own('0')])).toEqual(executed('0'));
});

it('a history of thousands of turns costs a bounded number of looks, at the latest turns', async () => {
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

it('calls of one turn stay apart where the backend gave them one id, also those of the gateway', async () => {
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

it('ids that a backend counts anew never mix two turns: the later one is handed over under ids of its own', async () => {
  let count = 0;
  const continuations = memoryContinuations({ newCallId: () => `own_${++count}` });
  expect(await continuations.save(ann, [call('0')], executed('0', 'first'))).toEqual([call('0')]);
  expect(await continuations.save(ann, [call('0')], executed('0', 'second'))).toEqual([call('own_1')]);
  const second = await continuations.restore(ann, [own('own_1')]);
  expect(second[0]).toMatchObject({ toolCalls: [{ id: 'own_1' }, { id: 'g' }] });
  const first = await continuations.restore(ann, [own('0')]);
  expect([first[1]?.content, second[1]?.content]).toEqual(['first', 'second']);
});

it('nor do they where both turns end at the same moment', async () => {
  const continuations = memoryContinuations();
  const both = await Promise.all(['first', 'second'].map((text) => continuations.save(ann, [call('0')], executed('0', text))));
  expect(both).toEqual([[call('0')], [call('own')]]);
  const texts = await Promise.all(['0', 'own'].map(async (id) => (await continuations.restore(ann, [own(id)]))[1]?.content));
  expect(texts).toEqual(['first', 'second']);
});

it('a turn of other functions is used as it was sent, whatever its ids', async () => {
  const continuations = memoryContinuations();
  await continuations.save(ann, [call('0')], executed('0'));
  const other: ChatMessage = { role: 'assistant', content: null, toolCalls: [{ id: '0', name: 'another', arguments: '{}' }] };
  expect(await continuations.restore(ann, [other])).toEqual([other]);
});

it('where the store fails, the turn is kept as long as the process lives, and the fault is told', async () => {
  const faults: unknown[] = [];
  const fault = (): Promise<never> => Promise.reject(new Error('The disk is full.'));
  const store = { ...memoryNotes(), save: fault, find: fault };
  const continuations = memoryContinuations({ store, onFault: (error) => void faults.push(error) });
  expect(await continuations.save(ann, [call('1')], executed('1'))).toEqual([call('1')]);
  expect(await continuations.restore(ann, [own('1')])).toEqual(executed('1'));
  expect(faults.length).toBeGreaterThan(0);
});
