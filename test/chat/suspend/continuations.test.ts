import { expect, it } from 'vitest';
import type { ChatMessage } from '../../../src/core/chat/chat.ts';
import { memoryNotes } from '../../_support/memory-stores.ts';
import { ann, bob, call, executed, memoryContinuations, own, turnOf } from '../../_support/continuations.ts';
import { continuationMs, continuationsPerRequest } from '../../../src/chat/suspend/continuations.ts';

it('restores executed calls for the same caller and call ids, and for nobody else', async () => {
  const continuations = memoryContinuations();
  await continuations.save(ann, turnOf([call('1')], executed('1')));
  expect(await continuations.restore(ann, [own('1')], { model: 'model', fallbacks: [] })).toEqual(executed('1'));
  expect(await continuations.restore(bob, [own('1')], { model: 'model', fallbacks: [] })).toEqual([own('1')]);
  expect(await continuations.restore(ann, [own('2')], { model: 'model', fallbacks: [] })).toEqual([own('2')]);
});

it('uses a history as it was sent once the stored turn has expired', async () => {
  let time = 0;
  const continuations = memoryContinuations({ now: () => time });
  await continuations.save(ann, turnOf([call('1')], executed('1')));
  time = continuationMs + 1;
  expect(await continuations.restore(ann, [own('1')], { model: 'model', fallbacks: [] })).toEqual([own('1')]);
});

const result = (id: string, content = 'theirs'): ChatMessage => ({ role: 'tool', toolCallId: id, content });
const thinking = { extra: { reasoning_content: 'I think.' } };
/** A turn of the caller's functions, with what its model wants back. */
const thought = (...ids: string[]): ChatMessage => ({ role: 'assistant', content: null, toolCalls: ids.map(call), ...thinking });
const signed = { extra_content: { google: { thought_signature: 'c2ln' } } };

it('keeps turns with results or thoughts across restarts, and writes all others only to memory', async () => {
  const store = memoryNotes();
  const before = memoryContinuations({ store });
  await before.save(ann, turnOf([call('0')], [own('0')]));
  await before.save(ann, turnOf([call('1')], [thought('1')], { returnsThoughts: true }));
  expect(await store.isEmpty()).toBe(true);
  await before.save(ann, turnOf([call('2')], executed('2')));
  await before.save(ann, turnOf([call('3')], [thought('3')]));
  const after = memoryContinuations({ store });
  expect(await after.restore(ann, [own('2'), own('3')], { model: 'model', fallbacks: [] })).toEqual([...executed('2'), thought('3')]);
  const edited: ChatMessage[] = [{ role: 'assistant', content: 'changed', toolCalls: [call('0')] }];
  expect(await before.restore(ann, edited, { model: 'model', fallbacks: [] })).toEqual(edited);
});

it('adds only what the model wants back, and keeps the text and the arguments that the client sends', async () => {
  const continuations = memoryContinuations();
  const calls = [{ ...call('1'), extra: signed }, call('2')];
  await continuations.save(ann, turnOf(calls, [{ role: 'assistant', content: 'Said.', toolCalls: calls, ...thinking }]));
  const theirs = { ...call('1'), arguments: '{"a":1}' };
  const sent: ChatMessage = { role: 'assistant', content: '', toolCalls: [theirs, call('2')], extra: { name: 'x', thinking: 'I think.' } };
  expect(await continuations.restore(ann, [sent], { model: 'model', fallbacks: [] })).toEqual([
    { ...sent, toolCalls: [{ ...theirs, extra: signed }, call('2')], extra: { name: 'x', reasoning_content: 'I think.' } },
  ]);
});

it.each([
  ['thoughts', [thought('1', '2')], [thought('1', '2')]],
  [
    'results',
    [{ ...thought('1', '2'), toolCalls: [call('1'), { id: 'g', name: 'ours', arguments: '{}' }, call('2')] }, result('g', 'ours')],
    [{ ...thought('1', '2'), toolCalls: [call('1'), { id: 'g', name: 'ours', arguments: '{}' }, call('2')] }, result('g', 'ours')],
  ],
] as [string, ChatMessage[], ChatMessage[]][])(
  'joins a turn with %s that a client has split into a message for each call',
  async (_what, stored, turn) => {
    const continuations = memoryContinuations();
    await continuations.save(ann, turnOf([call('1'), call('2')], stored));
    const split = [own('1'), result('1'), own('2'), result('2')];
    const restored = [...turn, result('1'), result('2')];
    expect(await continuations.restore(ann, split, { model: 'model', fallbacks: [] })).toEqual(restored);
    expect(await continuations.restore(ann, restored, { model: 'model', fallbacks: [] })).toEqual(restored);
  },
);

