import { expect, it } from 'vitest';
import { slicesOf } from '../../../src/chat/modes/slices-of.ts';

it('a long text comes in parts, all but the first for a later turn of the event loop, and no character is cut in two', () => {
  const text = `a${'😀'.repeat(50_000)}`;
  const slices = [...slicesOf(text)];
  expect(slices.map((slice) => slice.text).join('')).toBe(text);
  expect(slices.length).toBeGreaterThan(5);
  expect(slices.every((slice) => slice.text.isWellFormed())).toBe(true);
  expect(slices.map((slice) => slice.isLater)).toEqual(slices.map((_, index) => index > 0));
});

it('a short text is one part, and an empty one is nothing', () => {
  expect([...slicesOf('short')]).toEqual([{ text: 'short', isLater: false }]);
  expect([...slicesOf('')]).toEqual([]);
});
