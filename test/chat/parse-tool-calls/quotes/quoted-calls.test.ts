import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { isFound, searchAny } from '../../../../src/chat/parse-tool-calls/quotes/quoted-calls.ts';

const isInAny = (texts: readonly string[], wanted: string): boolean => isFound(searchAny(texts, wanted));

const letters = (constraints: { minLength?: number; maxLength: number }): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom('a', 'b'), ...constraints });

it('finds what String.prototype.includes finds', () => {
  fc.assert(
    fc.property(letters({ maxLength: 60 }), letters({ maxLength: 14 }), (text, wanted) => {
      expect(isInAny([text], wanted)).toBe(text.includes(wanted));
    }),
    { numRuns: 2_000 },
  );
});

it('finds what stands in a text', () => {
  fc.assert(
    fc.property(
      letters({ maxLength: 40 }),
      letters({ minLength: 1, maxLength: 30 }),
      letters({ maxLength: 40 }),
      (before, wanted, after) => {
        expect(isInAny(['', before + wanted + after], wanted)).toBe(true);
      },
    ),
  );
});

it('finds what begins in one part of a long text and ends in the next', () => {
  // A search yields after 256 Ki characters.
  for (let before = 256 * 1024 - 30; before <= 256 * 1024 + 1; before += 1) {
    const text = `${'a'.repeat(before)}bababcababab${'c'.repeat(20)}`;
    for (const wanted of ['babab', 'bababcababab', 'abababc'.slice(1), 'c'.repeat(20), 'b']) expect(isInAny([text], wanted)).toBe(true);
    for (const wanted of ['bababb', 'bababcabababa', 'd']) expect(isInAny([text], wanted)).toBe(false);
  }
});

it('comes to an end where a text repeats itself', () => {
  const text = 'a'.repeat(4_000_000);
  const half = 'a'.repeat(50_000);
  // The engine's own search takes more than a minute for this.
  expect(isInAny([text], `${half}b${half}`)).toBe(false);
  expect(isInAny([`${text}b${half}`], `${half}b${half}`)).toBe(true);
});

it('prepares what is looked for once for all texts', () => {
  const texts = Array.from({ length: 200_000 }, () => 'aaaaaaaaa');
  // Prepared for each text, this would be ten thousand million steps.
  expect(isInAny(texts, `${'a'.repeat(50_000)}b`)).toBe(false);
});
