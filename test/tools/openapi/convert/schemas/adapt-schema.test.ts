import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../../src/shared/json/json.ts';
import { SchemaAdapter } from '../../../../../src/tools/openapi/convert/schemas/adapt-schema.ts';
import { SchemaTooLarge } from '../../../../../src/tools/openapi/convert/schemas/count-nodes.ts';
import { convertOperations } from '../../../../../src/tools/openapi/convert/convert-operations.ts';
import { createRegisteredBudget } from '../../../../../src/tools/openapi/conversion-budget.ts';
import { createKindFinder } from '../../../../../src/tools/openapi/convert/schemas/discriminator-kinds.ts';
import { createRecursionFinder } from '../../../../../src/tools/openapi/convert/schemas/find-recursion.ts';
import { OmittedOperation } from '../../../../../src/tools/definitions/operation.ts';

function adapted(
  schema: JsonObject,
  schemas: JsonObject = {},
  overrides: { keepsReferences?: boolean; maxNodes?: number } = {},
): JsonObject {
  const document: JsonObject = { components: { schemas } };
  const budget = createRegisteredBudget();
  const isRecursive = createRecursionFinder(document, budget);
  const adapter = new SchemaAdapter({
    document,
    isRecursive,
    keepsReferences: false,
    maxNodes: 1_000,
    shared: {
      budget,
      kinds: createKindFinder(document, () => undefined),
      inlined: new Map(),
      recursive: new Map(),
      leastNodes: new Map(),
    },
    ...overrides,
  });
  const result = adapter.adapt(schema);
  const complete = Object.keys(adapter.definitions).length > 0 ? { ...result, $defs: adapter.definitions } : result;
  // Whatever comes out has to be a JSON Schema of 2020-12.
  new Ajv2020({ strict: false, validateFormats: false }).compile(complete);
  return complete;
}

const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });
const text: JsonObject = { type: 'string' };

describe('what a schema keeps', () => {
  it.each<[string, JsonObject, JsonObject]>([
    [
      'constraints, choices and defaults',
      {
        type: 'integer',
        enum: [1, 2],
        default: 1,
        format: 'int32',
        minimum: 1,
        maximum: 2,
        multipleOf: 1,
        title: 'T',
        example: 1,
        xml: {},
      },
      { type: 'integer', enum: [1, 2], default: 1, minimum: 1, maximum: 2, multipleOf: 1 },
    ],
    [
      'text constraints',
      { type: 'string', pattern: '^a', minLength: 1, maxLength: 3, deprecated: true, examples: ['a'], externalDocs: {}, writeOnly: true },
      { type: 'string', pattern: '^a', minLength: 1, maxLength: 3 },
    ],
    [
      'properties called like keywords',
      { type: 'object', properties: { title: text, example: text, $ref: text, required: { type: 'boolean' } }, required: ['title'] },
      { type: 'object', properties: { title: text, example: text, $ref: text, required: { type: 'boolean' } }, required: ['title'] },
    ],
    [
      'list constraints',
      { type: 'array', items: text, minItems: 1, maxItems: 2, uniqueItems: true },
      { type: 'array', items: text, minItems: 1, maxItems: 2, uniqueItems: true },
    ],
    ['maps', { type: 'object', additionalProperties: text }, { type: 'object', additionalProperties: text }],
    ['open maps', { type: 'object', additionalProperties: {} }, { type: 'object', additionalProperties: true }],
    ['booleans as schemas', { type: 'object', properties: { a: true } }, { type: 'object', properties: { a: {} } }],
    ['of formats what the type does not say', { type: ['number', 'null'], format: 'double' }, { type: ['number', 'null'] }],
    ['a number that is a time', { type: 'integer', format: 'unix-time' }, { type: 'integer', format: 'unix-time' }],
    ['a text that is a number', { type: 'string', format: 'int64' }, { type: 'string', format: 'int64' }],
    ['falsy values', { type: 'integer', default: 0, minimum: 0 }, { type: 'integer', default: 0, minimum: 0 }],
  ])('%s', (_, schema, expected) => {
    expect(adapted(schema)).toEqual(expected);
  });
});

