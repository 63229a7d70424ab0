import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isJsonObject } from '../../../../src/shared/json/json.ts';
import { cutSchema } from '../../../../src/tools/catalog/cut/cut-schema.ts';
import { anyValues, fitting, functionSchemas, samplesOf } from '../../../_support/arbitrary-schemas.ts';

describe('a cut schema', () => {
  it('keeps to its characters, is a schema, is the same each time, and takes whatever fits the whole', () => {
    let fitCount = 0;
    const rounds = 300;
    const ajv = new Ajv2020({ strict: false, logger: false });
    fc.assert(
      fc.property(
        functionSchemas,
        fc.array(anyValues, { maxLength: 5 }),
        fc.integer({ min: 150, max: 900 }),
        (whole, given, characters) => {
          const before = JSON.stringify(whole);
          const cut = cutSchema(whole, characters);
          expect(JSON.stringify(cut.schema).length).toBeLessThanOrEqual(characters);
          expect(cutSchema(whole, characters)).toEqual(cut);
          expect(JSON.stringify(whole), 'the whole is not changed').toBe(before);
          expect(ajv.validateSchema(cut.schema) || before.length <= characters).toBe(true);
          const fitsWhole = fitting(whole);
          const fitsCut = fitting(cut.schema);
          for (const value of [...given, ...samplesOf(whole)]) {
            if (!isJsonObject(value) || !fitsWhole(value)) continue;
            fitCount += 1;
            expect([value, fitsCut(value)]).toEqual([value, true]);
          }
        },
      ),
      { numRuns: rounds },
    );
    expect(fitCount, 'enough values fit to say something').toBeGreaterThan(rounds);
  });
});
