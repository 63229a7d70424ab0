import { describe, expect, it } from 'vitest';
import type { AssistantMessage, ChatMessage } from '../../../src/core/chat/chat.ts';
import { withDerived } from '../../../src/core/chat/derived-parameters.ts';
import { withOllamaOnly } from '../../../src/core/chat/for-ollama-only.ts';
import type { ModelRequest } from '../../../src/core/models/model.ts';
import { toResponsesRequest } from '../../../src/models/openai-responses/responses-body.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { parseExactly } from '../../../src/shared/json/parse-exactly.ts';
import { askModel } from '../../_support/model-answers.ts';

function bodyOf(request: Partial<ModelRequest>): JsonObject {
  return toResponsesRequest(askModel(request)).body;
}

function warningsOf(parameters: JsonObject): string[] {
  return toResponsesRequest(askModel({ parameters })).warnings.map(({ code, message }) => `${code} ${message.split(':')[0]}`);
}

function inputOf(...messages: ChatMessage[]): JsonObject {
  const { instructions, input } = bodyOf({ messages });
  return { ...(instructions !== undefined && { instructions }), input };
}

const user = (content: string): ChatMessage => ({ role: 'user', content });
const assistant = (content: string | null, fields: Partial<AssistantMessage> = {}): ChatMessage => ({
  role: 'assistant',
  content,
  toolCalls: [],
  ...fields,
});
const toolCalls = ['a', 'b'].map((id) => ({ id, name: 'get_time', arguments: `{"zone":"${id}"}`, extra: { extra_content: {} } }));
const sentCalls = ['a', 'b'].map((id) => ({ type: 'function_call', call_id: id, name: 'get_time', arguments: `{"zone":"${id}"}` }));
const result = (id: string): ChatMessage => ({ role: 'tool', toolCallId: id, content: 'noon', name: 'get_time' });
const sentResult = (id: string): JsonObject => ({ type: 'function_call_output', call_id: id, output: 'noon' });
const said = (content: string, fields: JsonObject = {}): JsonObject => ({ type: 'message', role: 'assistant', content, ...fields });

describe('the input', () => {
  it('has the conversation as items, after the instructions', () => {
    const system: ChatMessage = { role: 'system', content: 'Be brief.' };
    const developer: ChatMessage = { role: 'developer', content: [{ type: 'text', text: 'In French.' }] };
    expect(inputOf(system, developer, user('Hi'), assistant('Salut'), developer, user('Time?'))).toEqual({
      instructions: 'Be brief.\n\nIn French.',
      input: [
        { type: 'message', role: 'user', content: 'Hi' },
        said('Salut'),
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'In French.' }] },
        { type: 'message', role: 'user', content: 'Time?' },
      ],
    });
    expect(inputOf(system)).toEqual({ input: [{ type: 'message', role: 'system', content: 'Be brief.' }] });
  });

  it('has parts of messages in the types of the API', () => {
    const content = [
      { type: 'text', text: 'Look', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'here', prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AA', detail: 'low' } },
      { type: 'image_url', image_url: 'https://a.test/b.png' },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA' } },
      { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } },
    ];
    expect(inputOf({ role: 'user', content, extra: { name: 'ada' } })['input']).toEqual([
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'Look' },
          { type: 'input_text', text: 'here', prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } },
          { type: 'input_image', image_url: 'data:image/png;base64,AA', detail: 'low' },
          { type: 'input_image', image_url: 'https://a.test/b.png', detail: 'auto' },
          { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA' },
          { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } },
        ],
      },
    ]);
  });

  it('has calls and their results', () => {
    const damaged = [{ id: 'c', name: 'f', arguments: '{"a' }];
    expect(
      inputOf(user('?'), assistant('Let me see.', { toolCalls }), result('a'), result('b'), assistant(null, { toolCalls: damaged }))[
        'input'
      ],
    ).toEqual([
      { type: 'message', role: 'user', content: '?' },
      said('Let me see.'),
      ...sentCalls,
      sentResult('a'),
      sentResult('b'),
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
    ]);
  });

  it('has pictures in results, and otherwise their text', () => {
    const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } };
    const text = { type: 'text', text: 'A map' };
    const outputs = (
      inputOf({ role: 'tool', toolCallId: 'a', content: [text, picture] }, { role: 'tool', toolCallId: 'b', content: [text, text] })[
        'input'
      ] as JsonObject[]
    ).map(({ output }) => output);
    expect(outputs).toEqual([
      [
        { type: 'input_text', text: 'A map' },
        { type: 'input_image', image_url: 'data:image/png;base64,AA', detail: 'auto' },
      ],
      'A map\nA map',
    ]);
  });

  it('has no empty answers, and refusals as what was said', () => {
    expect(inputOf(user('?'), assistant(''), assistant(null), assistant(null, { extra: { refusal: 'I cannot.' } }))['input']).toEqual([
      { type: 'message', role: 'user', content: '?' },
      said('I cannot.'),
    ]);
  });
});

