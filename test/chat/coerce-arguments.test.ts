import { describe, expect, it } from 'vitest';
import { coerceArguments } from '../../src/chat/coerce-arguments.ts';
import type { JsonObject, JsonValue } from '../../src/core/json.ts';

const list = (items: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'array', items, ...more });

describe('one value where a list is asked for', () => {
  it.each<[string, JsonObject, JsonValue, JsonValue]>([
    ['a text', list({ type: 'string' }), 'a', ['a']],
    ['a text with commas, which may belong to it', list({ type: 'string' }), 'a,b', ['a,b']],
    ['a number', list({ type: 'integer' }), 5, [5]],
    ['a boolean', list({ type: 'boolean' }), false, [false]],
    ['a number as text', list({ type: 'integer' }), '5', [5]],
    ['a number for texts', list({ type: 'string' }), 5, ['5']],
    ['where null may stand too', { type: ['array', 'null'], items: { type: 'string' } }, 'a', ['a']],
    ['as one of several schemas', { anyOf: [list({ type: 'string' }), { type: 'null' }] }, 'a', ['a']],
    ['a list as JSON text is that list', list({ type: 'integer' }), '[1,"2"]', [1, 2]],
  ])('%s is wrapped', (_, schema, value, expected) => {
    const { args, changes } = coerceArguments({ p: value }, { type: 'object', properties: { p: schema } });
    expect(args).toEqual({ p: expected });
    expect(changes).not.toEqual([]);
  });

  it.each<[string, JsonObject, JsonValue]>([
    ['a list', list({ type: 'string' }), ['a']],
    ['what may stand by itself', { anyOf: [{ type: 'string' }, list({ type: 'string' })] }, 'a'],
    ['a number that may stand by itself', { type: ['integer', 'array'] }, 5],
    ['an empty text', list({ type: 'string' }), ''],
    ['damaged JSON', list({ type: 'string' }), '["a",'],
    ['an object', list({ type: 'object' }), { a: 1 }],
    ['a text where no list is asked for', { type: 'string' }, 'a'],
    ['a text where nothing is said', {}, 'a'],
  ])('%s stays', (_, schema, value) => {
    expect(coerceArguments({ p: value }, { type: 'object', properties: { p: schema }, required: ['p'] })).toEqual({
      args: { p: value },
      changes: [],
    });
  });
});

it('what a definition of the function describes is fitted as well, however often it refers to itself', () => {
  const Node = {
    type: 'object',
    properties: {
      size: { type: 'integer' },
      note: { type: 'string' },
      next: { $ref: '#/$defs/Node' },
      all: { type: 'array', items: { $ref: '#/$defs/Node' } },
    },
  };
  const schema: JsonObject = {
    type: 'object',
    properties: { root: { $ref: '#/$defs/Node' }, odd: { $ref: '#/$defs/Odd' } },
    $defs: { Node, Odd: { $ref: '#/$defs/Odd' } },
  };
  const { args } = coerceArguments({ root: { size: '1', next: { size: '2', note: null }, all: [{ size: '3' }] }, odd: 'x' }, schema);
  expect(args).toEqual({ root: { size: 1, next: { size: 2 }, all: [{ size: 3 }] }, odd: 'x' });
});

describe('an object of one of several kinds', () => {
  const kind = (name: string, fields: JsonObject): JsonObject => ({ type: 'object', properties: { kind: { const: name }, ...fields } });
  const pets = {
    anyOf: [kind('cat', { meows: { type: 'integer' } }), kind('dog', { barks: { type: 'boolean' }, meows: { type: 'string' } })],
  };
  const fitted = (pet: JsonObject): unknown => coerceArguments({ pet }, { type: 'object', properties: { pet: pets } }).args['pet'];

  it('is fitted to the kind that it says it is', () => {
    expect(fitted({ kind: 'cat', meows: '3' })).toEqual({ kind: 'cat', meows: 3 });
    expect(fitted({ kind: 'dog', barks: 'true', meows: '3' })).toEqual({ kind: 'dog', barks: true, meows: '3' });
  });

  it('stays as it is when it is none of them, or does not say which', () => {
    expect(fitted({ kind: 'fish', meows: '3' })).toEqual({ kind: 'fish', meows: '3' });
    expect(fitted({ meows: '3' })).toEqual({ meows: '3' });
  });
});

describe('an argument that stands not among the properties of the root', () => {
  it.each<[string, JsonObject]>([
    ['in a choice', { oneOf: [{ properties: { a: { type: 'integer' } } }] }],
    ['in a part', { allOf: [{ properties: { a: { type: 'integer' } }, required: ['a'] }] }],
    ['by a pattern', { patternProperties: { '^a': { type: 'integer' } } }],
    ['by reference', { $ref: '#/$defs/all', $defs: { all: { properties: { a: { type: 'integer' } } } } }],
    ['only among what is required', { required: ['a'] }],
  ])('is kept where it is named %s', (_, schema) => {
    expect(coerceArguments({ a: 1 }, { type: 'object', properties: {}, ...schema }).args).toEqual({ a: 1 });
  });

  it('is left out where nothing names it', () => {
    expect(coerceArguments({ a: 1 }, { type: 'object', properties: {} }).args).toEqual({});
  });
});
