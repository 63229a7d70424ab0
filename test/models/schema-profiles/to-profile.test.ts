import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isJsonObject } from '../../../src/shared/json/json.ts';
import type { JsonObject, JsonValue } from '../../../src/shared/json/json.ts';
import { simplifyParameters } from '../../../src/models/schema-profiles/simplify-parameters.ts';
import { profileOf, specInProfile, toProfile, type SchemaProfile } from '../../../src/models/schema-profiles/to-profile.ts';

const text: JsonObject = { type: 'string' };
const profiles: SchemaProfile[] = ['openai', 'ollama', 'gemini', 'llama-cpp'];

function object(properties: JsonObject, required: string[] = []): JsonObject {
  return { type: 'object', properties, required };
}

/** What becomes of one argument. */
function argument(schema: JsonObject, profile: SchemaProfile, more: JsonObject = {}): JsonValue | undefined {
  const { parameters } = toProfile({ ...object({ a: schema }, ['a']), ...more }, profile);
  const properties = parameters?.['properties'];
  return isJsonObject(properties) ? properties['a'] : undefined;
}

describe('Ollama', () => {
  it.each<[string, JsonObject, JsonObject]>([
    [
      'puts what it would drop into words',
      { type: 'integer', description: 'How many.', default: 5, minimum: 1, maximum: 10 },
      { type: 'integer', description: 'How many. At least 1. At most 10. Default: 5.' },
    ],
    [
      'formats and patterns too',
      { type: 'string', format: 'date', pattern: '^2' },
      { type: 'string', description: 'Format: date. Pattern: ^2' },
    ],
    [
      'joins allOf',
      { allOf: [object({ b: text }, ['b']), object({ c: text })], description: 'd' },
      { ...object({ b: text, c: text }, ['b']), description: 'd' },
    ],
    ['makes oneOf anyOf', { oneOf: [text, { type: 'integer' }] }, { anyOf: [text, { type: 'integer' }] }],
    ['makes const a choice', { const: 'x' }, { enum: ['x'] }],
    ['gives every list its items', { type: 'array' }, { type: 'array', items: {} }],
    [
      'describes maps',
      { type: 'object', additionalProperties: text },
      { type: 'object', description: 'Keys of your choice, each value: string.' },
    ],
  ])('%s', (_, schema, expected) => {
    expect(argument(schema, 'ollama')).toEqual(expected);
  });

  it('writes references out, and ends a circle as an object', () => {
    const node = object({ name: text, next: { $ref: '#/$defs/Node' } });
    expect(argument({ $ref: '#/$defs/Node', description: 'first' }, 'ollama', { $defs: { Node: node } })).toEqual({
      type: 'object',
      description: 'first',
      properties: { name: text, next: { type: 'object' } },
    });
  });

  it('knows no other keywords', () => {
    const known = new Set(['type', 'items', 'description', 'enum', 'properties', 'required', 'anyOf']);
    fc.assert(
      fc.property(schemas(), (schema) => {
        for (const key of keywordsIn(toProfile(schema, 'ollama').parameters ?? {})) expect(known).toContain(key);
      }),
    );
  });
});

