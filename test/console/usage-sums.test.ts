import { expect, it } from 'vitest';
import { dayAgo, daysOf, idOf, sumBy } from '../../src/console/pages/usage/usage-sums.ts';
import type { UsageRow } from '../../src/console/pages/usage/usage-sums.ts';

const row = (fields: Partial<UsageRow>): UsageRow => ({
  day: '2026-11-22',
  requests: 1,
  tokens_in: 10,
  tokens_out: 5,
  tool_calls: 2,
  failures: 1,
  ...fields,
});

it('sums what has one name, the largest first', () => {
  const rows = [row({ model: 'small' }), row({ model: 'large', tokens_in: 100 }), row({ model: 'small', day: '2026-11-23' })];
  expect(sumBy(rows, (each) => idOf(each, 'model'))).toEqual([
    { name: 'large', requests: 1, tokensIn: 100, tokensOut: 5, calls: 2, failures: 1 },
    { name: 'small', requests: 2, tokensIn: 20, tokensOut: 10, calls: 4, failures: 2 },
  ]);
});

it('takes people of the same id behind two keys for two, and a key that is one caller for itself', () => {
  expect(idOf(row({ key: 'a', user: 'ada' }), 'user')).not.toBe(idOf(row({ key: 'b', user: 'ada' }), 'user'));
  expect(idOf(row({ key: 'a', user: null }), 'user')).toBe('a');
});

it.each([
  ['2026-11-22', '2026-11-22', ['2026-11-22']],
  ['2026-02-27', '2026-03-01', ['2026-02-27', '2026-02-28', '2026-03-01']],
  ['2026-11-23', '2026-11-22', []],
  ['', '2026-11-22', []],
])('names the days from %s to %s', (from, to, days) => {
  expect(daysOf(from, to)).toEqual(days);
});

it('counts days back in UTC', () => {
  expect(dayAgo(1, Date.parse('2026-03-01T00:30:00Z'))).toBe('2026-02-28');
});
