import { describe, expect, it } from 'vitest';
import type { ModelRequest } from '../../../src/core/models/model.ts';
import { toInputSchema, toOutputSchema } from '../../../src/models/anthropic/anthropic-schemas.ts';
import { toAnthropicTools } from '../../../src/models/anthropic/anthropic-tools.ts';
import { WireNames } from '../../../src/models/anthropic/wire-names.ts';
import { askModel } from '../../_support/model-answers.ts';

const schema = { type: 'object', properties: { zone: { type: 'string' } }, required: ['zone'] };
const convert = (fields: Partial<ModelRequest>): ReturnType<typeof toAnthropicTools> =>
  toAnthropicTools(askModel({ tools: [{ name: 'get_time', description: 'The time', parameters: schema }], ...fields }), new WireNames());

describe('functions', () => {
  it('are those of the gateway, then those of the caller, then what Anthropic runs itself', () => {
    const hosted = { type: 'web_search_20260318', name: 'web_search', max_uses: 3 };
    const mark = { cache_control: { type: 'ephemeral', ttl: '1h' } };
    const callerTools = [
      { type: 'function', function: { name: 'files.read', description: ' ', strict: true, parameters: schema }, ...mark },
      { type: 'function', function: { name: 'ping' } },
      hosted,
    ];
    expect(
      convert({ tools: [{ name: 'f', description: 'F', parameters: { ...schema, $schema: 'x' }, strict: true }], callerTools }),
    ).toEqual({
      tools: [
        { name: 'f', description: 'F', input_schema: schema },
        { name: 'files_read', input_schema: schema, ...mark },
        { name: 'ping', input_schema: { type: 'object', properties: {} } },
        hosted,
      ],
    });
  });

  it('are not there without any', () => {
    expect(convert({ tools: [], toolChoice: 'auto' })).toEqual({});
  });

  it('keep the properties of alternatives that Anthropic takes within an object only', () => {
    const parameters = {
      description: 'Where',
      oneOf: [{ properties: { kind: { const: 'city' }, city: { type: 'string' } }, required: ['kind', 'city'] }, { $ref: '#/$defs/point' }],
      required: ['unit'],
      properties: { unit: { type: 'string' } },
      additionalProperties: false,
      $defs: { point: { properties: { kind: { const: 'point' }, x: { type: 'number' } }, required: ['kind'] } },
    };
    const { schema: merged, note } = toInputSchema(parameters);
    expect(merged).toMatchObject({
      type: 'object',
      description: 'Where',
      properties: { unit: { type: 'string' }, city: { type: 'string' }, x: { type: 'number' } },
      required: ['unit', 'kind'],
    });
    for (const keyword of ['oneOf', 'anyOf', 'allOf', '$ref', 'additionalProperties']) expect(merged).not.toHaveProperty(keyword);
    expect(note).toBe('The input has one of these forms: {kind: "city", city} | {kind: "point", x?}');
  });

  it('have the parts of allOf and the target of a reference as one object', () => {
    const parameters = {
      $ref: '#/definitions/Base',
      allOf: [{ properties: { b: { type: 'string' } }, required: ['b'] }],
      definitions: { Base: { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] } },
    };
    expect(toInputSchema(parameters)).toEqual({
      schema: {
        type: 'object',
        definitions: parameters.definitions,
        properties: { a: { type: 'integer' }, b: { type: 'string' } },
        required: ['a', 'b'],
      },
    });
  });

  it('with names of properties that Anthropic refuses have their schema in words', () => {
    const parameters = { type: 'object', properties: { page: { type: 'object', properties: { 'filter[name]': { type: 'string' } } } } };
    const { tools } = convert({ tools: [{ name: 'list', description: 'Lists', parameters }] });
    expect(tools).toEqual([
      {
        name: 'list',
        description: `Lists\n\nThe input is an object that fits this JSON Schema: ${JSON.stringify(parameters)}`,
        input_schema: { type: 'object', additionalProperties: true },
      },
    ]);
  });
});

describe('the choice of a function', () => {
  it.each([
    [undefined, undefined, undefined],
    ['auto', undefined, undefined],
    ['none', false, { type: 'none' }],
    ['required', undefined, { type: 'any' }],
    ['required', false, { type: 'any', disable_parallel_tool_use: true }],
    [{ type: 'function', function: { name: 'get_time' } }, true, { type: 'tool', name: 'get_time' }],
    [undefined, false, { type: 'auto', disable_parallel_tool_use: true }],
    [{ type: 'tool', name: 'web_search' }, undefined, { type: 'tool', name: 'web_search' }],
  ])('%j with parallel calls %j is %j', (toolChoice, parallelToolCalls, expected) => {
    expect(convert({ toolChoice, parallelToolCalls }).tool_choice).toEqual(expected);
  });
});

it('offers only the functions that are allowed', () => {
  const callerTools = ['a.b', 'c'].map((name) => ({ type: 'function', function: { name } }));
  const named = { type: 'function', function: { name: 'a.b' } };
  const nested = { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [named] } };
  const input = { input_schema: { type: 'object', properties: {} } };
  expect(convert({ callerTools, toolChoice: nested })).toEqual({ tools: [{ name: 'a_b', ...input }], tool_choice: { type: 'any' } });
  const flat = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'c' }] };
  expect(convert({ callerTools, toolChoice: flat })).toEqual({ tools: [{ name: 'c', ...input }] });
});

describe('the form of an answer', () => {
  it('keeps what Anthropic enforces, and says the rest in words', () => {
    const form = {
      type: 'object',
      properties: {
        age: { type: 'integer', minimum: 0, maximum: 150 },
        mail: { type: 'string', format: 'email' },
        plate: { type: 'string', format: 'plate' },
        tags: { type: 'array', items: { oneOf: [{ type: 'string' }, { type: 'null' }] }, minItems: 1 },
      },
      required: ['age'],
    };
    expect(toOutputSchema(form)).toEqual({
      type: 'object',
      properties: {
        age: { type: 'integer', description: 'At least 0. At most 150.' },
        mail: { type: 'string', format: 'email' },
        plate: { type: 'string', description: 'Format: plate.' },
        tags: { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'null' }] }, description: 'At least 1 items.' },
      },
      required: ['age'],
      additionalProperties: false,
    });
  });

  it.each([
    { type: 'object', additionalProperties: { type: 'string' } },
    { type: 'object', properties: { any: { type: 'object' } }, required: ['any'] },
    { type: 'array', items: { type: 'object', properties: {}, patternProperties: { '^x': {} } } },
  ])('is not enforced where a closed object would have other values: %j', (form) => {
    expect(toOutputSchema(form)).toBeUndefined();
  });
});