describe('what older versions said differently', () => {
  it.each<[string, JsonObject, JsonObject]>([
    ['nullable', { type: 'string', nullable: true }, { type: ['string', 'null'] }],
    ['nullable choices', { type: 'string', enum: ['a'], nullable: true }, { type: ['string', 'null'], enum: ['a', null] }],
    ['x-nullable', { type: 'string', 'x-nullable': true }, { type: ['string', 'null'] }],
    [
      'nullable alternatives',
      { nullable: true, anyOf: [text, { type: 'integer' }] },
      { anyOf: [text, { type: 'integer' }, { type: 'null' }] },
    ],
    ['nullable: false', { type: 'string', nullable: false }, text],
    [
      'an exclusive bound beside the bound',
      { type: 'number', minimum: 1, exclusiveMinimum: true },
      { type: 'number', exclusiveMinimum: 1 },
    ],
    ['exclusiveMinimum: false', { type: 'number', minimum: 1, exclusiveMinimum: false }, { type: 'number', minimum: 1 }],
    ['a tuple in items', { type: 'array', items: [text] }, { type: 'array', prefixItems: [text] }],
    [
      'required: true of a property',
      { type: 'object', properties: { a: { type: 'string', required: true } } },
      { type: 'object', properties: { a: text } },
    ],
    ['the type file', { type: 'file' }, text],
  ])('%s', (_, schema, expected) => {
    expect(adapted(schema)).toEqual(expected);
  });
});

describe('what was left to be understood', () => {
  it.each<[string, JsonObject, JsonObject]>([
    ['the type of what has properties', { properties: { a: text } }, { type: 'object', properties: { a: text } }],
    ['the type of choices', { enum: ['a', 'b'] }, { type: 'string', enum: ['a', 'b'] }],
    ['items, at any depth', { type: 'array', items: { type: 'array' } }, { type: 'array', items: { type: 'array', items: {} } }],
    ['a null default that the type refuses', { type: 'string', default: null }, text],
    [
      'a required property that does not exist',
      { type: 'object', properties: { a: text }, required: ['a', 'b'] },
      { type: 'object', properties: { a: text }, required: ['a'] },
    ],
  ])('%s', (_, schema, expected) => {
    expect(adapted(schema)).toEqual(expected);
  });
});

