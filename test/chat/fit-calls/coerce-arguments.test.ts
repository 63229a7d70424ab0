import { describe, expect, it } from 'vitest';
import { coerceArguments } from '../../../src/chat/fit-calls/coerce-arguments.ts';
import type { JsonObject, JsonValue } from '../../../src/shared/json/json.ts';
import { ExactNumber } from '../../../src/shared/json/exact-number.ts';

const list = (items: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'array', items, ...more });

const numbers = { type: 'object', properties: { id: { type: 'integer' }, ids: { type: 'array', items: { type: 'number' } } } };

it.each([
  ['9007199254740993', '9007199254740993'],
  ['-12345678901234567', '-12345678901234567'],
  ['0009007199254740993', '9007199254740993'],
])('the text %s is the number with these digits', (text, digits) => {
  expect(JSON.stringify(coerceArguments({ id: text, ids: [text] }, numbers).args)).toBe(`{"id":${digits},"ids":[${digits}]}`);
});

it('a text whose number has no end as a JavaScript number stays text', () => {
  expect(coerceArguments({ id: '1e400', ids: ['1e400'] }, numbers)).toEqual({ args: { id: '1e400', ids: ['1e400'] }, changes: [] });
});

it('a number becomes text with its digits, and is told from its neighbours in choices', () => {
  const schema = {
    type: 'object',
    properties: {
      name: { type: 'string' },
      list: { type: 'array', items: { type: 'integer' } },
      pick: { anyOf: [{ const: 9007199254740992 }, { type: 'string' }] },
    },
  };
  const number = new ExactNumber('9007199254740993');
  expect(coerceArguments({ name: number, list: number, pick: number }, schema).args).toEqual({
    name: '9007199254740993',
    list: [number],
    pick: '9007199254740993',
  });
});

it('an object that fits one of several kinds stays as it is, also where the type stands beside them', () => {
  const kinds = [{ additionalProperties: { type: 'string' } }, { properties: { tags: { type: 'array', items: { type: 'string' } } } }];
  const schema = { type: 'object', properties: { a: { type: 'object', anyOf: kinds } } };
  expect(coerceArguments({ a: { tags: 'x' } }, schema)).toEqual({ args: { a: { tags: 'x' } }, changes: [] });
});

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

it('an unknown argument stays, because names are settled before', () => {
  expect(coerceArguments({ a: 1 }, { type: 'object', properties: {} })).toEqual({ args: { a: 1 }, changes: [] });
});

describe('a value for which there are several schemas', () => {
  const integer = { type: 'integer' };
  const fitted = (schema: JsonObject, value: JsonValue, $defs: JsonObject = {}): unknown =>
    coerceArguments({ p: value }, { type: 'object', properties: { p: schema }, required: ['p'], $defs }).args['p'];

  it.each<[string, JsonObject]>([
    ['anyOf', list({ anyOf: [integer, list(integer)] })],
    ['the list first', list({ oneOf: [list(integer), integer] })],
    ['references', list({ anyOf: [{ $ref: '#/$defs/One' }, { $ref: '#/$defs/Many' }] })],
    ['parts', list({ anyOf: [{ allOf: [integer] }, list(integer)] })],
    ['whole lists', { anyOf: [list(list(integer)), list({ anyOf: [integer, list(integer)] })] }],
  ])('stays as it is where it fits one of them: %s', (_, schema) => {
    const $defs = { One: integer, Many: list(integer) };
    expect(fitted(schema, [185, [222, 259]], $defs)).toEqual([185, [222, 259]]);
  });

  it.each<[string, JsonObject, JsonValue, JsonValue]>([
    ['texts for numbers', list({ anyOf: [integer, list(integer)] }), ['185', ['222', 259]], [185, [222, 259]]],
    ['a number as text, not a list of it', { anyOf: [list(integer), integer] }, '5', 5],
    ['a word that is none of the choices', { anyOf: [{ type: 'string', enum: ['all'] }, integer] }, '5', 5],
    ['a single value for a list or nothing', { anyOf: [list(integer), { type: 'null' }] }, 5, [5]],
    ['JSON text', { anyOf: [integer, { type: 'object', properties: { a: integer }, required: ['a'] }] }, '{"a": "1"}', { a: 1 }],
  ])('is fitted to the first that takes it: %s', (_, schema, value, expected) => {
    expect(fitted(schema, value)).toEqual(expected);
  });

  it('costs a bounded number of steps, and no stack, however the schemas lie within each other', () => {
    const Self: JsonObject = { anyOf: [{ $ref: '#/$defs/Self' }, { $ref: '#/$defs/Self' }] };
    expect(fitted({ $ref: '#/$defs/Self' }, 'x', { Self })).toBe('x');
    const Tree: JsonObject = {
      anyOf: Array.from({ length: 8 }, (_, n) => ({
        type: 'object',
        properties: { next: { $ref: '#/$defs/Tree' }, [`only${n}`]: integer },
        required: [`only${n}`],
      })),
    };
    let deep: JsonObject = { n: '1' };
    for (let depth = 0; depth < 60; depth++) deep = { next: deep };
    expect(fitted({ $ref: '#/$defs/Tree' }, deep, { Tree })).toEqual(deep);
  });
});

