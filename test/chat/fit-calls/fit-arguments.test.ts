import { describe, expect, it } from 'vitest';
import { fitArguments } from '../../../src/chat/fit-calls/fit-arguments.ts';
import type { FittedArguments } from '../../../src/chat/fit-calls/fit-arguments.ts';
import type { JsonObject, JsonValue } from '../../../src/shared/json/json.ts';
import { countSteps } from '../../_support/count-steps.ts';

const text = { type: 'string' };
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...more });
const list = (items: JsonValue): JsonObject => ({ type: 'array', items });
const filter = object({ before: text, author: text });

const kinds = [object({ kind: { const: 'all' }, force: text }), object({ kind: { const: 'some' }, before: text, author: text })];
/** More than are looked at in search of a kind, if each could tell it. */
const manyMembers = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`member${index}`, text]));
const pair = { type: 'array', prefixItems: [filter, object({ city: text, street: text })], items: false };

const writing = (args: JsonObject, schema: JsonObject): FittedArguments =>
  fitArguments(args, schema, { onlyReads: false, takesNothing: false });
const reading = (args: JsonObject, schema: JsonObject): FittedArguments =>
  fitArguments(args, schema, { onlyReads: true, takesNothing: false });

describe('an unknown argument', () => {
  it('keeps a call from running that may change something, with the nearest name and all known ones', () => {
    const { args, problems } = writing({ older_than: '2020' }, filter);
    expect(args).toEqual({});
    expect(problems).toEqual([
      "older_than: is not an argument of this function, the nearest is 'author'",
      'known arguments: before, author',
    ]);
  });

  it('is left out of a call that only reads, and the model is told', () => {
    const { args, notices, repairs, problems } = reading({ author: 'a', older_than: '2020' }, filter);
    expect(args).toEqual({ author: 'a' });
    expect(notices).toEqual(['Ignored because unknown: older_than. Known: before, author.']);
    expect(repairs).toEqual(['older_than: unknown argument left out']);
    expect(problems).toEqual([]);
  });

  it('is left out of any call in which every declared argument is given', () => {
    const { args, notices, problems } = writing({ before: '2020', author: 'a', zz: 1 }, filter);
    expect(args).toEqual({ before: '2020', author: 'a' });
    expect(notices).toEqual(['Ignored because unknown: zz. Known: before, author.']);
    expect(problems).toEqual([]);
  });

  it.each<[string, JsonObject, JsonObject]>([
    [
      'a default is not given',
      object({ before: text, size: { type: 'integer', default: 5 } }, { required: ['size'] }),
      { before: '1', zz: 1 },
    ],
    ['null for "left out" is not given', filter, { before: '1', author: null, zz: 1 }],
  ])('counts only what the model gave: %s', (_, schema, args) => {
    expect(writing(args, schema).problems).toHaveLength(2);
  });

  it.each<[string, JsonObject]>([
    ['one of several', { anyOf: kinds }],
    ['one of several or null', { anyOf: [{ oneOf: kinds }, { type: 'null' }] }],
    ['one of several beside members of all', object({ kind: text }, { oneOf: kinds })],
    ['one of several by reference', { oneOf: kinds.map((_, index) => ({ $ref: `#/$defs/${index}` })) }],
    ['one of several, each of parts', { oneOf: kinds.map((kind) => ({ allOf: [object({ kind: text }), kind] })) }],
    [
      'one of several, each of a reference and parts',
      { oneOf: kinds.map((_, index) => ({ $ref: '#/$defs/base', allOf: [{ $ref: `#/$defs/${index}` }] })) },
    ],
    ['one of several whose kind comes late', { oneOf: kinds.map((kind) => ({ allOf: [object(manyMembers), kind] })) }],
    ['one of several in a part', { allOf: [{ description: 'What' }, { oneOf: kinds }] }],
    ['one of several by a reference with a description', { $ref: '#/$defs/any', description: 'What' }],
  ])('is a member of another kind than the object says it is: %s', (_, target) => {
    const schema = object(
      { target },
      { $defs: { 0: kinds[0], 1: kinds[1], base: object({ kind: { enum: ['all', 'some'] } }), any: { oneOf: kinds } } },
    );
    const other = { target: { kind: 'all', before: '2020' } };
    expect(writing(other, schema).problems[0]).toContain('target.before: is not an argument');
    const own = { target: { kind: 'some', before: '2020', author: 'a' } };
    expect(writing(own, schema)).toMatchObject({ args: own, problems: [] });
    expect(writing({ target: { Kind: 'some', Before: '2020' } }, schema)).toMatchObject({
      args: { target: { kind: 'some', before: '2020' } },
      problems: [],
    });
  });

  it('is a member of another kind that a number tells apart', () => {
    const target = { oneOf: [object({ version: { const: 1 }, a: text }), object({ version: { const: 2 }, b: text, c: text })] };
    expect(writing({ target: { version: 2, a: 'x' } }, object({ target })).problems[0]).toContain('target.a: is not an argument');
    expect(writing({ target: { version: 2, b: 'x' } }, object({ target }))).toMatchObject({
      args: { target: { version: 2, b: 'x' } },
      problems: [],
    });
  });

  it.each<[string, JsonObject]>([
    ['a list or null', { anyOf: [pair, { type: 'null' }] }],
    ['a list or a text', { oneOf: [text, pair] }],
    ['a list of older drafts or null', { anyOf: [{ type: 'array', items: pair.prefixItems, additionalItems: false }, { type: 'null' }] }],
    ['a part', { allOf: [pair] }],
  ])('is looked for in each item of a tuple by its own schema: %s', (_, target) => {
    const args = { target: [{ before: '1' }, { city: 'x' }] };
    expect(writing(args, object({ target }))).toMatchObject({ args, notices: [], problems: [] });
    expect(writing({ target: [{ city: 'x' }, { before: '1' }] }, object({ target })).problems[0]).toContain('target[0].city: is not');
  });

  it('is none in the items of a list that may be any list', () => {
    const schema = object({ all: { anyOf: [list(filter), { type: 'array' }, { type: 'null' }] } });
    expect(writing({ all: [{ zz: 1 }] }, schema)).toMatchObject({ args: { all: [{ zz: 1 }] }, problems: [] });
  });

  it('counts null as given where it is a value', () => {
    const schema = object({ before: text, author: { type: ['string', 'null'] } });
    expect(writing({ before: '1', author: null, zz: 1 }, schema)).toMatchObject({ args: { before: '1', author: null }, problems: [] });
  });

  it.each<[string, JsonObject, JsonObject, string]>([
    ['in an object', object({ filter }), { filter: { older_than: 1 } }, 'filter.older_than'],
    ['in an item', object({ all: list(filter) }), { all: [{ before: '1', author: 'a' }, { older_than: 1 }] }, 'all[1].older_than'],
    ['in an item of a tuple', object({ all: { type: 'array', prefixItems: [text, filter] } }), { all: ['x', { zz: 1 }] }, 'all[1].zz'],
    ['in JSON text for an object', object({ filter }), { filter: '{"older_than": 1}' }, 'filter.older_than'],
    ['behind a reference', object({ filter: { $ref: '#/$defs/F' } }, { $defs: { F: filter } }), { filter: { zz: 1 } }, 'filter.zz'],
    [
      'behind another kind of reference',
      object({ filter: { $ref: '#/definitions/F' } }, { definitions: { F: filter } }),
      { filter: { zz: 1 } },
      'filter.zz',
    ],
    ['in an object or null', object({ filter: { anyOf: [filter, { type: 'null' }] } }), { filter: { zz: 1 } }, 'filter.zz'],
    ['in a list or null', object({ all: { anyOf: [list(filter), { type: 'null' }] } }), { all: [{ zz: 1 }] }, 'all[0].zz'],
    ['in a list or one object', object({ all: { oneOf: [list(filter), filter] } }), { all: [{ zz: 1 }] }, 'all[0].zz'],
    ['beside a pattern alone', { type: 'object', patternProperties: { '^x-': text } }, { zz: 1 }, 'zz'],
    ['beside a pattern and all names', object({ a: text }, { patternProperties: { '^x-': text } }), { a: 'a', zz: 1 }, 'zz'],
    ['in a value of a map', object({ all: { type: 'object', additionalProperties: filter } }), { all: { a: { zz: 1 } } }, 'all.a.zz'],
    ...['^x-', '^x-[a-z]+$', '^x-ab?$'].map((pattern): [string, JsonObject, JsonObject, string] => [
      `beside a pattern that it does not match: ${pattern}`,
      object({ limit: text }, { patternProperties: { [pattern]: text } }),
      { limt: '5' },
      'limt',
    ]),
  ])('is found %s', (_, schema, args, place) => {
    expect(writing(args, schema).problems[0]).toContain(`${place}: is not an argument of this function`);
    expect(reading(args, schema).notices[0]).toContain(`Ignored because unknown: ${place}. Known: `);
  });

  it('is named within bounds, however many there are and however long they are', () => {
    const args = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`${'x'.repeat(40)}${index}`, 1]));
    const schema = object(Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`${'y'.repeat(200)}${index}`, text])));
    const { problems } = writing(args, schema);
    expect(problems.length).toBeGreaterThan(1);
    expect(problems.join('').length).toBeLessThan(10_000);
    expect(problems.join('')).toContain('known arguments: y');
  });
});