describe('compositions', () => {
  it('allOf becomes one object, with required properties of any branch', () => {
    const schemas = { Base: { type: 'object', properties: { id: text }, description: 'base' } };
    const schema = {
      description: 'mine',
      allOf: [ref('Base'), { properties: { name: { ...text, maxLength: 5 } }, required: ['id', 'name'] }],
    };
    expect(adapted(schema, schemas)).toEqual({
      description: 'mine',
      type: 'object',
      properties: { id: text, name: { type: 'string', maxLength: 5 } },
      required: ['id', 'name'],
    });
  });

  it('bounds of the same property are joined, and a closed object stays closed only alone', () => {
    const closed: JsonObject = { type: 'object', properties: { a: { type: 'integer', minimum: 1 } }, additionalProperties: false };
    expect(adapted({ allOf: [closed] })).toEqual(closed);
    expect(adapted({ ...closed, allOf: [{ description: 'd' }] })).toEqual({ ...closed, description: 'd' });
    expect(adapted({ allOf: [closed, { properties: { a: { minimum: 3 }, b: text } }] })).toEqual({
      type: 'object',
      properties: { a: { type: 'integer', minimum: 3 }, b: text },
    });
  });

  it.each([
    ['Up to 20.', 'Up to 20. Only with x.', 'Up to 20. Only with x.'],
    ['Up to 20. Only with x.', 'Up to 20.', 'Up to 20. Only with x.'],
    ['Mine.', 'That of the base, at length.', 'Mine.'],
  ])('of two descriptions in an allOf the first one stands, unless the other says the same and more: %s %s', (one, other, expected) => {
    const branch = (description: string): JsonObject => ({ properties: { a: { ...text, description } } });
    expect(adapted({ allOf: [branch(one), branch(other)] })).toMatchObject({ properties: { a: { description: expected } } });
  });

  it('what cannot be said in one schema stays an allOf', () => {
    const schema = { allOf: [{ type: 'string', pattern: '^a' }, { pattern: 'z$' }] };
    expect(adapted(schema)).toEqual({ type: 'string', pattern: '^a', allOf: [{ pattern: 'z$' }] });
  });

  it('oneOf becomes anyOf, without the discriminator', () => {
    const schema = { oneOf: [text, { type: 'integer' }], discriminator: { propertyName: 'kind' } };
    expect(adapted(schema)).toEqual({ anyOf: [text, { type: 'integer' }] });
  });

  it('a choice that may be null is one list of choices', () => {
    const objects = ['a', 'b'].map((name) => ({ type: 'object', properties: { [name]: text }, required: [name] }));
    const described = { anyOf: [text, { type: 'integer' }], description: 'd' };
    expect(adapted({ anyOf: [{ oneOf: objects }, { type: 'null' }] })).toEqual({ anyOf: [...objects, { type: 'null' }] });
    expect(adapted({ anyOf: [described, { type: 'object' }] })).toEqual({ anyOf: [described, { type: 'object' }] });
  });

  it('a single alternative is no choice', () => {
    expect(adapted({ anyOf: [text], description: 'd' })).toEqual({ type: 'string', description: 'd' });
  });

  it('read-only properties are left out, also of what is required, through references and beside words', () => {
    const schemas = { Stamp: { type: 'string', readOnly: true } };
    const properties = { a: text, b: { ...text, readOnly: true }, c: ref('Stamp'), d: { allOf: [ref('Stamp')] } };
    expect(adapted({ type: 'object', properties, required: ['a', 'b', 'c'] }, schemas)).toEqual({
      type: 'object',
      properties: { a: text },
      required: ['a'],
    });
  });
});

describe('references', () => {
  it('are written where they stand, with the words beside them', () => {
    const schemas = { Colour: { type: 'string', enum: ['red'], description: 'colour' } };
    expect(adapted({ type: 'object', properties: { a: ref('Colour'), b: { ...ref('Colour'), description: 'of b' } } }, schemas)).toEqual({
      type: 'object',
      properties: {
        a: { type: 'string', enum: ['red'], description: 'colour' },
        b: { type: 'string', enum: ['red'], description: 'of b' },
      },
    });
  });

  it.each([
    ['#/components/schemas/a~1b', 'a/b'],
    ['#/components/schemas/a~0b', 'a~b'],
    ['#/components/schemas/a%20b', 'a b'],
    ['#/components/schemas/100%', '100%'],
    ['#/components/schemas/~01', '~1'],
  ])('%s names %s', (reference, name) => {
    expect(adapted({ $ref: reference }, { [name]: text })).toEqual(text);
  });

  it.each([
    ['#/components/schemas/Missing', 'points at nothing'],
    ['#/components/schemas/constructor', 'points at nothing'],
    ['#anchor', 'points at nothing'],
    ['other.json#/a', 'leaves the document'],
    ['file:///etc/passwd', 'leaves the document'],
    ['http://169.254.169.254/x', 'leaves the document'],
  ])('%s is refused: it %s', (reference, reason) => {
    expect(() => adapted({ $ref: reference })).toThrow(OmittedOperation);
    expect(() => adapted({ $ref: reference })).toThrow(reason);
  });
});

