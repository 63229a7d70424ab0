import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { containsText } from '../../../src/chat/parse-tool-calls/contains-text.ts';

const letters = (constraints: { minLength?: number; maxLength: number }): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom('a', 'b'), ...constraints });

test('finds what String.prototype.includes finds', () => {
  fc.assert(
    fc.property(letters({ maxLength: 60 }), letters({ maxLength: 14 }), (text, wanted) => {
      expect(containsText(text, wanted)).toBe(text.includes(wanted));
    }),
    { numRuns: 2_000 },
  );
});

test('finds what stands in a text', () => {
  fc.assert(
    fc.property(
      letters({ maxLength: 40 }),
      letters({ minLength: 1, maxLength: 30 }),
      letters({ maxLength: 40 }),
      (before, wanted, after) => {
        expect(containsText(before + wanted + after, wanted)).toBe(true);
      },
    ),
  );
});

test('comes to an end where a text repeats itself', () => {
  const text = 'a'.repeat(4_000_000);
  const half = 'a'.repeat(50_000);
  // The engine's own search takes more than a minute for this.
  expect(containsText(text, `${half}b${half}`)).toBe(false);
  expect(containsText(`${text}b${half}`, `${half}b${half}`)).toBe(true);
});