describe('an argument is declared', () => {
  const a = object({ a: text });
  it.each<[string, JsonObject]>([
    ['by properties', object({ b: text, a: text })],
    ['only by being required', object({ b: text }, { required: ['a'] })],
    ['by a part', { allOf: [a, object({ b: text })] }],
    ['by a choice', { oneOf: [a, object({ b: text })] }],
    ['by a choice beside properties', object({ b: text }, { anyOf: [{ required: ['b'] }, a] })],
    ['by a reference', { $ref: '#/$defs/A', $defs: { A: { allOf: [{ $ref: '#/$defs/B' }] }, B: object({ a: text, b: text }) } }],
    ['by a reference to the whole', object({ b: text, inner: { $ref: '#' }, a: text })],
    // eslint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    ['under a condition', object({ b: text }, { if: { properties: { b: { const: 'x' } } }, then: a })],
    ['otherwise', object({ b: text }, { if: { properties: { b: { const: 'x' } } }, else: a })],
    ['by what another one needs', object({ b: text }, { dependentSchemas: { b: a } })],
    ['by a prefix', object({ b: text }, { patternProperties: { '^a': text } })],
    ['deep within choices', { anyOf: [object({ b: text }), { anyOf: [{ type: 'null' }, { allOf: [a] }] }] }],
  ])('%s', (_, schema) => {
    expect(writing({ a: 'x' }, schema)).toMatchObject({ args: { a: 'x' }, notices: [], problems: [] });
    expect(writing({ zz: 'x' }, schema).problems[0]).toContain('zz: is not an argument');
  });
});

