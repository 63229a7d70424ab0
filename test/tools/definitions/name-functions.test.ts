import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { legalName, uniqueNames } from '../../../src/tools/definitions/name-functions.ts';

const legal = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

describe('legalName', () => {
  it.each([
    ['getUser', 'getUser'],
    ['get-user_2', 'get-user_2'],
    ['repos/list-for-org', 'repos_list-for-org'],
    ['Find all pets!', 'Find_all_pets'],
    ['{id}', 'id'],
    ['2fa.enable', '_2fa_enable'],
    ['-verbose', '_-verbose'],
    ['créerÉtagère', 'creerEtagere'],
  ])('makes %j %j', (text, name) => {
    expect(legalName(text)).toBe(name);
  });

  it('keeps texts apart that differ only in letters of another script', () => {
    const names = ['歌を聴く', '歌を歌う', '', '獲得_user', '削除_user'].map(legalName);
    expect(new Set(names).size).toBe(5);
    expect(names[3]).toMatch(/^_user_[0-9a-f]{6}$/);
  });

  it('shortens to 64 characters with a hash of the whole text, so that equal beginnings stay apart', () => {
    const beginning = 'get_the_current_listeners_favourite_tracks_of_the_year_v1_tracks_get';
    const [one, other] = [legalName(`${beginning}_a`), legalName(`${beginning}_b`)];
    expect(one).toMatch(/^get_the_current_listeners_favourite_tracks_of_the_year_v1_[0-9a-f]{6}$/);
    expect(one.slice(0, 57)).toBe(beginning.slice(0, 57));
    expect(one).toHaveLength(64);
    expect(other).not.toBe(one);
  });

  it('gives a legal name for any text, always the same, and leaves a legal name as it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 100 }), (text) => {
        const name = legalName(text);
        expect(name).toMatch(legal);
        expect(legalName(text)).toBe(name);
        expect(legalName(name)).toBe(name);
      }),
    );
  });
});

describe('uniqueNames', () => {
  const wish = (wanted: string, key: string): { wanted: string; key: string; entry: string } => ({ wanted, key, entry: key });
  const nameByKey = (names: { name: string; entry: string }[]): Record<string, string> =>
    Object.fromEntries(names.map(({ name, entry }) => [entry, name]));

  it('keeps what is legal and alone, in the given order, without a report', () => {
    expect(uniqueNames([wish('b', 'GET /b'), wish('a', 'GET /a')], new Set())).toEqual([
      { name: 'b', entry: 'GET /b' },
      { name: 'a', entry: 'GET /a' },
    ]);
  });

  it('reports why a name is another one', () => {
    const long = 'x'.repeat(70);
    const named = uniqueNames([wish('dup', 'k1'), wish('dup', 'k2'), wish('a/b', 'k3'), wish(long, 'k4')], new Set());
    expect(named.map(({ renamed }) => renamed?.reason)).toEqual([
      undefined,
      'another function has this name',
      expect.stringContaining('letters, digits'),
      'longer than 64 characters',
    ]);
    expect(named[1]?.renamed).toEqual({ from: 'dup', to: named[1]?.name, reason: 'another function has this name' });
    expect(named[1]?.name).toMatch(/^dup_[0-9a-f]{6}$/);
  });

  it('gives names that do not depend on the order, are legal, and occur once', () => {
    const words = fc.constantFrom('a', 'a/b', 'a.b', 'a_b', 'A', 'long'.repeat(20), `${'long'.repeat(20)}er`, '聴', '聞');
    fc.assert(
      fc.property(fc.array(words, { maxLength: 12 }), fc.infiniteStream(fc.nat()), (wanted, numbers) => {
        const wishes = wanted.map((word, index) => wish(word, `GET /${index}`));
        const shuffled = wishes
          .map((entry) => ({ entry, rank: numbers.next().value ?? 0 }))
          .sort((a, b) => a.rank - b.rank)
          .map(({ entry }) => entry);
        const names = uniqueNames(wishes, new Set(['a']));
        expect(nameByKey(uniqueNames(shuffled, new Set(['a'])))).toEqual(nameByKey(names));
        expect(new Set(names.map(({ name }) => name)).size).toBe(wanted.length);
        for (const { name } of names) expect(name).toMatch(legal);
        expect(names.map(({ name }) => name)).not.toContain('a');
      }),
    );
  });

  it('keeps the suffix inside the 64 characters', () => {
    const [, second] = uniqueNames([wish('n'.repeat(64), 'k1'), wish('n'.repeat(64), 'k2')], new Set());
    expect(second?.name).toMatch(/^n{57}_[0-9a-f]{6}$/);
  });

  it('prefers the entry whose wish is legal as it stands', () => {
    const named = uniqueNames([wish('get/user', 'A'), wish('get_user', 'B')], new Set());
    expect(nameByKey(named)['B']).toBe('get_user');
  });

  it('tells entries with equal keys apart as well', () => {
    const names = uniqueNames([wish('a', 'k'), wish('a', 'k'), wish('a', 'k')], new Set()).map(({ name }) => name);
    expect(new Set(names).size).toBe(3);
  });
});
