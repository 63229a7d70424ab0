import { expect, it } from 'vitest';
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

it('the same candidates give the same list, to every caller who has them', () => {
  const { lists } = listsWithClock();
  const [one, other] = [candidateOf('one'), candidateOf('other')];
  const list = lists.listOf([[one], [other]], 'key_a');
  expect(list.map(({ id }) => id)).toEqual(['s/one', 's/other']);
  expect(lists.listOf([[one], [other]], 'key_b')).toBe(list);
});

it('a caller with other candidates gets another list, although they look the same', () => {
  const { lists } = listsWithClock();
  const shared = candidateOf('shared');
  const ofAda = lists.listOf([[shared], [candidateOf('mine', 'Of Ada')]], 'key/ada');
  const ofBob = lists.listOf([[shared], [candidateOf('mine', 'Of Bob')]], 'key/bob');
  expect(ofAda.map(({ description }) => description)).toEqual(['Does it.', 'Of Ada']);
  expect(ofBob.map(({ description }) => description)).toEqual(['Does it.', 'Of Bob']);
  expect(lists.listOf([[shared]], 'key/eve').map(({ id }) => id)).toEqual(['s/shared']);
});

it('groups are part of a list, because they decide who keeps a name', () => {
  const { lists } = listsWithClock();
  const [one, other] = [candidateOf('same'), { ...candidateOf('same'), key: 'other', whenTaken: 's_same' }];
  expect(lists.listOf([[one], [other]], 'key_a').map(({ name }) => name)).toEqual(['same', 's_same']);
  expect(lists.listOf([[one, other]], 'key_a').map(({ name }) => name)).not.toEqual(['same', 's_same']);
});

it('a list is dropped when nobody has read it for a while, or its caller is deleted', () => {
  const { clock, lists } = listsWithClock();
  const groups = [[candidateOf('one')]];
  const first = lists.listOf(groups, 'key_a/1');
  clock.time += 9 * 60_000;
  expect(lists.listOf(groups, 'key_b')).toBe(first);
  clock.time += 9 * 60_000;
  lists.dropUnused();
  expect(lists.listOf(groups, 'key_b')).toBe(first);
  clock.time += 11 * 60_000;
  lists.dropUnused();
  const second = lists.listOf(groups, 'key_a/1');
  expect(second).not.toBe(first);
  lists.forgetAllOf('key_a');
  expect(lists.listOf(groups, 'key_a/1')).not.toBe(second);
});

it('a caller with many lists loses their own oldest one, and nobody else loses any', () => {
  const { lists } = listsWithClock();
  const victim = [[candidateOf('victim')]];
  const first = [[candidateOf('first')]];
  const [ofVictim, oldest] = [lists.listOf(victim, 'key_v'), lists.listOf(first, 'key_a/0')];
  for (let index = 0; index < keptLists; index += 1) lists.listOf([[candidateOf(`f${index}`)]], `key_a/${index % 7}`);
  expect(lists.listOf(victim, 'key_v')).toBe(ofVictim);
  expect(lists.listOf(first, 'key_a/0')).not.toBe(oldest);
});

it('a list that is larger than all may be is kept until there is another one', () => {
  const { lists } = listsWithClock();
  const huge = [[candidateOf('huge', 'x'.repeat(keptListsCharacters))]];
  const list = lists.listOf(huge, 'key_a');
  expect(lists.listOf(huge, 'key_a')).toBe(list);
});