it('a name that a pattern may match is left to validation', () => {
  for (const pattern of ['^[a-c]$', '^a?z', '^q|z']) {
    const schema = object({ b: text }, { patternProperties: { [pattern]: text } });
    for (const args of [{ a: 'x' }, { zz: 'x' }]) expect(writing(args, schema)).toMatchObject({ args, notices: [], problems: [] });
  }
});

describe('an object is sent as given', () => {
  it.each<[string, JsonObject]>([
    ['where nothing is declared', object({})],
    ['where nothing is said', {}],
    ['where more is allowed', object({ b: text }, { additionalProperties: true })],
    ['where more of a kind is allowed', object({ b: text }, { additionalProperties: { type: 'integer' } })],
    ['where a choice allows more', { anyOf: [object({ b: text }), object({ c: text }, { additionalProperties: true })] }],
    ['where one choice declares nothing', { anyOf: [object({ b: text }), { type: 'object' }] }],
    ['where a part allows more', { allOf: [object({ b: text }), { additionalProperties: {} }] }],
    ['where a reference leads elsewhere', { $ref: 'https://schemas.test/other.json' }],
  ])('%s, at the root and within', (_, schema) => {
    expect(writing({ zz: 1 }, schema)).toMatchObject({ args: { zz: 1 }, repairs: [], notices: [], problems: [] });
    expect(writing({ o: { zz: 1 } }, object({ o: schema }))).toMatchObject({ args: { o: { zz: 1 } }, notices: [], problems: [] });
  });

  it.each<[string, JsonObject]>([
    ['which are only texts', { anyOf: [filter, text, { enum: ['all'] }, { const: 1 }] }],
    ['which only require something', { ...filter, anyOf: [{ required: ['before'] }, { required: ['author'] }] }],
    ['which say nothing of their own', { ...filter, allOf: [{ description: 'A filter' }] }],
  ])('but not because of other choices %s', (_, schema) => {
    expect(writing({ o: { zz: 1 } }, object({ o: schema })).problems).toHaveLength(2);
  });

  it('but not where the function says that it takes none', () => {
    expect(writing({ zz: 1 }, object({}, { additionalProperties: false }))).toMatchObject({
      args: {},
      notices: ['Ignored because unknown: zz. It takes none.'],
      problems: [],
    });
  });
});