describe('recursion', () => {
  const node: JsonObject = { type: 'object', properties: { name: text, next: ref('Node'), all: { type: 'array', items: ref('Node') } } };

  it('becomes a definition of the function, written once', () => {
    const kept = {
      type: 'object',
      properties: { name: text, next: { $ref: '#/$defs/Node' }, all: { type: 'array', items: { $ref: '#/$defs/Node' } } },
    };
    expect(adapted(ref('Node'), { Node: node })).toEqual({ ...kept, $defs: { Node: kept } });
  });

  it('is found through several schemas, while what only leads there is written where it stands', () => {
    const schemas = {
      A: { type: 'object', properties: { b: ref('B') } },
      B: { type: 'object', properties: { a: ref('A') } },
      Start: { type: 'object', properties: { a: ref('A') } },
    };
    expect(adapted({ type: 'object', properties: { start: ref('Start') } }, schemas)).toEqual({
      type: 'object',
      properties: { start: { type: 'object', properties: { a: { $ref: '#/$defs/A' } } } },
      $defs: {
        A: { type: 'object', properties: { b: { $ref: '#/$defs/B' } } },
        B: { type: 'object', properties: { a: { $ref: '#/$defs/A' } } },
      },
    });
  });

  it('keeps two schemas with the same last name apart', () => {
    const schemas = {
      A: { ...node, properties: { x: { $ref: '#/components/schemas/deep/A' }, y: ref('A') } },
      deep: { A: { type: 'object', properties: { z: ref('A') } } },
    };
    expect(Object.keys(adapted({ type: 'object', properties: { a: ref('A') } }, schemas)['$defs'] ?? {})).toEqual(['A', 'A_2']);
  });

  it.each<[string, JsonObject]>([
    ['a reference to itself', { A: ref('A') }],
    ['two that name each other', { A: ref('B'), B: ref('A') }],
    ['an allOf of itself', { A: { type: 'object', allOf: [ref('A')] } }],
    ['a parent that lists its children', { A: { type: 'object', oneOf: [ref('B')] }, B: { allOf: [ref('A'), { type: 'object' }] } }],
    ['a not of itself', { A: { type: 'object', not: ref('A') } }],
  ])('of the same value asks for nothing new: %s', (_, schemas) => {
    const schema = adapted({ type: 'object', properties: { a: ref('A') } }, schemas);
    const validate = new Ajv2020({ strict: false }).compile(schema);
    expect(validate({ a: {} })).toBe(true);
  });
});

describe('inheritance', () => {
  const Pet: JsonObject = {
    type: 'object',
    properties: { kind: text },
    oneOf: [ref('Cat'), ref('Dog')],
    discriminator: { propertyName: 'kind' },
  };
  const Cat: JsonObject = { allOf: [ref('Pet'), { type: 'object', properties: { meow: text }, required: ['meow'] }] };
  const Dog: JsonObject = { allOf: [ref('Pet'), { type: 'object', properties: { bark: text }, required: ['bark'] }] };

  it('a child does not have to be one of its siblings', () => {
    const validate = new Ajv2020({ strict: false }).compile(adapted(ref('Cat'), { Pet, Cat, Dog }));
    expect(validate({ kind: 'cat', meow: 'm' })).toBe(true);
    expect(validate({ kind: 'cat' })).toBe(false);
  });

  it('a parent is one of its children', () => {
    const validate = new Ajv2020({ strict: false }).compile(adapted(ref('Pet'), { Pet, Cat, Dog }));
    expect(validate({ bark: 'b' })).toBe(true);
    expect(validate({ kind: 'cat' })).toBe(false);
  });
});

describe('limits', () => {
  const wide = (count: number): JsonObject => ({
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, text])),
  });

  it('a schema that grows too large is refused', () => {
    expect(() => adapted(wide(100), {}, { maxNodes: 50 })).toThrow(SchemaTooLarge);
  });

  it('keeping every reference makes what doubles at each step small', () => {
    const schemas: JsonObject = { L0: text };
    for (let level = 1; level <= 30; level += 1)
      schemas[`L${level}`] = { type: 'object', properties: { a: ref(`L${level - 1}`), b: ref(`L${level - 1}`) } };
    expect(() => adapted(ref('L30'), schemas)).toThrow(SchemaTooLarge);
    expect(Object.keys(adapted(ref('L30'), schemas, { keepsReferences: true })['$defs'] ?? {})).toHaveLength(30);
  });

  it('references that chain deeper than the stack are refused, not overflowed', () => {
    const schemas: JsonObject = {};
    for (let level = 0; level < 20_000; level += 1) schemas[`L${level}`] = { type: 'object', properties: { a: ref(`L${level + 1}`) } };
    schemas['L20000'] = text;
    expect(() => adapted(ref('L0'), schemas, { maxNodes: 100_000 })).toThrow(OmittedOperation);
  });
});

