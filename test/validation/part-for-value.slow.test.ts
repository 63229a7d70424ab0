import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileSchema } from '../../src/validation/compile-schema.ts';
import { partForValue } from '../../src/validation/part-for-value.ts';
import { anyValues, fitting, functionSchemas, samplesOf } from '../_support/arbitrary-schemas.ts';

describe('the part of a schema for a value', () => {
  it('takes and refuses the value as the whole does', () => {
    const seen = { taken: 0, refused: 0 };
    fc.assert(
      fc.property(functionSchemas, fc.array(anyValues, { maxLength: 5 }), (whole, given) => {
        // A reference that leads nowhere costs the whole schema, but only those parts that need it.
        if (compileSchema(whole) === undefined) return;
        const fits = fitting(whole);
        for (const value of [...given, ...samplesOf(whole)]) {
          const part = partForValue(whole, value);
          if (part.type !== 'part') continue;
          const isTaken = fits(value);
          seen[isTaken ? 'taken' : 'refused'] += 1;
          expect([value, fitting(part.schema)(value)]).toEqual([value, isTaken]);
        }
      }),
      { numRuns: 300 },
    );
    expect(Math.min(seen.taken, seen.refused), 'enough of both to say something').toBeGreaterThan(150);
  });
});
