import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/shared/json/json.ts';
import { checkValue } from '../../src/validation/check-value.ts';
import { partForValue } from '../../src/validation/part-for-value.ts';

const texts = Object.fromEntries(
  Array.from({ length: 3_000 }, (_, index) => [`text_${index}`, { type: 'string', description: 'Long words about it. '.repeat(5) }]),
);
const node: JsonObject = {
  type: 'object',
  properties: { ...texts, size: { type: 'integer', minimum: 1 }, children: { type: 'array', items: { $ref: '#/$defs/Node' } } },
  required: ['size'],
  additionalProperties: false,
};
const whole: JsonObject = { type: 'object', properties: { root: { $ref: '#/$defs/Node' } }, required: ['root'], $defs: { Node: node } };

describe('a schema that is too large to be compiled', () => {
  it.each([
    [{ root: { size: 1, children: [{ size: 2 }] } }, []],
    [{ root: { size: 1, children: [{ size: 2, children: [{ size: 'two' }] }] } }, ['root.children.0.children.0.size: must be integer']],
    [{ root: { size: 0, other: 1 } }, ['root.other: is not an argument of this function', 'root.size: must be >= 1']],
    [{}, ['root: is required']],
  ])('is checked as far as it concerns %j', async (value, errors) => {
    const check = await checkValue(value, whole, { caller: 'ada' });
    expect(check.type === 'faulty' ? check.errors.toSorted() : []).toEqual(errors);
  });

  it('leaves a value with too many members unchecked', async () => {
    const children = Array.from({ length: 60_000 }, () => ({ size: 1 }));
    const check = await checkValue({ root: { size: 1, children } }, whole, { caller: 'ada' });
    expect(check).toEqual({ type: 'too_large' });
  });

  it('takes any value that cannot be checked without the whole', async () => {
    const odd: JsonObject = { type: 'object', patternProperties: { '^x': { $ref: '#/$defs/Node' } }, $defs: { Node: node } };
    expect(partForValue(odd, { x: 1 })).toEqual({ type: 'inseparable' });
    expect(await checkValue({ x: 1 }, odd, { caller: 'ada' })).toEqual({ type: 'fits' });
  });
});