describe('null', () => {
  it.each<[string, JsonObject]>([
    ['a type', { type: ['integer', 'null'] }],
    ['a choice', { enum: ['a', null] }],
    ['a constant', { const: null }],
    ['a reference', { $ref: '#/$defs/Nothing' }],
    ['one of several schemas', { anyOf: [{ type: 'string' }, { $ref: '#/$defs/Nothing' }] }],
    ['a part', { allOf: [{ type: ['string', 'null'] }] }],
    ['nothing at all', { description: 'Anything' }],
  ])('is kept where %s allows it, required or not, with a default or without', (_, schema) => {
    const $defs = { Nothing: { type: 'null' } };
    for (const required of [[], ['p']])
      for (const more of [{}, { default: 1 }]) {
        const properties = { p: { ...schema, ...more } };
        expect(coerceArguments({ p: null }, { type: 'object', properties, required, $defs })).toEqual({ args: { p: null }, changes: [] });
      }
  });

  it.each<[string, JsonObject]>([
    ['its type', { type: 'integer' }],
    ['its choices', { enum: ['a', 'b'] }],
    ['each of several schemas', { anyOf: [{ type: 'string' }, { type: 'integer' }] }],
    ['its parts', { allOf: [{ type: 'string' }] }],
  ])('is an optional argument that was left out where %s forbids it', (_, schema) => {
    expect(coerceArguments({ p: null }, { type: 'object', properties: { p: schema } }).args).toEqual({});
  });
});

describe('a required argument that has a default', () => {
  const schema: JsonObject = {
    type: 'object',
    properties: {
      size: { type: 'integer', default: 5 },
      inner: { type: 'object', properties: { deep: { type: 'boolean', default: false } }, required: ['deep'] },
      wrong: { type: 'integer', default: 'many' },
      optional: { type: 'integer', default: 9 },
    },
    required: ['size', 'wrong'],
  };

  it('is filled in where it was left out, within objects too, and the change is told', () => {
    expect(coerceArguments({ inner: {} }, schema)).toEqual({
      args: { inner: { deep: false }, size: 5 },
      changes: ['inner.deep: left out, so its default false is used', 'size: left out, so its default 5 is used'],
    });
    expect(coerceArguments({ size: null, inner: { deep: true } }, schema).args).toEqual({ inner: { deep: true }, size: 5 });
    expect(coerceArguments({ size: 7 }, schema).args).toEqual({ size: 7 });
  });
});

