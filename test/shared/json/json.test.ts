import { expect, it } from 'vitest';
import { hasMoreEntriesThan, isDeeperThan } from '../../../src/shared/json/json.ts';

function nested(levels: number, wrap: (value: unknown) => unknown): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = wrap(value);
  return value;
}

it.each<[string, unknown, number, boolean]>([
  ['a number', 1, 0, false],
  ['null', null, 0, false],
  ['nothing', undefined, 0, false],
  ['an empty object at no level', {}, 0, true],
  ['an empty list below none', [], -1, true],
  ['an empty object', {}, 1, false],
  ['an object in a list', [{}], 1, true],
  ['an object in a list, allowed', [{}], 2, false],
  ['nulls and texts', [null, 'a', { a: null, b: 'c' }], 2, false],
  ['the last of many', { a: 1, b: [1, 2], c: [[[1]]] }, 3, true],
  ['exactly as many levels', nested(64, (value) => ({ a: value })), 64, false],
  ['one more', nested(65, (value) => [value]), 64, true],
  ['more than a recursion bears', nested(1_000_000, (value) => [value]), 64, true],
  ['as many as a recursion does not bear', nested(100_000, (value) => [value]), 100_000, false],
  ['a key of every prototype', JSON.parse('{"__proto__":{"constructor":{}}}'), 2, true],
])('%s (%#)', (_name, value, maxDepth, expected) => {
  expect(isDeeperThan(value, maxDepth)).toBe(expected);
});

it.each<[string, unknown, number, boolean]>([
  ['a number', 1, 0, false],
  ['an empty list', [], 0, false],
  ['numbers of a list', [1, 2, 3], 3, false],
  ['one more', [1, 2, 3, 4], 3, true],
  ['fields', { a: 1, b: null }, 1, true],
  ['what lies in lists and objects', [{ a: [1, 2] }, 'text'], 5, false],
  ['one more in them', [{ a: [1, 2, 3] }, 'text'], 5, true],
  ['a million levels', nested(1_000_000, (value) => [value]), 1_000_000, false],
])('entries: %s (%#)', (_name, value, maxEntries, expected) => {
  expect(hasMoreEntriesThan(value, maxEntries)).toBe(expected);
});
