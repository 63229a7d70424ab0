import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { isDeeperThan } from '../../../src/shared/json/json.ts';
import { hasMoreValuesThan, isTextDeeperThan } from '../../../src/shared/json/json-depth.ts';

it.each<[string, number, boolean]>([
  ['1', 0, false],
  ['[]', 0, true],
  ['[]', 1, false],
  ['{"a":[{}]}', 2, true],
  ['{"a":[{}]}', 3, false],
  ['[[],[],[]]', 2, false],
  ['"[[[["', 0, false],
  [String.raw`["\"[[[", "\\", "\\\"[["]`, 1, false],
  [String.raw`["\\",[1]]`, 1, true],
  ['"never ends [[[', 0, false],
  [']]]][', 0, false],
])('%s is deeper than %d: %s', (text, depth, isDeeper) => expect(isTextDeeperThan(text, depth)).toBe(isDeeper));

it('it says of text what is said of its value', () => {
  const property = fc.property(fc.json({ maxDepth: 6 }), fc.integer({ min: 0, max: 7 }), (text, depth) => {
    expect(isTextDeeperThan(text, depth)).toBe(isDeeperThan(JSON.parse(text), depth));
  });
  fc.assert(property, { numRuns: 500 });
});

it.each<[string, number]>([
  ['[1,2,3]', 4],
  ['{"a":{"b":[]}}', 4],
  ['["a,b,[", "\\",{"]', 3],
  ['[[],[],[]]', 7],
])('%s holds %d values, texts and names not looked into', (text, values) => {
  expect([hasMoreValuesThan(text, values), hasMoreValuesThan(text, values - 1)]).toEqual([false, true]);
});