describe('what leads back to itself through a choice or a part', () => {
  const nothing: JsonObject = { type: 'null' };

  it.each<[string, JsonObject, JsonObject]>([
    ['Optional of pydantic', { anyOf: [ref('Node'), nothing] }, { anyOf: [{ $ref: '#/$defs/Node' }, { type: 'null' }] }],
    ['a choice of one', { oneOf: [ref('Node')] }, { $ref: '#/$defs/Node' }],
    ['a part with words', { allOf: [ref('Node')], description: 'Above.' }, { $ref: '#/$defs/Node', description: 'Above.' }],
    ['a part that may be null', { allOf: [ref('Node')], nullable: true }, { anyOf: [{ $ref: '#/$defs/Node' }, { type: 'null' }] }],
    [
      'items that may be null',
      { type: 'array', items: { anyOf: [ref('Node'), nothing] } },
      { type: 'array', items: { anyOf: [{ $ref: '#/$defs/Node' }, { type: 'null' }] } },
    ],
  ])('%s', (_, next, written) => {
    const Node = { type: 'object', properties: { name: text, next } };
    const properties = { name: text, next: written };
    expect(adapted(ref('Node'), { Node })).toEqual({ type: 'object', properties, $defs: { Node: { type: 'object', properties } } });
  });

  it('through several schemas and at any depth', () => {
    const schemas = {
      Folder: { type: 'object', properties: { owner: { anyOf: [ref('Person'), nothing] } } },
      Person: { type: 'object', properties: { home: { type: 'object', properties: { folder: { anyOf: [ref('Folder'), nothing] } } } } },
    };
    const validate = new Ajv2020({ strict: false }).compile(adapted(ref('Folder'), schemas));
    const nest = (folder: unknown): unknown => ({ owner: { home: { folder } } });
    expect(validate(nest(nest(nest(null))))).toBe(true);
    expect(validate(nest(nest({ owner: 'me' })))).toBe(false);
  });

  it.each([3, 12])('a grammar of %i kinds stays small', (count) => {
    const kinds = Array.from({ length: count }, (_, index) => `Kind${index}`);
    const any = { oneOf: kinds.map(ref), discriminator: { propertyName: 'kind' } };
    const schemas = Object.fromEntries(
      kinds.map((kind) => [
        kind,
        { type: 'object', properties: { kind: { const: kind }, parts: { type: 'array', items: any }, first: any }, required: ['kind'] },
      ]),
    );
    const operation = { requestBody: { required: true, content: { 'application/json': { schema: ref('Kind0') } } } };
    const { operations, omitted } = convertOperations({ openapi: '3.1.0', paths: { '/a': { post: operation } }, components: { schemas } });
    expect(omitted).toEqual([]);
    const parameters = operations[0]?.spec.parameters ?? {};
    const definitions = Object.keys(parameters['$defs'] as JsonObject).filter((name) => name.startsWith('Kind'));
    expect(definitions.toSorted()).toEqual(kinds.toSorted());
    expect(JSON.stringify(parameters).length).toBeLessThan(count * 1_000);
    const validate = new Ajv2020({ strict: false }).compile(parameters);
    const good = { kind: 'Kind0', parts: [{ kind: 'Kind1', first: { kind: 'Kind2' } }] };
    expect(validate(good)).toBe(true);
    expect(validate({ ...good, parts: [{ kind: 'Kind1', first: { kind: 'Kind99' } }] })).toBe(false);
  });
});
