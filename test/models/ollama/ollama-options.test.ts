import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../../src/shared/json/json.ts';
import { toOllamaParameters } from '../../../src/models/ollama/ollama-options.ts';
import type { ThinkingControl } from '../../../src/models/ollama/ollama-options.ts';

describe('OpenAI parameters for Ollama', () => {
  it.each<[string, JsonObject, JsonObject]>([
    [
      'sampling',
      { temperature: 0.2, top_p: 0.9, seed: 7, frequency_penalty: 1, presence_penalty: -1 },
      { temperature: 0.2, top_p: 0.9, seed: 7, frequency_penalty: 1, presence_penalty: -1 },
    ],
    ['the newer length limit before the older', { max_completion_tokens: 20, max_tokens: 10 }, { num_predict: 20 }],
    ['one stop text', { stop: 'END' }, { stop: ['END'] }],
    ['several stop texts', { stop: ['a', 'b'] }, { stop: ['a', 'b'] }],
    [
      'names of Ollama',
      { top_k: 40, min_p: 0.1, mirostat: 2, mirostat_tau: 5, num_ctx: 8192, num_gpu: 1 },
      { top_k: 40, min_p: 0.1, mirostat: 2, mirostat_tau: 5, num_ctx: 8192, num_gpu: 1 },
    ],
    ["another server's name", { repetition_penalty: 1.1 }, { repeat_penalty: 1.1 }],
    [
      'an options object before everything',
      { temperature: 1, max_tokens: 5, options: { temperature: 0, num_predict: 9, draft: 1 } },
      { temperature: 0, num_predict: 9, draft: 1 },
    ],
    ['null as absent', { temperature: null, stop: null, options: { top_k: null } }, {}],
    [
      'nothing that Ollama would ignore',
      { logit_bias: { 5: 1 }, logprobs: true, top_logprobs: 2, user: 'me', service_tier: 'auto', whatever: 1 },
      {},
    ],
    ['nothing of the prototype', JSON.parse('{"toString":1,"constructor":2}') as JsonObject, {}],
  ])('%s', (_name, parameters, options) => {
    expect(toOllamaParameters(parameters, undefined)).toEqual({ options, fields: {} });
  });

  const schema = { type: 'object', properties: { a: { type: 'string' } } };
  it.each<[string, JsonObject, object]>([
    ['JSON', { response_format: { type: 'json_object' } }, { format: 'json' }],
    ['a schema', { response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } } }, { format: schema }],
    ['a schema that is missing', { response_format: { type: 'json_schema' } }, { format: 'json' }],
    ['plain text', { response_format: { type: 'text' } }, {}],
    ["Ollama's own format", { format: schema, response_format: { type: 'json_object' } }, { format: schema }],
    ['how long the model stays', { keep_alive: -1 }, { keep_alive: -1 }],
    ['no effort', { reasoning_effort: 'none' }, { think: false }],
    ["Ollama's own switch", { think: true, reasoning_effort: 'none' }, { think: true }],
    ['an unknown effort', { reasoning_effort: 'heroic' }, {}],
  ])('become fields of the request: %s', (_name, parameters, fields) => {
    expect(toOllamaParameters(parameters, undefined)).toEqual({ options: {}, fields });
  });

  it.each<[JsonObject, ThinkingControl | undefined, object]>([
    [{ reasoning_effort: 'high' }, 'levels', { think: 'high' }],
    [{ reasoning_effort: 'minimal' }, 'levels', { think: 'low' }],
    [{ think: 'medium' }, 'levels', { think: 'medium' }],
    [{ reasoning_effort: 'none' }, 'levels', { think: false }],
    [{ reasoning_effort: 'low' }, 'switch', { think: true }],
    [{ think: 'low' }, 'switch', { think: true }],
    [{ reasoning_effort: 'none' }, 'switch', { think: false }],
    [{ reasoning_effort: 'high' }, undefined, { think: true }],
    [{ reasoning_effort: 'low' }, 'none', {}],
    [{ think: true }, 'none', { think: true }],
  ])('%o for a model with thinking by %s', (parameters, thinking, fields) => {
    expect(toOllamaParameters(parameters, thinking).fields).toEqual(fields);
  });

  it('ask for one answer only', () => {
    expect(toOllamaParameters({ n: 1 }, undefined).options).toEqual({});
    expect(() => toOllamaParameters({ n: 3 }, undefined)).toThrow(/Ollama.*"n"/u);
  });
});

describe('a schema that Ollama has no room for', () => {
  const fields = (count: number, child: JsonObject): JsonObject => ({
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`field_with_a_long_name_${index}`, child])),
  });
  const formatOf = (schema: JsonObject): JsonObject =>
    toOllamaParameters({ response_format: { type: 'json_schema', json_schema: { schema } } }, undefined).fields.format as JsonObject;

  it('is sent without its innermost parts', () => {
    const nested = fields(12, fields(20, { type: 'string' }));
    expect(formatOf(nested)).toEqual(fields(12, { type: 'object' }));
    expect(toOllamaParameters({ format: nested }, undefined).fields.format).toEqual(fields(12, { type: 'object' }));
    expect(formatOf({ ...fields(12, { $ref: '#/$defs/one' }), $defs: { one: fields(400, { type: 'string' }) } })).toBeDefined();
  });

  it.each(['response_format', 'format'])('is refused in %s where that does not suffice, with a cure', (param) => {
    const schema = fields(500, { type: 'string' });
    const parameters = param === 'format' ? { format: schema } : { response_format: { type: 'json_schema', json_schema: { schema } } };
    expect(() => toOllamaParameters(parameters, undefined)).toThrow(
      expect.objectContaining({ code: 'invalid_request', status: 400, param, message: expect.stringContaining('fewer properties') }),
    );
  });
});
