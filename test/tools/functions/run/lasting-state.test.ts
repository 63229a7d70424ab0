import { expect, it } from 'vitest';
import type { NoteStore } from '../../../../src/core/stores/note-store.ts';
import { GatewayError } from '../../../../src/core/errors.ts';
import { limits } from '../../../../src/core/limits.ts';
import { memoryNotes } from '../../../_support/memory-stores.ts';
import { createFunctionStates, stateTotalCharacters, stateMs } from '../../../../src/tools/functions/run/function-state.ts';
import type { FunctionStates } from '../../../../src/tools/functions/run/function-state.ts';
import { runContext } from '../../../_support/tools.ts';

const faults: unknown[] = [];
const statesOver = (store: NoteStore, now = (): number => 0): FunctionStates =>
  createFunctionStates({ store, now, onFault: (error) => void faults.push(error) });
const inChat = (chatId: string | undefined = 'c') => runContext({ chatId });

it('what functions remember of a chat outlives the process, in any form of JSON, key by key', async () => {
  const memory = memoryNotes();
  const before = await statesOver(memory).open(inChat());
  before.set('n', 1);
  before.set('deep', { list: [null, 'ünïcode\u2028'], __proto__: null });
  await before.commit();
  const after = await statesOver(memory).open(inChat());
  expect([after.get('n'), after.get('deep')]).toEqual([1, { list: [null, 'ünïcode\u2028'] }]);
  after.set('n', undefined);
  await after.commit();
  expect((await statesOver(memory).open(inChat())).snapshot()).toEqual({ deep: { list: [null, 'ünïcode\u2028'] } });
  expect((await statesOver(memory).open(inChat('other'))).snapshot()).toEqual({});
});

it('what is not committed is not kept, and neither is the state of a run without a chat', async () => {
  const memory = memoryNotes();
  const state = await statesOver(memory).open(inChat());
  state.set('n', 1);
  expect((await statesOver(memory).open(inChat())).get('n')).toBeUndefined();
  const alone = { ...runContext(), chatId: undefined };
  const own = await statesOver(memory).open(alone);
  own.set('n', 1);
  await own.commit();
  expect((await statesOver(memory).open(alone)).get('n')).toBeUndefined();
});

it('calls that begin at the same time lose nothing of each other', async () => {
  const memory = memoryNotes();
  const states = statesOver(memory);
  const [one, two] = await Promise.all([states.open(inChat()), states.open(inChat())]);
  one.set('one', 1);
  two.set('two', 2);
  await Promise.all([one.commit(), two.commit()]);
  expect((await statesOver(memory).open(inChat())).snapshot()).toEqual({ one: 1, two: 2 });
});

it('a call whose chat was given up in memory meanwhile changes what is stored, and takes nothing away', async () => {
  const memory = memoryNotes();
  const states = statesOver(memory);
  const save = async (chatId: string, key: string, value: string): Promise<void> => {
    using state = await states.open(inChat(chatId));
    state.set(key, value);
    await state.commit();
  };
  await save('c', 'before', 'x');
  using long = await states.open(inChat('c'));
  const big = 'x'.repeat(limits.stateCharacters - 10);
  for (let chat = 0; chat * limits.stateCharacters <= stateTotalCharacters; chat += 1) await save(String(chat), 'k', big);
  expect(long.get('before')).toBe('x');
  long.set('after', 'y');
  await long.commit();
  expect((await statesOver(memory).open(inChat('c'))).snapshot()).toEqual({ before: 'x', after: 'y' });
});

it('is forgotten when it was not written for long', async () => {
  const memory = memoryNotes();
  const state = await statesOver(memory).open(inChat());
  state.set('n', 1);
  await state.commit();
  expect((await statesOver(memory, () => stateMs - 1).open(inChat())).get('n')).toBe(1);
  expect((await statesOver(memory, () => stateMs).open(inChat())).get('n')).toBeUndefined();
});

it('a memory that fails costs the memory, and no call', async () => {
  const fault = async (): Promise<never> => {
    throw new GatewayError('storage_unavailable', 'The disk is full.');
  };
  const states = statesOver({ ...memoryNotes(), find: fault, save: fault });
  const state = await states.open(inChat());
  state.set('n', 1);
  await state.commit();
  expect((await states.open(inChat())).get('n')).toBe(1);
  expect(faults).toHaveLength(2);
});
