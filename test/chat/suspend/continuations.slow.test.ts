import { expect, it } from 'vitest';
import { ann, bob, call, executed, memoryContinuations, own, turnOf } from '../../_support/continuations.ts';
import { continuationsCharacters, continuationsLimit } from '../../../src/chat/suspend/continuations.ts';

it('evicts the oldest turns of a caller with too much text, and nobody else’s', async () => {
  const continuations = memoryContinuations();
  const text = 'x'.repeat(continuationsCharacters / 2);
  await continuations.save(bob, turnOf([call('b')], executed('b')));
  for (const id of ['a', 'b']) await continuations.save(ann, turnOf([call(id)], executed(id, text)));
  expect(await continuations.restore(ann, [own('a')], { model: 'model', fallbacks: [] })).toEqual([own('a')]);
  expect(await continuations.restore(ann, [own('b')], { model: 'model', fallbacks: [] })).toEqual(executed('b', text));
  expect(await continuations.restore(bob, [own('b')], { model: 'model', fallbacks: [] })).toEqual(executed('b'));
});

it('evicts the oldest turns of a caller with too many, and nobody else’s', async () => {
  const many = memoryContinuations();
  await many.save(bob, turnOf([call('0')], executed('0')));
  for (let n = 0; n < continuationsLimit; n++) await many.save(ann, turnOf([call(`${n}`)], executed(`${n}`)));
  expect(await many.restore(ann, [own('0')], { model: 'model', fallbacks: [] })).toEqual([own('0')]);
  expect(await many.restore(ann, [own('1')], { model: 'model', fallbacks: [] })).toEqual(executed('1'));
  expect(await many.restore(bob, [own('0')], { model: 'model', fallbacks: [] })).toEqual(executed('0'));
});
