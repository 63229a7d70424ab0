import { expect, it } from 'vitest';
import { ExactNumber } from '../../src/shared/json/exact-number.ts';
import type { JsonValue } from '../../src/shared/json/json.ts';
import { parseJson } from '../../src/shared/json/parse-exactly.ts';
import { attachExactNumbers, detachExactNumbers } from '../../src/workers/exact-numbers.ts';

it.each([
  '9007199254740993',
  '[9007199254740993]',
  '{"a":{"b":[1,9007199254740993,{"__proto__x":1e400}]},"c":0.12345678901234567890}',
  '{"a":1}',
])('the numbers of %s pass from one thread to another', (text) => {
  const detached = structuredClone(detachExactNumbers(parseJson(text) ?? null));
  expect(JSON.stringify(attachExactNumbers(detached.value, detached.numbers))).toBe(text);
});

it('a vector of many measurements becomes JavaScript numbers', () => {
  const measured = '0.12345678901234567890';
  const { value, numbers } = detachExactNumbers(parseJson(`[${Array.from({ length: 60_000 }, () => measured).join()}]`) ?? null);
  expect(numbers).toHaveLength(50_000);
  expect(value).toEqual(Array.from({ length: 60_000 }, () => Number(measured)));
});

it('deeply nested numbers are placed as far as their paths are short', () => {
  const depth = 200;
  const list = Array.from({ length: 5_000 }, () => new ExactNumber('12345678901234567890'));
  let deep: JsonValue = list;
  for (let level = 0; level < depth; level += 1) deep = { a: deep };
  const { numbers } = detachExactNumbers(deep);
  expect(numbers.length).toBeGreaterThan(100);
  expect(numbers.reduce((sum, [path]) => sum + path.length, 0)).toBeLessThanOrEqual(100_000);
});
