import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import type { ModelRequest } from '../../../src/core/models/model.ts';
import type { ModelFacts } from '../../../src/models/anthropic/anthropic-models.ts';
import { toAnthropicParameters } from '../../../src/models/anthropic/anthropic-parameters.ts';
import { askModel } from '../../_support/model-answers.ts';

const adaptive: ModelFacts = {
  maxTokens: 128_000,
  thinking: { isAdaptive: true, hasBudget: false, canBeOff: false },
  efforts: new Set(['low', 'medium', 'high', 'max']),
  hasOutputFormat: true,
};
const budgeted: ModelFacts = { maxTokens: 64_000, thinking: { isAdaptive: false, hasBudget: true, canBeOff: true } };

interface Converted {
  fields: JsonObject;
  warnings: string[];
}

function convert(parameters: JsonObject, facts?: ModelFacts, request: Partial<ModelRequest> = {}): Converted {
  const { fields, warnings } = toAnthropicParameters(askModel({ parameters, ...request }), facts);
  return { fields: fields as unknown as JsonObject, warnings: warnings.map(({ code, message }) => `${code}: ${message}`) };
}

describe('max_tokens', () => {
  it.each([
    [{}, undefined, 8_192],
    [{}, adaptive, 128_000],
    [{ max_tokens: 5 }, adaptive, 5],
    [{ max_tokens: 5, max_completion_tokens: 6 }, undefined, 6],
    [{ max_tokens: 999_999 }, undefined, 999_999],
  ])('of %j is %i', (parameters, facts, expected) => {
    expect(convert(parameters, facts)).toEqual({ fields: { max_tokens: expected }, warnings: [] });
  });

  it('is lowered to what the model can write, with a warning', () => {
    const { fields, warnings } = convert({ max_tokens: 200_000 }, adaptive);
    expect(fields).toEqual({ max_tokens: 128_000 });
    expect(warnings).toEqual(['parameter_changed: The model writes at most 128000 tokens; max_tokens was lowered from 200000.']);
  });
});

describe('other parameters', () => {
  it('get their names in the API, and the own ones of Anthropic stay', () => {
    const own = {
      service_tier: 'auto',
      cache_control: { type: 'ephemeral' },
      thinking: { type: 'disabled' },
      output_config: { effort: 'low' },
    };
    const { fields, warnings } = convert({ ...own, stop: ['END', ' \n', 'STOP'], user: 'u1', temperature: 0.5, top_p: 0.9, top_k: 40 });
    expect(fields).toEqual({
      ...own,
      max_tokens: 8_192,
      stop_sequences: ['END', 'STOP'],
      metadata: { user_id: 'u1' },
      temperature: 0.5,
      top_p: 0.9,
      top_k: 40,
    });
    expect(warnings).toEqual([]);
  });

  it('take one stop sequence, and the user of metadata', () => {
    expect(convert({ stop: 'END', metadata: { user_id: 'u2', x: 'y' } }).fields).toEqual({
      max_tokens: 8_192,
      stop_sequences: ['END'],
      metadata: { user_id: 'u2' },
    });
  });

  it.each(['default', 'flex'])("leave out OpenAI's service tier %s", (tier) => {
    expect(convert({ service_tier: tier })).toEqual({ fields: { max_tokens: 8_192 }, warnings: [] });
  });

  it.each([
    [1.5, 1],
    [-1, 0],
  ])('temperature %f becomes %f, with a warning', (given, sent) => {
    const { fields, warnings } = convert({ temperature: given });
    expect(fields).toEqual({ max_tokens: 8_192, temperature: sent });
    expect(warnings).toEqual([`parameter_changed: Anthropic's temperature is between 0 and 1; ${sent} was sent instead of ${given}.`]);
  });

  it('without a place are left out, with a warning if somebody has chosen them', () => {
    const unnoticed = {
      frequency_penalty: 0,
      presence_penalty: 0,
      logprobs: false,
      logit_bias: {},
      stream_options: {},
      store: true,
      keep_alive: '5m',
    };
    expect(convert(unnoticed)).toEqual({ fields: { max_tokens: 8_192 }, warnings: [] });
    expect(convert({ ...unnoticed, frequency_penalty: 0.5, seed: 7 })).toEqual({
      fields: { max_tokens: 8_192 },
      warnings: ["parameter_left_out: Anthropic's API has no frequency_penalty, seed. The model was asked without."],
    });
  });

  it('refuse several answers', () => {
    expect(convert({ n: 1 }).fields).toEqual({ max_tokens: 8_192 });
    expect(() => convert({ n: 2 })).toThrow(expect.objectContaining({ code: 'invalid_request', param: 'n' }));
  });
});