describe('the reasoning of a turn', () => {
  const first = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA1' };
  const second = { ...first, id: 'rs_2', encrypted_content: 'gAAA2' };
  const search = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'x' } };
  const [message, call] = [{ type: 'message' }, { type: 'function_call' }];
  const [callA, callB] = sentCalls;

  const turn = (text: string | null, items: unknown, fields: JsonObject = {}): unknown => {
    const extra = { reasoning_items: items as JsonObject[], reasoning_details: [], thinking_blocks: [], ...fields };
    return inputOf(assistant(text, { toolCalls, extra }))['input'];
  };

  it.each([
    ['the calls', null, [first, call, call], [first, callA, callB]],
    ['each call', null, [first, call, second, call], [first, callA, second, callB]],
    ['the text', 'So.', [first, message, second, call, call], [first, said('So.'), second, callA, callB]],
    ['the calls, after text of functions', 'Done.', [first, call, call], [said('Done.'), first, callA, callB]],
    ['a hosted search', null, [first, search, second, call, call], [first, search, second, callA, callB]],
    [
      'each of several messages',
      'So.\n\nOn.',
      [{ ...message, characters: 3 }, first, { ...message, characters: 3 }, second, call, call],
      [said('So.'), first, said('On.'), second, callA, callB],
    ],
  ])('comes back before %s', (_, text, items, expected) => {
    expect(turn(text, items)).toEqual(expected);
  });

  it('keeps the phase of a message', () => {
    expect(turn('So.', [first, { type: 'message', phase: 'commentary' }, call, call])).toEqual([
      first,
      said('So.', { phase: 'commentary' }),
      callA,
      callB,
    ]);
  });

  it('never comes back where it leads to nothing', () => {
    expect(turn(null, [first, call, call, second])).toEqual([first, callA, callB]);
    expect(turn(null, [first, message, second, call, call])).toEqual([second, callA, callB]);
    expect(turn('So. On.', [message, first, message, second, call, call])).toEqual([said('So. On.'), second, callA, callB]);
    const edited = [{ ...message, characters: 3 }, first, { ...message, characters: 4 }, second, call, call];
    expect(turn('So.\n\nOn.', edited)).toEqual([said('So.\n\nOn.'), second, callA, callB]);
    expect(turn('So.', [first, call])).toEqual([said('So.'), callA, callB]);
  });

  it.each([
    ['no list', 'x'],
    ['no items', [null, 7, 'x', {}, { type: 7 }]],
    ['references to stored items', [{ type: 'item_reference', id: 'rs_9' }, call, call]],
    ['reasoning without content', [{ type: 'reasoning', id: 'rs_1', summary: [] }, call, call]],
    ['calls and results of another conversation', [{ type: 'function_call_output', call_id: 'x', output: '' }, call, call]],
  ])('is ignored when a client sends %s', (_, items) => {
    expect(turn(null, items)).toEqual([callA, callB]);
  });

  it('has only the fields that the API takes back', () => {
    const content = [{ type: 'reasoning_text', text: 'Hm' }];
    const odd = { ...first, status: 'completed', encrypted_content: undefined, content, secret: 1 };
    expect(turn(null, [odd, call, call])).toEqual([{ type: 'reasoning', id: 'rs_1', summary: [], content }, callA, callB]);
  });
});

