import { describe, expect, it } from 'vitest';
import { compileSchema } from '../../src/validation/compile-schema.ts';

describe('a multiple is one in decimals', () => {
  it.each<[value: number, factor: number, isMultiple: boolean]>([
    [19.99, 0.01, true],
    [0.07, 0.01, true],
    [-0.3, 0.1, true],
    [123_456_789.01, 0.01, true],
    [1e300, 1e-300, true],
    [5e-324, 5e-324, true],
    [4.35, 0.05, true],
    [9, 3, true],
    [1e21, 7e20, false],
    [19.995, 0.01, false],
    [123_456_789.015, 0.01, false],
    [0.35, 0.1, false],
    [7, 3, false],
    [1, 0, false],
  ])('%d of %d: %s', (value, factor, isMultiple) => {
    expect(compileSchema({ multipleOf: factor })?.(value)).toEqual(isMultiple ? [] : [`arguments: must be multiple of ${factor}`]);
  });
});