describe('OpenAI', () => {
  it('enforces what can be enforced: what may be left out may be null instead', () => {
    const parameters = object({ a: text, b: { type: 'integer', minimum: 1, default: 3 }, c: { type: 'string', enum: ['x'] } }, ['a']);
    expect(toProfile(parameters, 'openai')).toEqual({
      isStrict: true,
      parameters: {
        type: 'object',
        properties: {
          a: text,
          b: { type: ['integer', 'null'], minimum: 1, description: 'Default: 3.' },
          c: { type: ['string', 'null'], enum: ['x', null] },
        },
        required: ['a', 'b', 'c'],
        additionalProperties: false,
      },
    });
  });

  it.each<[string, JsonObject]>([
    ['maps', object({ a: { type: 'object', additionalProperties: text } })],
    ['objects of which nothing is said', object({ a: { type: 'object' } })],
    ['anything', object({ a: {} })],
    ['an optional argument that knows null itself', object({ a: { type: ['string', 'null'] } })],
    ['an optional property within a choice', object({ a: { anyOf: [object({ b: text }), text] } }, ['a'])],
    ['a choice at the root', { ...object({}), anyOf: [object({})] }],
    ['allOf', object({ a: { allOf: [text] } })],
    ['tuples', object({ a: { type: 'array', prefixItems: [text] } })],
    ['more than 1,000 choices', object({ a: { type: 'string', enum: Array.from({ length: 1_001 }, (_, index) => `c${index}`) } }, ['a'])],
    [
      'more than ten levels',
      Array.from({ length: 11 }).reduce<JsonObject>((inner) => object({ a: inner }, ['a']), object({ a: text }, ['a'])),
    ],
  ])('sends %s as they are, not enforced', (_, parameters) => {
    expect(toProfile(parameters, 'openai')).toEqual({ parameters, isStrict: false });
  });

  it('keeps recursion', () => {
    const parameters = {
      ...object({ a: { $ref: '#/$defs/N' } }, ['a']),
      $defs: { N: object({ all: { type: 'array', items: { $ref: '#/$defs/N' } } }, ['all']) },
    };
    const { parameters: strict, isStrict } = toProfile(parameters, 'openai');
    expect(isStrict).toBe(true);
    expect(strict?.['$defs']).toEqual({
      N: { ...object({ all: { type: 'array', items: { $ref: '#/$defs/N' } } }, ['all']), additionalProperties: false },
    });
  });

  it('requires every argument of what it enforces, whatever the schema, and stays a JSON Schema', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    fc.assert(
      fc.property(schemas(), (schema) => {
        const { parameters, isStrict } = toProfile(schema, 'openai');
        if (!isStrict || parameters === undefined) return;
        const properties = isJsonObject(parameters['properties']) ? parameters['properties'] : {};
        expect(parameters['required']).toEqual(Object.keys(properties));
        expect(ajv.validateSchema(parameters)).toBe(true);
      }),
    );
  });
});

describe('Gemini', () => {
  it.each<[string, JsonObject, JsonObject]>([
    ['one type, and nullable', { type: ['string', 'null'] }, { type: 'string', nullable: true }],
    ['several types as a choice', { type: ['string', 'integer'] }, { anyOf: [text, { type: 'integer' }] }],
    ['null in a choice', { anyOf: [text, { type: 'null' }], description: 'd' }, { type: 'string', description: 'd', nullable: true }],
    ['items for every list', { type: 'array', items: { type: 'array' } }, { type: 'array', items: { type: 'array', items: text } }],
    ['choices of numbers in words', { type: 'integer', enum: [1, 2] }, { type: 'integer', description: 'One of: 1, 2.' }],
    ['formats it does not know in words', { type: 'string', format: 'uuid' }, { type: 'string', description: 'Format: uuid.' }],
    ['no empty properties', { type: 'object', properties: {} }, { type: 'object' }],
    ['a type for anything', {}, text],
  ])('%s', (_, schema, expected) => {
    expect(argument(schema, 'gemini')).toEqual(expected);
  });

  it('a function without arguments has no parameters', () => {
    expect(toProfile(object({}), 'gemini').parameters).toBeUndefined();
  });
});

describe('llama.cpp', () => {
  it.each<[string, JsonObject, JsonObject]>([
    ['bounds of integers alone', { type: 'number', minimum: 1 }, { type: 'number', description: 'At least 1.' }],
    ['anchored patterns alone', { type: 'string', pattern: '(?i)a|b' }, { type: 'string', description: 'Pattern: (?i)a|b' }],
    [
      'no repetition that its parser refuses',
      { type: 'string', maxLength: 5_000 },
      { type: 'string', description: 'Length: at most 5000.' },
    ],
    ['open objects stay open', { type: 'object' }, { type: 'object', additionalProperties: true }],
    ['properties and no choice beside them', { ...object({ b: text }), anyOf: [{ required: ['b'] }] }, object({ b: text })],
  ])('%s', (_, schema, expected) => {
    expect(argument(schema, 'llama-cpp')).toEqual(expected);
  });
});