it('restores each part of a turn that a client has taken apart, and the calls of the gateway once', async () => {
  const continuations = memoryContinuations();
  const ours = { id: 'g', name: 'ours', arguments: '{}' };
  const turn: ChatMessage = { role: 'assistant', content: null, toolCalls: [ours, call('1'), call('2')], ...thinking };
  await continuations.save(ann, turnOf([call('1'), call('2')], [turn, result('g')]));
  const between: ChatMessage = { role: 'user', content: 'Hurry!' };
  const apart = [own('1'), result('1'), between, own('2'), result('2')];
  expect(await continuations.restore(ann, apart, { model: 'model', fallbacks: [] })).toEqual([
    { ...turn, toolCalls: [ours, call('1')] },
    result('g'),
    result('1'),
    between,
    thought('2'),
    result('2'),
  ]);
});

it('finds a turn by any of its calls, and leaves out those that the client has not returned', async () => {
  const continuations = memoryContinuations();
  await continuations.save(ann, turnOf([call('1'), call('2')], [thought('1', '2')]));
  expect(await continuations.restore(ann, [own('2'), result('2')], { model: 'model', fallbacks: [] })).toEqual([thought('2'), result('2')]);
});

it('restores a turn once if its ids are in the history twice', async () => {
  const continuations = memoryContinuations();
  await continuations.save(ann, turnOf([call('1')], executed('1')));
  const twice = [own('1'), result('1'), { role: 'user', content: 'again' } as const, own('1'), result('1')];
  expect(await continuations.restore(ann, twice, { model: 'model', fallbacks: [] })).toEqual([
    ...twice.slice(0, 3),
    ...executed('1'),
    result('1'),
  ]);
});

it('does not give what one model wants back to another', async () => {
  const continuations = memoryContinuations();
  const calls = [{ ...call('1'), extra: signed }];
  const turn: ChatMessage = { role: 'assistant', content: null, toolCalls: calls, ...thinking };
  await continuations.save(ann, turnOf(calls, [turn]));
  expect(await continuations.restore(ann, [turn, own('1')], { model: 'another', fallbacks: [] })).toEqual([turn, own('1')]);
  expect(await continuations.restore(ann, [turn], { model: 'another', fallbacks: [] })).toEqual([own('1')]);
  await continuations.save(ann, turnOf([call('2')], [thought('2'), result('g')]));
  expect(await continuations.restore(ann, [own('2')], { model: 'another', fallbacks: [] })).toEqual([own('2'), result('g')]);
});

it('finds a turn by the id that a client has sent, with the ids that its history has now', async () => {
  const continuations = memoryContinuations();
  await continuations.save(ann, turnOf([call('1')], executed('1')));
  const sent: ChatMessage = { role: 'assistant', content: '', toolCalls: [{ ...call('derived'), sentId: '1' }] };
  const [turn, ...others] = await continuations.restore(ann, [sent, result('derived')], { model: 'model', fallbacks: [] });
  expect(turn).toMatchObject({ toolCalls: [{ id: 'derived', name: 'theirs' }, { id: 'g' }] });
  expect(others).toEqual([result('g', 'result'), result('derived')]);
});

it('looks up only the latest turns of a history with thousands of them', async () => {
  const store = memoryNotes();
  let looks = 0;
  const counted = { ...store, find: (...asked: Parameters<typeof store.find>) => ((looks += 1), store.find(...asked)) };
  const continuations = memoryContinuations({ store: counted });
  await continuations.save(ann, turnOf([call('last')], executed('last')));
  looks = 0;
  const history = [...Array.from({ length: 5_000 }, (_, n) => own(`${n}`)), own('last')];
  expect(await continuations.restore(ann, history, { model: 'model', fallbacks: [] })).toEqual([
    ...history.slice(0, -1),
    ...executed('last'),
  ]);
  expect(looks).toBe(continuationsPerRequest);
});

it('separates calls of one turn to which the backend gave the same id, including those of the gateway', async () => {
  const continuations = memoryContinuations();
  const calls = ['look', 'mine', 'mine'].map((name, index) => ({ id: 'c', name, arguments: `{"n":${index}}` }));
  const messages: ChatMessage[] = [
    { role: 'assistant', content: null, toolCalls: calls },
    { role: 'tool', toolCallId: 'c', content: 'looked' },
  ];
  const [first, second] = await continuations.saveByPlace(ann, { seed: 'seed', question: '' }, turnOf(calls.slice(1), messages));
  const sent: ChatMessage = { role: 'assistant', content: null, toolCalls: [first, second].filter((each) => each !== undefined) };
  expect(first?.id).not.toBe(second?.id);
  expect(await continuations.restore(ann, [sent], { model: 'model', fallbacks: [] })).toEqual([
    { ...messages[0], toolCalls: [calls[0], first, second] },
    messages[1],
  ]);
});

