import { expect, it } from 'vitest';
import { countTurns } from '../../_support/count-turns.ts';
import { createKeptLists, keptLists, keptListsCharacters } from '../../../src/tools/catalog/kept-lists.ts';
import type { Candidate } from '../../../src/tools/definitions/tool-source.ts';

function candidateOf(name: string, description = 'Does it.'): Candidate {
  return {
    wanted: name,
    key: name,
    toTool: (offered) => ({
      spec: { name: offered, description, parameters: { type: 'object', properties: {} } },
      label: `s/${name}`,
      server: 's',
      kind: 'openapi',
      run: async () => ({ type: 'result', value: null }),
    }),
  };
}

function listsWithClock() {
  const clock = { time: 0 };
  return { clock, lists: createKeptLists(() => clock.time) };
}

it('the same candidates give the same list, to every caller who has them', async () => {
  const { lists } = listsWithClock();
  const [one, other] = [candidateOf('one'), candidateOf('other')];
  const list = await lists.listOf([[one], [other]], 'key_a');
  expect(list.map(({ id }) => id)).toEqual(['s/one', 's/other']);
  expect(await lists.listOf([[one], [other]], 'key_b')).toBe(list);
});

it('a caller with other candidates gets another list, although they look the same', async () => {
  const { lists } = listsWithClock();
  const shared = candidateOf('shared');
  const ofAda = await lists.listOf([[shared], [candidateOf('mine', 'Of Ada')]], 'key/ada');
  const ofBob = await lists.listOf([[shared], [candidateOf('mine', 'Of Bob')]], 'key/bob');
  expect(ofAda.map(({ description }) => description)).toEqual(['Does it.', 'Of Ada']);
  expect(ofBob.map(({ description }) => description)).toEqual(['Does it.', 'Of Bob']);
  expect((await lists.listOf([[shared]], 'key/eve')).map(({ id }) => id)).toEqual(['s/shared']);
});

it('groups are part of a list, because they decide who keeps a name', async () => {
  const { lists } = listsWithClock();
  const [one, other] = [candidateOf('same'), { ...candidateOf('same'), key: 'other', whenTaken: 's_same' }];
  expect((await lists.listOf([[one], [other]], 'key_a')).map(({ name }) => name)).toEqual(['same', 's_same']);
  expect((await lists.listOf([[one, other]], 'key_a')).map(({ name }) => name)).not.toEqual(['same', 's_same']);
});

it('a list is dropped when nobody has read it for a while, or its caller is deleted', async () => {
  const { clock, lists } = listsWithClock();
  const groups = [[candidateOf('one')]];
  const first = await lists.listOf(groups, 'key_a/1');
  clock.time += 9 * 60_000;
  expect(await lists.listOf(groups, 'key_b')).toBe(first);
  clock.time += 9 * 60_000;
  lists.dropUnused();
  expect(await lists.listOf(groups, 'key_b')).toBe(first);
  clock.time += 11 * 60_000;
  lists.dropUnused();
  const second = await lists.listOf(groups, 'key_a/1');
  expect(second).not.toBe(first);
  lists.forgetAllOf('key_a');
  expect(await lists.listOf(groups, 'key_a/1')).not.toBe(second);
});

it('a caller with many lists loses their own oldest one, and nobody else loses any', async () => {
  const { lists } = listsWithClock();
  const victim = [[candidateOf('victim')]];
  const first = [[candidateOf('first')]];
  const [ofVictim, oldest] = [await lists.listOf(victim, 'key_v'), await lists.listOf(first, 'key_a/0')];
  for (let index = 0; index < keptLists; index += 1) await lists.listOf([[candidateOf(`f${index}`)]], `key_a/${index % 7}`);
  expect(await lists.listOf(victim, 'key_v')).toBe(ofVictim);
  expect(await lists.listOf(first, 'key_a/0')).not.toBe(oldest);
});

it('a list that is larger than all may be is kept until there is another one', async () => {
  const { lists } = listsWithClock();
  const huge = [[candidateOf('huge', 'x'.repeat(keptListsCharacters))]];
  const list = await lists.listOf(huge, 'key_a');
  expect(await lists.listOf(huge, 'key_a')).toBe(list);
});

it('a long list is made over several ticks, once for all who ask at the same time', async () => {
  const { lists } = listsWithClock();
  let made = 0;
  const candidates = Array.from({ length: 5_000 }, (_, index) => {
    const candidate = candidateOf(`f${index}`);
    return { ...candidate, toTool: (name: string) => ((made += 1), candidate.toTool(name)) };
  });
  const turns = countTurns();
  const [one, other] = await Promise.all([lists.listOf([candidates], 'key_a'), lists.listOf([candidates], 'key_b')]);
  expect(turns()).toBeGreaterThanOrEqual(19);
  expect(one.length).toBeGreaterThanOrEqual(5_000);
  expect(other).toBe(one);
  expect(made).toBe(5_000);
});
