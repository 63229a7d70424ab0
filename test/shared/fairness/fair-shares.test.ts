import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FairMap } from '../../../src/shared/fairness/fair-map.ts';
import { chooseLosses, chooseLossesOfOthers, sharesOf } from '../../../src/shared/fairness/fair-shares.ts';
import type { Share } from '../../../src/shared/fairness/fair-shares.ts';

/** `eee aa` are three entries of `e` and two of `a`, oldest first, of ten characters each. */
function holdings(text: string, characters = 10): Share<string>[] {
  const entries = text
    .replaceAll(' ', '')
    .split('')
    .map((callerId, index) => ({ id: `${callerId}${index}`, callerId }));
  return sharesOf(entries, () => characters);
}

const idsOf = (losses: readonly { id: string }[] | undefined): string[] | undefined => losses?.map(({ id }) => id);

/** As it is defined: everybody is compared with everybody for each entry. */
function lossesOneByOne(shares: readonly Share<string>[], bounds: { entries: number; characters: number }): string[] {
  const all = shares.map((share) => ({ ...share, left: [...share.oldestFirst()] }));
  const sumOf = (some: typeof all, measure: 'entries' | 'characters'): number => some.reduce((sum, one) => sum + one[measure], 0);
  const groups = [...Map.groupBy(all, ({ owner }) => owner.split('/')[0]).values()].map((members) => ({
    members,
    candidates: [...members],
  }));
  const lost: string[] = [];
  for (;;) {
    const measure = (['entries', 'characters'] as const).find((one) => sumOf(all, one) > bounds[one]);
    const [group] = groups
      .filter(({ candidates }) => candidates.length > 0)
      .toSorted((one, other) => sumOf(other.members, measure ?? 'entries') - sumOf(one.members, measure ?? 'entries'));
    if (measure === undefined || group === undefined) return lost;
    const [heaviest] = group.candidates.toSorted((one, other) => other[measure] - one[measure]);
    const oldest = heaviest?.left.shift();
    if (heaviest === undefined || oldest === undefined) {
      group.candidates = group.candidates.filter((one) => one !== heaviest);
      continue;
    }
    lost.push(oldest.id);
    heaviest.entries -= 1;
    heaviest.characters -= oldest.characters;
  }
}

describe('what has to go from a store that is full', () => {
  it.each<[string, number, string[]]>([
    ['eee a', 4, []],
    ['eee a', 3, ['e0']],
    ['a eee', 2, ['e1', 'e2']],
    ['eeee aa b', 4, ['e0', 'e1', 'e2']],
    ['e a b', 0, ['e0', 'a1', 'b2']],
  ])('of %s with room for %i', (text, entries, lost) => {
    expect(idsOf(chooseLosses(holdings(text), { entries, characters: Infinity }))).toEqual(lost);
    expect(idsOf(chooseLosses(holdings(text), { entries: Infinity, characters: entries * 10 }))).toEqual(lost);
  });

  it('is what going through all owners again for each entry would choose', () => {
    const holding = fc.record({
      owner: fc.constantFrom('a', 'a/1', 'a/2', 'b', 'c/1', 'c/2'),
      sizes: fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 6 }),
      // Entries that must not be deleted.
      kept: fc.integer({ min: 0, max: 2 }),
    });
    const holdingsOfOwners = fc.uniqueArray(holding, { selector: ({ owner }) => owner });
    fc.assert(
      fc.property(holdingsOfOwners, fc.nat(15), fc.nat(60), (given, entries, characters) => {
        const shares = given.map<Share<string>>(({ owner, sizes, kept }) => ({
          owner,
          entries: sizes.length,
          characters: sizes.reduce((sum, size) => sum + size, 0),
          oldestFirst: () =>
            sizes.slice(0, Math.max(0, sizes.length - kept)).map((size, index) => ({ id: `${owner}#${index}`, characters: size })),
        }));
        const expected = lossesOneByOne(shares, { entries, characters });
        expect(idsOf(chooseLosses(shares, { entries, characters }))).toEqual(expected);
        expect(idsOf(chooseLosses(shares, { entries, characters }, { entries: 3, owners: Infinity }))).toEqual(expected.slice(0, 3));
        // Of two owners all that go before a third one has to lose something.
        const losses = chooseLosses(shares, { entries, characters }, { entries: Infinity, owners: 2 });
        expect(idsOf(losses)).toEqual(expected.slice(0, losses.length));
        expect(new Set(losses.map(({ owner }) => owner)).size).toBeLessThanOrEqual(2);
      }),
    );
  });

  it('is at once what as many owners hold as it may', () => {
    const few = chooseLosses(holdings('eeee aaa bbb'), { entries: 0, characters: Infinity }, { entries: Infinity, owners: 2 });
    expect(idsOf(few)).toEqual(['e0', 'e1', 'a4']);
  });

  it('is never what somebody holds who has less than another', () => {
    for (let room = 4; room <= 40; room += 1) {
      const losses = chooseLosses(holdings(`${'e'.repeat(40)} aaa b`), { entries: room, characters: Infinity });
      const left = 40 - losses.filter(({ owner }) => owner === 'e').length;
      expect(losses.some(({ owner }) => owner !== 'e') ? left <= 3 : left >= 1).toBe(true);
    }
  });

  it('is the heavy ones where size is short, however few they are', () => {
    const shares = [...holdings('e', 100), ...holdings('aaaa', 10)];
    expect(idsOf(chooseLosses(shares, { entries: Infinity, characters: 120 }))).toEqual(['e0']);
  });

  it('is what a group holds that has the most together, however many its members are', () => {
    const many = Array.from({ length: 9 }, (_, index) => ({ id: `many ${index}`, callerId: `key/${index}` }));
    const few = ['one', 'two', 'three'].map((id) => ({ id, callerId: 'other' }));
    const losses = chooseLosses(
      sharesOf([...few, ...many], () => 1),
      { entries: 6, characters: Infinity },
    );
    expect(losses.map(({ owner }) => owner.split('/')[0])).toEqual(Array.from({ length: 6 }, () => 'key'));
  });

  it('is left where nothing more may go', () => {
    const stuck: Share<string> = { owner: 'e', entries: 9, characters: 9, oldestFirst: () => [] };
    expect(idsOf(chooseLosses([stuck, ...holdings('aa')], { entries: 10, characters: Infinity }))).toEqual(['a0']);
    expect(chooseLosses([stuck], { entries: 1, characters: Infinity })).toEqual([]);
  });
});

