import { expect, it } from 'vitest';
import { ann, bob, call, executed, memoryContinuations, own } from '../../_support/continuations.ts';
import { continuationsCharacters } from '../../../src/chat/suspend/continuations.ts';

it('evicts the oldest turns of a caller with too much text, and nobody else’s', async () => {
  const continuations = memoryContinuations();
  const text = 'x'.repeat(continuationsCharacters / 2);
  await continuations.save(bob, [call('b')], executed('b'));
  for (const id of ['a', 'b']) await continuations.save(ann, [call(id)], executed(id, text));
  expect(await continuations.restore(ann, [own('a')])).toEqual([own('a')]);
  expect(await continuations.restore(ann, [own('b')])).toEqual(executed('b', text));
  expect(await continuations.restore(bob, [own('b')])).toEqual(executed('b'));
});