describe('a name that equals one unset argument apart from case, "_" and "-"', () => {
  const sizes = object({ limit: { type: 'integer' }, pageSize: { type: 'integer' } });

  it.each(['page_size', 'PageSize', 'page-size', 'PAGESIZE'])('is that argument: %s', (name) => {
    const { args, notices, repairs, problems } = writing({ [name]: '5' }, sizes);
    expect(args).toEqual({ pageSize: 5 });
    expect(notices).toEqual([`The argument '${name}' was read as 'pageSize'.`]);
    expect(repairs).toEqual([`${name}: read as pageSize`, 'pageSize: "5" read as 5']);
    expect(problems).toEqual([]);
  });

  it('is that argument at any depth, and what is in it is looked at too', () => {
    const schema = object({ mainFilter: filter });
    expect(writing({ main_filter: '{"Before": "1"}' }, schema)).toMatchObject({ args: { mainFilter: { before: '1' } }, problems: [] });
    expect(writing({ main_filter: { zz: 1 } }, schema).problems[0]).toContain('mainFilter.zz: is not an argument');
  });

  it('is found however many of the names around it are spelled otherwise', () => {
    const nest = (names: string[], inner: JsonObject): JsonObject => names.reduceRight((value, name) => ({ [name]: value }), inner);
    const schemaOf = (names: string[]): JsonObject => names.reduceRight((inner, name) => object({ [name]: inner }), filter);
    const [declared, given] = [
      ['level_1', 'level_2', 'level_3', 'level_4', 'level_5'],
      ['level1', 'level2', 'level3', 'level4', 'level5'],
    ];
    const schema = schemaOf(declared);
    expect(writing(nest(given, { Before: '1' }), schema)).toMatchObject({ args: nest(declared, { before: '1' }), problems: [] });
    expect(writing(nest(given, { zz: 1 }), schema).problems[0]).toContain('level_5.zz: is not an argument');
    const texts = given.reduceRight((inner, name) => JSON.stringify({ [name]: inner }), '{"zz": 1}');
    expect(writing(JSON.parse(texts) as JsonObject, schema).problems).not.toEqual([]);
  });

  it('comes before what is read as arguments within arguments', () => {
    expect(writing({ parameters: { q: 'x' } }, object({ Parameters: { type: 'object' } }))).toMatchObject({
      args: { Parameters: { q: 'x' } },
      problems: [],
    });
  });

  it.each<[string, JsonObject, JsonObject]>([
    ['it is set already', sizes, { pageSize: 1, page_size: 2 }],
    ['two names of the call equal it', sizes, { page_size: 1, 'page-size': 2 }],
    ['two unset arguments equal it', object({ pageSize: text, page_size: text, limit: text }), { pagesize: '1' }],
    ['it differs in more', sizes, { page_sise: 1 }],
  ])('is unknown where %s', (_, schema, args) => {
    expect(writing(args, schema).problems[0]).toContain('is not an argument of this function');
  });

  it('takes the place of a default', () => {
    const schema = object({ pageSize: { type: 'integer', default: 9 } }, { required: ['pageSize'] });
    expect(writing({ page_size: 5 }, schema).args).toEqual({ pageSize: 5 });
  });
});

