import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { selectionForm, selectionFormCharacters } from '../../../../src/chat/modes/prompt/constrain-selection.ts';
import { narrowParameters, toStrict } from '../../../../src/chat/modes/prompt/narrow-schema.ts';
import type { JsonObject, JsonValue } from '../../../../src/shared/json/json.ts';

const objectWith = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...more });
const closed = (properties: JsonObject, required: string[] = []) => ({ type: 'object', properties, required, additionalProperties: false });

describe('parameters in the subset that grammars share', () => {
  const table: [string, JsonObject, JsonObject][] = [
    [
      'bounds, patterns, defaults and descriptions are left to the check',
      { type: 'integer', minimum: 1, default: 3, description: 'd' },
      { type: 'integer' },
    ],
    ['choices stay, with their types', { enum: ['a', 'b', null] }, { type: ['string', 'null'], enum: ['a', 'b', null] }],
    ['a constant is a choice of one', { const: 7 }, { type: 'integer', enum: [7] }],
    ['lists keep their items', { type: 'array', items: { type: 'number' }, minItems: 2 }, { type: 'array', items: { type: 'number' } }],
    ['oneOf is anyOf', { oneOf: [{ type: 'string' }, { type: 'null' }] }, { anyOf: [{ type: 'string' }, { type: 'null' }] }],
    ['a choice with an unknown branch is anything', { anyOf: [{ type: 'string' }, { description: 'or so' }] }, {}],
    ['a reference is written out', { $ref: '#/$defs/zone' }, { type: 'string', enum: ['UTC'] }],
    ['a map is any object', { type: 'object', additionalProperties: { type: 'string' } }, { type: 'object' }],
    ['what is combined is anything', { allOf: [{ type: 'string' }] }, {}],
    ['objects are closed', objectWith({ b: { type: 'string' } }, { required: ['b', 'gone'] }), closed({ b: { type: 'string' } }, ['b'])],
    ['open objects stay open', objectWith({}, { additionalProperties: true }), { ...closed({}), additionalProperties: true }],
  ];
  it.each(table)('%s', (_rule, schema, expected) => {
    const parameters = { ...objectWith({ a: schema }), $defs: { zone: { enum: ['UTC'] } } };
    expect(narrowParameters(parameters)).toEqual(closed({ a: expected }));
  });

  it('are an empty object for a function without any', () => {
    for (const parameters of [{}, { type: 'object' }, { type: 'string' }]) expect(narrowParameters(parameters)['type']).toBe('object');
    expect(narrowParameters({ type: 'object' })).toEqual(closed({}));
  });

  it('are cut off where a schema is recursive, deep, wide or long', () => {
    const tree = { $defs: { node: objectWith({ next: { $ref: '#/$defs/node' } }) }, ...objectWith({ a: { $ref: '#/$defs/node' } }) };
    expect(JSON.stringify(narrowParameters(tree)).length).toBeLessThan(2_000);
    const circle = { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, ...objectWith({ x: { $ref: '#/$defs/a' } }) };
    expect(narrowParameters(circle)).toEqual(closed({ x: {} }));
    const wide = objectWith(Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`p${index}`, { type: 'string' }])));
    expect(
      Object.values(narrowParameters(wide)['properties'] as JsonObject).filter((one) => (one as JsonObject)['type'] === 'string').length,
    ).toBeLessThan(400);
    const zones = { type: 'string', enum: Array.from({ length: 600 }, (_, index) => `Zone/${index}`) };
    expect(narrowParameters(objectWith({ zone: zones }))).toEqual(closed({ zone: { type: 'string' } }));
  });
});

describe('the same in the strict form of OpenAI', () => {
  it('requires every property, and allows null for optional ones', () => {
    const parameters = objectWith(
      { a: { type: 'string' }, b: { enum: ['x'] }, c: { type: 'array', items: { type: 'integer' } } },
      { required: ['a'] },
    );
    expect(toStrict(narrowParameters(parameters))).toEqual(
      closed(
        {
          a: { type: 'string' },
          b: { type: ['string', 'null'], enum: ['x', null] },
          c: { type: ['array', 'null'], items: { type: 'integer' } },
        },
        ['a', 'b', 'c'],
      ),
    );
  });

  it.each([
    ['parts of no type', objectWith({ a: {} })],
    ['maps', objectWith({ a: { type: 'object', additionalProperties: true } })],
    ['optional properties that know null', objectWith({ a: { type: ['string', 'null'] } })],
    ['optional properties within a choice', objectWith({ a: { anyOf: [objectWith({ b: { type: 'string' } })] } }, { required: ['a'] })],
  ])('does not exist for %s', (_what, parameters) => {
    expect(toStrict(narrowParameters(parameters))).toBeUndefined();
  });
});

describe('the form of a selection', () => {
  const specs = [
    {
      name: 'get_weather',
      description: '',
      parameters: objectWith({ city: { type: 'string' }, days: { type: 'integer' } }, { required: ['city'] }),
    },
    { name: 'get_time', description: '', parameters: objectWith({}) },
  ];
  const accepts = (schema: JsonObject, ...calls: JsonValue[]): boolean => new Ajv2020().compile(schema)({ tool_calls: calls });

  it('allows calls of the offered functions, none, and nothing else', () => {
    const { schema, strictSchema = {} } = selectionForm(specs, { minCalls: 0, maxCalls: 2 });
    const time = { name: 'get_time', parameters: {} };
    expect(accepts(schema)).toBe(true);
    expect(accepts(schema, time, { name: 'get_weather', parameters: { city: 'Rome' } })).toBe(true);
    expect(accepts(schema, time, time, time)).toBe(false);
    expect(accepts(schema, { name: 'get_rich', parameters: {} })).toBe(false);
    expect(accepts(schema, { name: 'get_weather', parameters: {} })).toBe(false);
    expect(accepts(strictSchema, { name: 'get_weather', parameters: { city: 'Rome', days: null } })).toBe(true);
    expect(accepts(strictSchema, { name: 'get_weather', parameters: { city: 'Rome' } })).toBe(false);
  });

  it('demands a call if the request does', () => {
    expect(accepts(selectionForm(specs, { minCalls: 1, maxCalls: 2 }).schema)).toBe(false);
  });

  it('has no strict form if one function has none', () => {
    const map = { name: 'map', description: '', parameters: objectWith({ a: {} }) };
    expect(selectionForm([...specs, map], { minCalls: 0, maxCalls: 2 }).strictSchema).toBeUndefined();
  });

  it('leaves arguments open if they are too large for a grammar', () => {
    const properties = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`${'p'.repeat(100)}${index}`, { type: 'string' }]));
    const large = ['a', 'b', 'c'].map((name) => ({ name, description: '', parameters: objectWith(properties) }));
    const { schema } = selectionForm(large, { minCalls: 0, maxCalls: 2 });
    expect(JSON.stringify(schema).length).toBeLessThan(selectionFormCharacters);
    expect(accepts(schema, { name: 'a', parameters: { anything: 1 } })).toBe(true);
    expect(accepts(schema, { name: 'd', parameters: {} })).toBe(false);
  });
});