describe('parameters', () => {
  const defaults = {
    model: 'm',
    input: [{ type: 'message', role: 'user', content: 'hi' }],
    store: false,
    stream: true,
    include: ['reasoning.encrypted_content'],
  };

  it.each<[string, JsonObject, JsonObject]>([
    ['none', {}, {}],
    ['a limit', { max_tokens: 100 }, { max_output_tokens: 100 }],
    ['two limits', { max_tokens: 100, max_completion_tokens: 200 }, { max_output_tokens: 200 }],
    ['a limit below the least', { max_tokens: 1 }, { max_output_tokens: 16 }],
    ['an effort', { reasoning_effort: 'high' }, { reasoning: { effort: 'high', summary: 'auto' } }],
    ['no reasoning', { reasoning_effort: 'none' }, { reasoning: { effort: 'none' } }],
    [
      'its own reasoning',
      { reasoning_effort: 'high', reasoning: { summary: 'detailed' } },
      { reasoning: { effort: 'high', summary: 'detailed' } },
    ],
    ['no summary', { reasoning_effort: 'high', reasoning: { summary: null } }, { reasoning: { effort: 'high' } }],
    ['no reasoning to keep', { include: null }, { include: undefined }],
    [
      'its own includes',
      { include: ['file_search_call.results'] },
      { include: ['file_search_call.results', 'reasoning.encrypted_content'] },
    ],
    ['a verbosity', { verbosity: 'low' }, { text: { verbosity: 'low' } }],
    ['JSON', { response_format: { type: 'json_object' } }, { text: { format: { type: 'json_object' } } }],
    [
      'a schema',
      {
        response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema: { type: 'object' } } },
        verbosity: 'low',
      },
      { text: { verbosity: 'low', format: { type: 'json_schema', name: 'answer', strict: true, schema: { type: 'object' } } } },
    ],
    [
      'probabilities',
      { logprobs: true, top_logprobs: 2 },
      { include: ['reasoning.encrypted_content', 'message.output_text.logprobs'], top_logprobs: 2 },
    ],
    [
      'what it knows',
      { temperature: 0.5, top_p: 1, service_tier: 'flex', prompt_cache_key: 'k' },
      { temperature: 0.5, top_p: 1, service_tier: 'flex', prompt_cache_key: 'k' },
    ],
    ['what nobody knows', { telepathy: 3 }, { telepathy: 3 }],
    [
      'padding',
      { stream_options: { include_usage: true, include_obfuscation: false } },
      { stream_options: { include_obfuscation: false } },
    ],
    ['a wish to store', { store: true, previous_response_id: 'resp_1', background: true }, {}],
    ['what only others know', withOllamaOnly(withDerived({}, { max_tokens: 50 }), { keep_alive: -1 }), { max_output_tokens: 50 }],
  ])('send %s', (_, parameters, expected) => {
    expect(bodyOf({ parameters })).toEqual({ ...defaults, ...expected });
  });

  it('keep every digit', () => {
    const parameters = parseExactly('{"seed_of_proxy":12345678901234567890}') as JsonObject;
    expect(JSON.stringify(bodyOf({ parameters }))).toContain('"seed_of_proxy":12345678901234567890');
  });

  it('are left out with a warning where the API has no place for them', () => {
    expect(warningsOf({ n: 2, stop: ['x'], seed: 0, logit_bias: { 5: 1 }, presence_penalty: 0.5, modalities: ['text', 'audio'] })).toEqual(
      ['n', 'stop', 'seed', 'logit_bias', 'presence_penalty', 'modalities'].map((name) => `parameter_left_out ${name}`),
    );
    expect(warningsOf({ max_tokens: 5 })).toEqual([expect.stringContaining('parameter_changed The limit of 5 tokens was raised to 16')]);
  });

  it('are left out in silence where they change nothing', () => {
    const parameters = {
      n: 1,
      stop: null,
      logit_bias: {},
      presence_penalty: 0,
      frequency_penalty: 0,
      modalities: ['text'],
      audio: null,
      background: false,
    };
    expect(bodyOf({ parameters })).toEqual(defaults);
    expect(warningsOf(parameters)).toEqual([]);
  });
});

describe('tools', () => {
  const spec = { name: 'get_time', description: 'The time', parameters: { type: 'object', properties: {} } };
  const flat = { type: 'function', ...spec };

  it('are flat, and say whether their schema is enforced', () => {
    const callerTools = [
      { type: 'function', function: { name: 'own', parameters: { type: 'object' }, strict: true } },
      { type: 'function', function: { name: 'bare' } },
      { type: 'web_search', search_context_size: 'low' },
    ];
    expect(bodyOf({ tools: [spec, { ...spec, name: 'strict', strict: true }], callerTools })['tools']).toEqual([
      { ...flat, strict: false },
      { ...flat, name: 'strict', strict: true },
      { type: 'function', name: 'own', parameters: { type: 'object' }, strict: true },
      { type: 'function', name: 'bare', parameters: { type: 'object', properties: {} }, strict: false },
      { type: 'web_search', search_context_size: 'low' },
    ]);
  });

  it.each([
    ['required', 'required'],
    [
      { type: 'function', function: { name: 'f' } },
      { type: 'function', name: 'f' },
    ],
    [{ type: 'web_search' }, { type: 'web_search' }],
    [
      {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'f' } }, { type: 'web_search' }] },
      },
      { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }, { type: 'web_search' }] },
    ],
  ])('are chosen as %j says', (toolChoice, expected) => {
    expect(bodyOf({ tools: [spec], toolChoice, parallelToolCalls: false })).toMatchObject({
      tool_choice: expected,
      parallel_tool_calls: false,
    });
  });

  it('are not chosen where there are none', () => {
    const body = bodyOf({ toolChoice: 'none', parallelToolCalls: false });
    expect(['tools', 'tool_choice', 'parallel_tool_calls'].filter((key) => key in body)).toEqual([]);
  });
});