describe('arguments within arguments', () => {
  it.each(['parameters', 'arguments'])('are those of the call: %s', (wrapper) => {
    for (const inner of [{ before: '1' }, '{"before": "1"}'])
      expect(writing({ [wrapper]: inner }, filter)).toMatchObject({ args: { before: '1' }, problems: [] });
    expect(writing({ [wrapper]: { before: '1' } }, filter).notices[0]).toContain(`no argument '${wrapper}'`);
  });

  it('are held to the rule', () => {
    expect(writing({ parameters: { older_than: 1 } }, filter).problems[0]).toContain('older_than: is not an argument');
  });

  it.each<[string, JsonObject, JsonObject]>([
    ['the function has an argument of that name', object({ parameters: { type: 'object' }, q: text }), { parameters: { q: 'x' } }],
    ['further arguments are allowed', object({ q: text }, { additionalProperties: true }), { parameters: { q: 'x' } }],
  ])('stay where %s', (_, schema, args) => {
    expect(writing(args, schema)).toMatchObject({ args, notices: [], problems: [] });
  });

  it('are not looked for beside others, or in what is no object', () => {
    for (const args of [{ parameters: { before: '1' }, author: 'a' }, { parameters: 5 }])
      expect(writing(args, filter).problems[0]).toContain('parameters: is not an argument');
  });
});

describe('the work is bounded', () => {
  it('for schemas that lead back to themselves', () => {
    const Self: JsonObject = { anyOf: [{ $ref: '#/$defs/Self' }, { allOf: [{ $ref: '#/$defs/Self' }, object({ a: text })] }] };
    const schema: JsonObject = { $ref: '#/$defs/Self', $defs: { Self } };
    expect(writing({ a: 'x' }, schema)).toMatchObject({ args: { a: 'x' }, problems: [] });
    expect(writing({ zz: 'x' }, schema).problems[0]).toContain('zz: is not an argument');
  });

  it('for long chains of references', () => {
    const entries = Array.from({ length: 20_000 }, (_, n): [string, JsonObject] => [`D${n}`, { allOf: [{ $ref: `#/$defs/D${n + 1}` }] }]);
    const schema: JsonObject = { $ref: '#/$defs/D0', $defs: { ...Object.fromEntries(entries), D20000: filter } };
    expect(writing({ zz: 1 }, schema).args).toEqual({ zz: 1 });
  });

  it('for many choices that lead to each other', () => {
    const names = Array.from({ length: 60 }, (_, n) => `K${n}`);
    const anyOf = names.map((name) => ({ $ref: `#/$defs/${name}` }));
    const $defs = Object.fromEntries(names.map((name) => [name, { anyOf: [...anyOf, object({ [name]: { $ref: '#/$defs/K0' } })] }]));
    let reads = 0;
    const counted = new Proxy($defs, {
      getOwnPropertyDescriptor(target, key) {
        reads += 1;
        return Reflect.getOwnPropertyDescriptor(target, key);
      },
    });
    expect(writing({ K3: { K4: { zz: 1 } } }, { $ref: '#/$defs/K0', $defs: counted }).args).toEqual({ K3: { K4: { zz: 1 } } });
    expect(reads).toBeLessThan(1_000_000);
  });
});

/** Methods of texts are counted, so that no clock is needed. */
describe('arguments with thousands of members', () => {
  const many = (count: number, name: (index: number) => string, value: JsonValue = {}): JsonObject =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [name(index), value]));
  const calls = (schema: JsonValue): number => {
    const args = { items: Array.from({ length: 2_000 }, () => ({ x: 1 })) };
    return countSteps(() => void writing(args, { ...object({ items: list(schema) }), $defs: { ['n'.repeat(50_000)]: object({ y: {} }) } }));
  };

  it.each<[string, JsonValue]>([
    ['names', object(many(2_000, (index) => `p_${index}`))],
    ['patterns', object({ y: {} }, { patternProperties: many(2_000, (index) => `^z${index}`), additionalProperties: false })],
    ['long references', { $ref: `#/$defs/${'n'.repeat(50_000)}` }],
  ])('are not each compared with all %s of the schema', (_what, schema) => {
    expect(calls(schema)).toBeLessThan(1_000_000);
  });

  it('are compared with the choices of alternatives only so often', () => {
    let read = 0;
    const choices = new Proxy(
      Array.from({ length: 2_000 }, (_, index) => `e${index}`),
      { get: (target, key): unknown => ((read += 1), Reflect.get(target, key)) },
    );
    const kinds = { anyOf: [object({ x: { enum: choices } }), object({ x: { enum: choices } })] };
    writing({ items: Array.from({ length: 2_000 }, () => ({ x: 1 })) }, object({ items: list(object({ x: {} }, kinds)) }));
    expect(read).toBeLessThan(2_000_000);
  });
});