it('returns a later turn under new ids when the backend restarts its ids, so that turns never mix', async () => {
  let count = 0;
  const continuations = memoryContinuations({ newCallId: () => `own_${++count}` });
  expect(await continuations.save(ann, turnOf([call('0')], executed('0', 'first')))).toEqual([call('0')]);
  expect(await continuations.save(ann, turnOf([call('0')], executed('0', 'second')))).toEqual([call('own_1')]);
  const second = await continuations.restore(ann, [own('own_1')], { model: 'model', fallbacks: [] });
  expect(second[0]).toMatchObject({ toolCalls: [{ id: 'own_1' }, { id: 'g' }] });
  const first = await continuations.restore(ann, [own('0')], { model: 'model', fallbacks: [] });
  expect([first[1]?.content, second[1]?.content]).toEqual(['first', 'second']);
});

it('does the same when both turns end at the same time', async () => {
  const continuations = memoryContinuations();
  const both = await Promise.all(['first', 'second'].map((text) => continuations.save(ann, turnOf([call('0')], executed('0', text)))));
  expect(both).toEqual([[call('0')], [call('own')]]);
  const texts = await Promise.all(
    ['0', 'own'].map(async (id) => (await continuations.restore(ann, [own(id)], { model: 'model', fallbacks: [] }))[1]?.content),
  );
  expect(texts).toEqual(['first', 'second']);
});

it('uses a turn of other functions as it was sent, whatever its ids', async () => {
  const continuations = memoryContinuations();
  await continuations.save(ann, turnOf([call('0')], executed('0')));
  const other: ChatMessage = { role: 'assistant', content: null, toolCalls: [{ id: '0', name: 'another', arguments: '{}' }] };
  expect(await continuations.restore(ann, [other], { model: 'model', fallbacks: [] })).toEqual([other]);
});

it('stores the turn in memory and reports the fault when the store fails', async () => {
  const faults: unknown[] = [];
  const fault = (): Promise<never> => Promise.reject(new Error('The disk is full.'));
  const store = { ...memoryNotes(), save: fault, find: fault };
  const continuations = memoryContinuations({ store, onFault: (error) => void faults.push(error) });
  expect(await continuations.save(ann, turnOf([call('1')], executed('1')))).toEqual([call('1')]);
  expect(await continuations.restore(ann, [own('1')], { model: 'model', fallbacks: [] })).toEqual(executed('1'));
  expect(faults.length).toBeGreaterThan(0);
});

it('reads a turn once, however its ids are spelled in a history', async () => {
  const store = memoryNotes();
  let characters = 0;
  const find: typeof store.find = async (...asked) => {
    const text = await store.find(...asked);
    characters += text?.length ?? 0;
    return text;
  };
  const continuations = memoryContinuations({ store: { ...store, find } });
  const text = 'x'.repeat(100_000);
  const ids = Array.from({ length: 20 }, (_, n) => `${n}:${'y'.repeat(70)}`);
  await continuations.save(ann, turnOf(ids.map(call), executed(ids[0] ?? '', text)));
  characters = 0;
  const spelled = ids.flatMap((id) => [id.replace(':', '_'), id.slice(0, 40), id.slice(0, 64)]);
  const history = spelled.map((id) => result(id));
  const restored = await continuations.restore(ann, history, { model: 'model', fallbacks: [] });
  expect(JSON.stringify(restored)).toContain(text);
  expect(characters).toBeLessThan(2 * text.length);
});

it('leaves the event loop to others while it reads many large turns', async () => {
  const continuations = memoryContinuations();
  const ids = Array.from({ length: 20 }, (_, n) => `${n}`);
  for (const id of ids) await continuations.save(ann, turnOf([call(id)], executed(id, 'x'.repeat(200_000))));
  let isOver = false;
  let ticks = 0;
  const count = (): void => {
    ticks += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await continuations.restore(ann, ids.map(own), { model: 'model', fallbacks: [] });
  isOver = true;
  expect(ticks).toBeGreaterThan(4);
});

it('stores the places of a turn while those of another caller wait for the disk', async () => {
  const notes = memoryNotes();
  const isPlaces = (value: string): boolean => value.startsWith('[');
  const save: typeof notes.save = (note, bounds) =>
    note.callerId === 'bob' && isPlaces(note.value) ? new Promise(() => undefined) : notes.save(note, bounds);
  const continuations = memoryContinuations({ store: { ...notes, save } });
  const { promise: placed, resolve } = Promise.withResolvers<string>();
  for (const caller of [bob, ann]) {
    const saving = continuations.saveByPlace(caller, { seed: 'seed', question: 'question' }, turnOf([call('1')], executed('1')));
    void saving.then(() => resolve(caller.id));
  }
  expect(await placed).toBe('ann');
});