describe('the work is bounded', () => {
  /** The schema, with a count of how often it is looked at. */
  function counted(schema: JsonObject): { schema: JsonObject; looks: () => number } {
    let looks = 0;
    const proxies = new WeakMap<object, object>();
    const wrap = <Value>(value: Value): Value => {
      if (typeof value !== 'object' || value === null) return value;
      const known = proxies.get(value);
      if (known !== undefined) return known as Value;
      const proxy = new Proxy(value, {
        get(target, key) {
          looks += 1;
          return wrap(Reflect.get(target, key) as unknown);
        },
        getOwnPropertyDescriptor(target, key) {
          looks += 1;
          return Reflect.getOwnPropertyDescriptor(target, key);
        },
      });
      proxies.set(value, proxy);
      return proxy;
    };
    return { schema: wrap(schema), looks: () => looks };
  }

  const count = 10_000;
  const texts = Array.from({ length: 2_000 }, (_, index) => `choice${index}`);
  const branches = texts.map((text) => ({ properties: { kind: { const: text }, a: {} } }));
  const manyObjects = Array.from({ length: count }, (_, a) => ({ a }));
  const manyTexts = Array.from({ length: count }, (_, index) => `t${index}`);

  it.each<[what: string, items: JsonObject, values: JsonValue[]]>([
    ['long choices in a branch', { anyOf: [{ enum: texts }, { type: 'integer' }] }, manyTexts],
    ['many branches beside properties', { properties: {}, anyOf: texts.map(() => ({ type: 'integer' })) }, manyTexts],
    ['many kinds of objects', { type: 'object', anyOf: branches }, manyObjects],
    ['many branches', { anyOf: branches.map((branch) => ({ ...branch, type: 'object' })) }, manyObjects],
    ['many required names', { type: 'object', properties: {}, required: texts }, manyObjects],
  ])('with %s', (_, items, values) => {
    const { schema, looks } = counted({ type: 'object', properties: { p: { type: 'array', items } } });
    coerceArguments({ p: values }, schema);
    // A hundred looks a value, and as much again for the budget; without it there are thousands a value.
    expect(looks()).toBeLessThan(100 * count + 1_000_000);
  });

  it('where a large default would stand in each item of a list', () => {
    const items = { type: 'object', properties: { a: { default: 'x'.repeat(100_000) } }, required: ['a'] };
    const { args } = coerceArguments({ p: Array.from({ length: 500 }, () => ({})) }, { properties: { p: { type: 'array', items } } });
    expect(JSON.stringify(args).length).toBeLessThan(2_000_000);
    expect(JSON.stringify(args)).toContain('xxx');
  });

  it('where many values change below a long key', () => {
    const key = 'k'.repeat(10_000);
    const schema = { properties: { [key]: { type: 'array', items: { type: 'integer' } } } };
    const { args, changes } = coerceArguments({ [key]: Array.from({ length: 1_000 }, () => '5') }, schema);
    expect((args[key] as JsonValue[]).every((value) => value === 5)).toBe(true);
    expect(changes.join('').length).toBeLessThan(50_000);
  });
});

describe('a choice that is written in another case', () => {
  const choices = { type: 'string', enum: ['low', 'High', 'mid range'] };
  const fitted = (value: JsonValue, schema: JsonObject) =>
    coerceArguments({ level: value }, { type: 'object', properties: { level: schema } });

  it.each<[value: JsonValue, schema: JsonObject, expected: JsonValue]>([
    ['LOW', choices, 'low'],
    [' high ', choices, 'High'],
    [['HIGH', 'low'], { type: 'array', items: choices }, ['High', 'low']],
    ['Low', { anyOf: [choices, { type: 'null' }] }, 'low'],
    ['ON', { const: 'on' }, 'on'],
  ])('is that choice: %j for %j', (value, schema, expected) => {
    const { args, changes } = fitted(value, schema);
    expect(args).toEqual({ level: expected });
    expect(changes).toHaveLength(1);
  });

  it.each<[value: JsonValue, schema: JsonObject]>([
    ['Mid_Range', choices],
    ['lowest', choices],
    ['ABC', { enum: ['abc', 'Abc'] }],
    ['abc', { enum: ['abc', 'ABC'] }],
    ['LOW', { type: 'string' }],
  ])('is left alone where it is none or not the only one: %j for %j', (value, schema) => {
    expect(fitted(value, schema)).toEqual({ args: { level: value }, changes: [] });
  });

  it('costs no more than its budget', () => {
    const many = { type: 'array', items: { enum: Array.from({ length: 10_000 }, (_, index) => `choice ${index}`) } };
    const values = Array.from({ length: 10_000 }, () => 'CHOICE 9999');
    const { args } = fitted(values, many);
    expect((args['level'] as string[]).filter((value) => value === 'choice 9999').length).toBeLessThan(100);
  });
});
