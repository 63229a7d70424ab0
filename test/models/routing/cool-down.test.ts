import { expect, it } from 'vitest';
import { coolDownMs, longestAskedMs } from '../../../src/models/routing/cool-down.ts';

const now = Date.parse('2026-05-04T12:00:00Z');
const pause = (failures: number, retryAfter?: string, chance = 0): number => coolDownMs({ retryAfter }, { failures, now, chance });

it('doubles with each failure in a row, up to a maximum', () => {
  expect([1, 2, 3, 4, 5, 500].map((failures) => pause(failures))).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
});

it.each([
  ['7', 7_000],
  ['0', 0],
  ['Mon, 04 May 2026 12:00:30 GMT', 30_000],
  ['Mon, 04 May 2026 11:00:00 GMT', 0],
  ['86400', longestAskedMs],
  ['soon', 5_000],
])('waits as long as Retry-After asks for: %s', (retryAfter, expected) => {
  expect(pause(1, retryAfter)).toBe(expected);
});

it('adds up to a quarter by chance, and never comes back before it was asked to', () => {
  expect(pause(1, undefined, 0.5)).toBe(5_625);
  expect(pause(1, '8', 0.5)).toBe(9_000);
});