it('for one entry more others give way who have more; who has the most is refused', () => {
  const bounds = { entries: Infinity, characters: 40 };
  expect(idsOf(chooseLossesOfOthers({ owner: 'a', characters: 10 }, holdings('eeee'), bounds))).toEqual(['e0']);
  expect(idsOf(chooseLossesOfOthers({ owner: 'e', characters: 10 }, holdings('eee a'), bounds))).toBeUndefined();
  expect(idsOf(chooseLossesOfOthers({ owner: 'a', characters: 50 }, holdings('e'), bounds))).toBeUndefined();
  expect(idsOf(chooseLossesOfOthers({ owner: 'e', characters: 10 }, holdings('ee a'), bounds))).toEqual([]);
});

describe('a map with owners', () => {
  const put = (map: FairMap<string>, key: string, owner: string, characters = 1): string[] =>
    map.set(key, { owner, value: key, characters });

  it('loses what its heaviest owner has not used for the longest time', () => {
    const map = new FairMap<string>({ entries: 3, characters: Infinity });
    put(map, 'of ada', 'ada');
    for (const key of ['1', '2', '3', '4']) put(map, key, 'eve');
    expect(Array.from(map, ([key]) => key)).toEqual(['of ada', '3', '4']);
    map.use('3');
    put(map, '5', 'eve');
    expect([map.get('of ada'), map.get('3'), map.get('4')]).toEqual(['of ada', '3', undefined]);
  });

  it('counts what is replaced or deleted no longer', () => {
    const map = new FairMap<string>({ entries: Infinity, characters: 10 });
    put(map, 'a', 'ada', 9);
    put(map, 'a', 'ada', 4);
    put(map, 'e', 'eve', 6);
    expect([map.has('a'), map.has('e')]).toEqual([true, true]);
    map.delete('e');
    put(map, 'b', 'ada', 6);
    expect([map.has('a'), map.has('b')]).toEqual([true, true]);
    map.deleteAllOf('ada');
    expect(Array.from(map)).toEqual([]);
  });

  it('gives back what is deleted of an owner, or of a whole group', () => {
    const map = new FairMap<string>({ entries: Infinity, characters: Infinity });
    for (const owner of ['key_1', 'key_1/ada', 'key_1/ada/x', 'key_2/ada', 'key_10/ada']) put(map, owner, owner, 1);
    const held = (): string[] => Array.from(map, ([key]) => key);
    expect(map.deleteAllOf('key_1/ada')).toHaveLength(1);
    expect(held()).toEqual(['key_1', 'key_1/ada/x', 'key_2/ada', 'key_10/ada']);
    expect(map.deleteAllOf('key_1')).toHaveLength(2);
    expect(held()).toEqual(['key_2/ada', 'key_10/ada']);
  });
});