describe('reasoning_effort', () => {
  const shown = { type: 'adaptive', display: 'summarized' };

  it.each([
    ['minimal', { thinking: shown, output_config: { effort: 'low' } }],
    ['medium', { thinking: shown, output_config: { effort: 'medium' } }],
    ['xhigh', { thinking: shown, output_config: { effort: 'high' } }],
    ['max', { thinking: shown, output_config: { effort: 'max' } }],
    ['none', {}],
    ['strange', {}],
  ])('%s is adaptive thinking where the model has it', (effort, expected) => {
    expect(convert({ reasoning_effort: effort }, adaptive).fields).toEqual({ max_tokens: 128_000, ...expected });
  });

  it('is adaptive thinking where nothing is known', () => {
    expect(convert({ reasoning_effort: 'xhigh' }).fields).toEqual({
      max_tokens: 8_192,
      thinking: shown,
      output_config: { effort: 'xhigh' },
    });
  });

  it.each([
    ['low', 64_000, 4_096],
    ['medium', 64_000, 16_384],
    ['high', 64_000, 32_000],
    ['high', 4_000, 2_000],
  ])('%s of %i tokens is a budget of %i for older models', (effort, tokens, budget) => {
    expect(convert({ reasoning_effort: effort, max_tokens: tokens }, budgeted).fields).toEqual({
      max_tokens: tokens,
      thinking: { type: 'enabled', budget_tokens: budget },
    });
  });

  it('is nothing where the answer is too short for a budget, or a call is forced beside one', () => {
    expect(convert({ reasoning_effort: 'high', max_tokens: 2_000 }, budgeted).fields).toEqual({ max_tokens: 2_000 });
    expect(convert({ reasoning_effort: 'high' }, budgeted, { toolChoice: 'required' }).fields).toEqual({ max_tokens: 64_000 });
  });

  it('is no budget after a call without its thinking, which was refused', () => {
    const turn = { role: 'assistant', content: null, toolCalls: [{ id: 'a', name: 'f', arguments: '{}' }] } as const;
    const result = { role: 'tool', toolCallId: 'a', content: 'x' } as const;
    const extra = { thinking_blocks: [{ type: 'thinking', thinking: 'Hm.', signature: 'sig' }] };
    const thinkingAfter = (message: ModelRequest['messages'][number], facts: ModelFacts): unknown =>
      convert({ reasoning_effort: 'low' }, facts, { messages: [message, result] }).fields['thinking'];
    expect(thinkingAfter({ ...turn, toolCalls: [...turn.toolCalls] }, budgeted)).toBeUndefined();
    expect(thinkingAfter({ ...turn, toolCalls: [...turn.toolCalls], extra }, budgeted)).toMatchObject({ type: 'enabled' });
    expect(thinkingAfter({ ...turn, toolCalls: [...turn.toolCalls] }, adaptive)).toMatchObject({ type: 'adaptive' });
  });

  it('turns thinking off where that is possible', () => {
    expect(convert({ reasoning_effort: 'none' }, budgeted).fields['thinking']).toEqual({ type: 'disabled' });
    expect(convert({ think: false }, budgeted).fields['thinking']).toEqual({ type: 'disabled' });
    expect(convert({ think: false }).fields['thinking']).toBeUndefined();
  });

  it('leaves out the parameters of sampling, with a warning', () => {
    const { fields, warnings } = convert({ reasoning_effort: 'low', temperature: 0, top_p: 0.5 }, adaptive);
    expect(fields).toEqual({ max_tokens: 128_000, thinking: shown, output_config: { effort: 'low' } });
    expect(warnings).toEqual([
      'parameter_left_out: A model of Anthropic that thinks takes no temperature, top_p. The model was asked without.',
    ]);
    expect(convert({ reasoning_effort: 'low', temperature: 1 }, adaptive).warnings).toEqual([]);
  });
});

describe('response_format', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
  const format = { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } };

  it('is an output format, beside the effort', () => {
    expect(convert({ response_format: format, reasoning_effort: 'low' }, adaptive).fields['output_config']).toEqual({
      effort: 'low',
      format: { type: 'json_schema', schema: { ...schema, additionalProperties: false } },
    });
  });

  it.each([
    [{ type: 'json_object' }, adaptive],
    [{ ...format, json_schema: { schema: { type: 'object' } } }, adaptive],
    [format, { hasOutputFormat: false }],
  ])('%j is left out with a warning where it cannot be enforced', (given, facts) => {
    const { fields, warnings } = convert({ response_format: given }, facts);
    expect(fields['output_config']).toBeUndefined();
    expect(warnings).toEqual([expect.stringMatching(/^parameter_left_out: .*response_format/)]);
  });

  it('of text needs nothing', () => {
    expect(convert({ response_format: { type: 'text' } })).toEqual({ fields: { max_tokens: 8_192 }, warnings: [] });
  });
});
