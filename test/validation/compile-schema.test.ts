import { expect, it } from 'vitest';
import type { JsonObject } from '../../src/shared/json/json.ts';
import { compileSchema } from '../../src/validation/compile-schema.ts';

const text = { type: 'string' };
const part = { type: 'object', properties: { a: text }, required: ['a'] };

it.each<[string, JsonObject]>([
  ['allOf', { allOf: [part], properties: { b: text }, additionalProperties: false }],
  ['a reference', { $ref: '#/$defs/part', $defs: { part }, properties: { b: text }, additionalProperties: false }],
])('takes what the parts of a closed object declare, and nothing else: %s', (_, schema) => {
  const findErrors = compileSchema(schema);
  expect(findErrors?.({ a: 'x', b: 'y' })).toEqual([]);
  expect(findErrors?.({ a: 'x', c: 'y' })).toEqual(['c: is not an argument of this function']);
  expect(findErrors?.({ b: 'y' })).toEqual(['a: is required']);
});

it('lets members have the names of keywords', () => {
  const properties = { allOf: text, additionalProperties: { const: false } };
  const findErrors = compileSchema({ type: 'object', properties, additionalProperties: false });
  expect(findErrors?.({ allOf: 'x', additionalProperties: false })).toEqual([]);
  expect(findErrors?.({ c: 1 })).toEqual(['c: is not an argument of this function']);
});
