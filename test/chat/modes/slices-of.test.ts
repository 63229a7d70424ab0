import { expect, it } from 'vitest';
import { slicesOf } from '../../../src/chat/modes/slices-of.ts';

it('splits a long text into parts, all but the first for a later tick of the event loop, without splitting a character', () => {
  const text = `a${'😀'.repeat(50_000)}`;
  const slices = [...slicesOf(text)];
  expect(slices.map((slice) => slice.text).join('')).toBe(text);
  expect(slices.length).toBeGreaterThan(5);
  expect(slices.every((slice) => slice.text.isWellFormed())).toBe(true);
  expect(slices.map((slice) => slice.isLater)).toEqual(slices.map((_, index) => index > 0));
});

it('returns a short text as one part, and none for an empty text', () => {
  expect([...slicesOf('short')]).toEqual([{ text: 'short', isLater: false }]);
  expect([...slicesOf('')]).toEqual([]);
});
