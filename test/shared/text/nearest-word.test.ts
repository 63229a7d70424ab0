import { expect, it } from 'vitest';
import { nearestWord } from '../../../src/shared/text/nearest-word.ts';
import { countSteps } from '../../_support/count-steps.ts';

it.each<[string, string[], string, number]>([
  ['get_wether', ['get_time', 'get_weather', 'get_whether'], 'get_weather', 1],
  ['SPEC', ['kind', 'spec'], 'spec', 0],
  ['b', ['a', 'c'], 'a', 1],
  ['', ['abc', 'de'], 'de', 2],
  ['kitten', ['sitting'], 'sitting', 3],
  ['anything', [''], '', 8],
])('of words near to %j in %j it is %j, with %i changes', (word, candidates, nearest, changes) => {
  expect(nearestWord(word, candidates)).toEqual({ word: nearest, changes });
});

/** So different that none is out of the question by its length. */
const longNames = (count: number, length: number): string[] =>
  Array.from({ length: count }, (_, index) => 'y'.repeat(length - 5) + (10_000 + index));

it('ten thousand long names take hardly longer than a thousand', () => {
  const stepsFor = (names: string[]): number => countSteps(() => nearestWord('x'.repeat(200), names));
  // Control: a few take their part.
  expect(stepsFor(longNames(10, 60))).toBeGreaterThan(10 * 60 * 60);
  expect(stepsFor(longNames(10_000, 1_000))).toBeLessThan(1_500_000);
});