describe('any profile', () => {
  it.each([...profiles, 'simple'] as const)('%s: takes any schema, keeps every argument and never an unknown reference', (profile) => {
    fc.assert(
      fc.property(schemas(), (schema) => {
        const before = JSON.stringify(schema);
        const parameters = profile === 'simple' ? simplifyParameters(schema) : toProfile(schema, profile).parameters;
        expect(JSON.stringify(schema)).toBe(before);
        const names = (holder: JsonObject | undefined): string[] =>
          Object.keys((holder?.['properties'] as JsonObject | undefined) ?? {}).toSorted();
        expect(names(parameters)).toEqual(names(schema));
        if (profile === 'openai') return;
        expect(JSON.stringify(parameters ?? {})).not.toContain('"$ref":"');
      }),
    );
  });

  it.each(profiles)('%s: what doubles at each step stays small', (profile) => {
    const $defs: JsonObject = { L0: text };
    for (let level = 1; level <= 40; level += 1)
      $defs[`L${level}`] = object({ a: { $ref: `#/$defs/L${level - 1}` }, b: { $ref: `#/$defs/L${level - 1}` } });
    const { parameters } = toProfile({ ...object({ a: { $ref: '#/$defs/L40' } }), $defs }, profile);
    expect(JSON.stringify(parameters).length).toBeLessThan(300_000);
  });

  it('is made once for a function', () => {
    const spec = { name: 'f', description: 'd', parameters: object({ a: { type: 'integer', default: 1 } }) };
    expect(specInProfile(spec, 'ollama').parameters).toBe(specInProfile({ ...spec, name: 'g' }, 'ollama').parameters);
    expect(specInProfile(spec, 'plain')).toBe(spec);
    expect(specInProfile({ ...spec, parameters: object({ a: text }) }, 'openai')).toMatchObject({ strict: true });
  });

  it.each([
    ['https://api.openai.com/v1', 'openai'],
    ['https://eu.api.openai.com/v1', 'openai'],
    ['https://generativelanguage.googleapis.com/v1beta/openai', 'gemini'],
    ['https://europe-west1-aiplatform.googleapis.com/v1/x', 'gemini'],
    ['https://api.openai.com.evil.test/v1', 'plain'],
    ['http://127.0.0.1:8000/v1', 'plain'],
  ])('%s has the profile %s', (url, profile) => {
    expect(profileOf(url)).toBe(profile);
  });
});

/** Keywords at every place where a schema stands. */
function keywordsIn(schema: JsonObject): string[] {
  const children = Object.entries(schema).flatMap(([key, value]): JsonValue[] => {
    if (key === 'properties' && isJsonObject(value)) return Object.values(value).filter((child) => child !== undefined);
    if (key === 'items') return value === undefined ? [] : [value];
    return key === 'anyOf' && Array.isArray(value) ? value : [];
  });
  return [...Object.keys(schema), ...children.flatMap((child) => (isJsonObject(child) ? keywordsIn(child) : []))];
}

/** Parameters of a function, with whatever a document or an MCP server may hold. */
function schemas(): fc.Arbitrary<JsonObject> {
  const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<JsonObject>(
        {},
        { type: 'string', format: 'date', minLength: 1 },
        { type: 'integer', maximum: 3 },
        { $ref: '#/$defs/N' },
        { $ref: '#/none' },
        { type: ['string', 'null'] },
        { enum: [1, 'a', null] },
        { const: 1 },
        { type: 'boolean', default: false },
      ),
      tie('schema').map((items): JsonObject => ({ type: 'array', items })),
      fc
        .tuple(fc.constantFrom('anyOf', 'allOf', 'oneOf'), fc.array(tie('schema'), { minLength: 1, maxLength: 3 }))
        .map(([key, list]): JsonObject => ({ [key]: list })),
      fc
        .dictionary(fc.constantFrom('a', 'b', 'type', '$ref', 'required'), tie('schema'), { maxKeys: 3 })
        .map((properties): JsonObject => object(properties, Object.keys(properties).slice(0, 1))),
    ),
  }));
  return fc
    .tuple(fc.dictionary(fc.constantFrom('x', 'y', 'z'), schema, { maxKeys: 3 }), schema)
    .map(([properties, N]) => ({ ...object(properties, Object.keys(properties).slice(0, 1)), $defs: { N } }));
}
