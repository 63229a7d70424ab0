import { expect, test } from 'vitest';
import { slicesOf } from '../../../src/chat/modes/slices-of.ts';

test('a long text comes in parts, with a turn of the event loop between them and no character cut in two', async () => {
  let turns = 0;
  const timer = (): void => {
    turns += 1;
    next = setImmediate(timer);
  };
  let next = setImmediate(timer);
  const text = `a${'😀'.repeat(50_000)}`;
  const slices: string[] = [];
  for await (const slice of slicesOf(text)) slices.push(slice);
  clearImmediate(next);
  expect(slices.join('')).toBe(text);
  expect(slices.length).toBeGreaterThan(5);
  expect(slices.every((slice) => slice.isWellFormed())).toBe(true);
  expect(turns).toBeGreaterThanOrEqual(slices.length - 1);
});

test('a short text is not held up, and an empty one is nothing', async () => {
  expect(await Array.fromAsync(slicesOf('short'))).toEqual(['short']);
  expect(await Array.fromAsync(slicesOf(''))).toEqual([]);
});
