import { expect, it } from 'vitest';
import { derivedParameters } from '../../../../src/core/chat/derived-parameters.ts';
import { forOllamaOnly } from '../../../../src/core/chat/for-ollama-only.ts';
import { toParameters } from '../../../../src/http/dialects/ollama/to-parameters.ts';
import { toChatBody } from '../../../../src/models/openai/openai-messages.ts';
import { toOllamaParameters } from '../../../../src/models/ollama/ollama-options.ts';

const body = {
  options: { num_ctx: 8192, num_predict: 100, temperature: 0, stop: ['END'], seed: 7, top_k: 20, brand_new: 1, top_p: null },
  keep_alive: -1,
  think: false,
};
const request = {
  model: 'm',
  messages: [],
  tools: [],
  callerTools: [],
  toolChoice: undefined,
  parallelToolCalls: undefined,
  stream: false,
  signal: AbortSignal.timeout(1_000),
};

it('an Ollama backend gets the options unchanged', () => {
  expect(toOllamaParameters(toParameters(body), undefined)).toEqual({
    options: { num_ctx: 8192, num_predict: 100, temperature: 0, stop: ['END'], seed: 7, top_k: 20, brand_new: 1 },
    fields: { keep_alive: -1, think: false },
  });
});

it("a backend with OpenAI's API gets what that API knows, and nothing that it would refuse", () => {
  const { model: _, messages: __, stream: ___, ...parameters } = toChatBody({ ...request, parameters: toParameters(body) });
  expect(parameters).toEqual({ max_tokens: 100, temperature: 0, stop: ['END'], seed: 7 });
});

it('an answer without a maximum length stays one', () => {
  const parameters = toParameters({ options: { num_predict: -1 } });
  expect(parameters).not.toHaveProperty('max_tokens');
  expect(toOllamaParameters(parameters, undefined).options).toEqual({ num_predict: -1 });
});

it('format: any JSON, a schema, or none', () => {
  const schema = { type: 'object', properties: { age: { type: 'integer' } } };
  expect(toParameters({ format: 'json' })).toEqual({ response_format: { type: 'json_object' } });
  expect(toParameters({ format: schema })).toEqual({ response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } } });
  expect(toParameters({ format: '' })).toEqual({});
  expect(toOllamaParameters(toParameters({ format: schema }), undefined).fields).toEqual({ format: schema });
});

it('a level of thinking is for all backends, whether to think for Ollama alone', () => {
  expect(toParameters({ think: 'low' })).toEqual({
    reasoning_effort: 'low',
    think: 'low',
    [forOllamaOnly]: ['think'],
    [derivedParameters]: ['reasoning_effort'],
  });
  expect(toParameters({ think: true })).toEqual({ think: true, [forOllamaOnly]: ['think'] });
  expect(toParameters({})).toEqual({});
});
