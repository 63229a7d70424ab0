import { describe, expect, it } from 'vitest';
import type { GatewayError } from '../../../../src/core/errors.ts';
import { parseResponseRequest } from '../../../../src/http/dialects/responses/parse-request.ts';
import type { JsonObject } from '../../../../src/shared/json/json.ts';

const parse = (body: JsonObject): ReturnType<typeof parseResponseRequest> =>
  parseResponseRequest({ model: 'model', input: 'Hi!', ...body }, {});
const messagesOf = (input: JsonObject[]): unknown => parse({ input }).request.messages;

function refusalOf(body: JsonObject): Partial<GatewayError> {
  try {
    parse(body);
  } catch (error) {
    return error as GatewayError;
  }
  return {};
}

const question = { role: 'user', content: 'Hi!' };
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('the fields of a request', () => {
  it('become parameters of chat completions', () => {
    const { request } = parse({
      instructions: 'Be brief.',
      max_output_tokens: 5,
      max_tool_calls: 2,
      reasoning: { effort: 'low' },
      text: { verbosity: 'low', format: { type: 'json_object' } },
      top_logprobs: 2,
      temperature: 0,
      params: { seed: 1, function_calling: 'native' },
      prompt_cache_key: 'a',
      truncation: 'auto',
      client_metadata: { a: 1 },
      stream_options: { include_obfuscation: false },
      tool_ids: ['server:town'],
      chat_id: 'c',
    });
    expect(request).toMatchObject({ maxToolCalls: 2, mode: 'native', toolIds: ['server:town'], chatId: 'c' });
    expect(request.messages).toEqual([{ role: 'system', content: 'Be brief.' }, question]);
    expect(request.parameters).toEqual({
      seed: 1,
      max_completion_tokens: 5,
      reasoning_effort: 'low',
      verbosity: 'low',
      response_format: { type: 'json_object' },
      logprobs: true,
      top_logprobs: 2,
      temperature: 0,
      prompt_cache_key: 'a',
    });
  });

  it.each<[string, JsonObject]>([
    ['input', { input: 5 }],
    ['input', { input: [] }],
    ['input.0.content.0.type', { input: [{ role: 'user', content: [{ type: 'hologram' }] }] }],
    ['input.1.type', { input: [{ role: 'assistant', content: 'Hm.' }, { type: 'hologram_call' }] }],
    ['model', { model: 5 }],
    ['temperature', { temperature: 'hot' }],
    ['max_tool_calls', { max_tool_calls: 0 }],
    ['text.format.type', { text: { format: { type: 'yaml' } } }],
    ['text.format.schema', { text: { format: { type: 'json_schema', name: 'a' } } }],
    ['tools.0.name', { tools: [{ type: 'function' }] }],
    ['tools.1.tools.0.name', { tools: [{ type: 'web_search' }, { type: 'namespace', name: 'a', tools: [{ type: 'custom' }] }] }],
    ['tools.0.server_url', { tools: [{ type: 'mcp', server_label: 'a' }] }],
    ['tool_choice', { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } }],
    ['tool_choice', { tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'web_search' }] } }],
    ['input.0.role', { input: [{ role: 'judge', content: 'a' }] }],
    ['input.0.call_id', { input: [{ type: 'function_call', name: 'a', arguments: '' }] }],
    ['input.0.content.0.file_id', { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] }],
    ['input.0.content.0.file_url', { input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'http://a' }] }] }],
    ['input.0.content.0.file_data', { input: [{ role: 'user', content: [{ type: 'input_file', file_data: 'AP8A/w==' }] }] }],
    // A PDF of letters alone, which would be a text.
    [
      'input.0.content.0.file_data',
      { input: [{ role: 'user', content: [{ type: 'input_file', file_data: base64('%PDF-1.4\n1 0 obj\nendobj\n%%EOF') }] }] },
    ],
    ['input.1.id', { input: [question, { type: 'item_reference', id: 'msg_1' }] }],
    ['conversation', { conversation: 'conv_1' }],
    ['prompt', { prompt: { id: 'p' } }],
  ])('at fault are named: %s', (param, body) => {
    expect(refusalOf(body)).toMatchObject({ code: 'invalid_request', param });
  });

  it('that are missing are not said to be empty', () => {
    expect(refusalOf({ input: null }).message).toBe('input: is missing; it must be text or a list of items');
    expect(refusalOf({ input: [] }).message).toBe('input: must not be empty');
  });
});

describe('the items of a conversation', () => {
  it('become messages, calls and results', () => {
    const messages = messagesOf([
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Look' },
          { type: 'input_image', image_url: 'data:image/png;base64,AA', detail: 'low' },
        ],
      },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' },
      { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: null },
      {
        type: 'message',
        role: 'assistant',
        id: 'msg_1',
        status: 'completed',
        content: [{ type: 'output_text', text: 'A ', annotations: [] }],
      },
      { type: 'function_call', call_id: 'c1', name: 'ring', namespace: 'desk', arguments: '{}' },
      { type: 'reasoning', summary: [], encrypted_content: 'more' },
      { type: 'custom_tool_call', call_id: 'c2', name: 'patch', input: 'a"b' },
      { type: 'function_call_output', call_id: 'c1', output: 'Rang' },
      { type: 'custom_tool_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'Patched' }] },
      { type: 'mcp_call', id: 'mcp_1', server_label: 'town', name: 'time', arguments: '{}', output: 'noon' },
      { type: 'message', role: 'assistant', content: 'Noon.' },
      { role: 'user', content: [{ type: 'input_file', filename: 'a.txt', file_data: `data:text/plain;base64,${base64('Grüße')}` }] },
    ]);
    expect(messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA', detail: 'low' } },
        ],
      },
      {
        role: 'assistant',
        content: 'A ',
        toolCalls: [
          { id: 'c1', name: 'desk__ring', arguments: '{}' },
          { id: 'c2', name: 'patch', arguments: '{"input":"a\\"b"}' },
        ],
        returned: [
          { text: 'sealed', callId: 'c1' },
          { text: 'more', callId: 'c2' },
        ],
      },
      { role: 'tool', toolCallId: 'c1', content: 'Rang' },
      { role: 'tool', toolCallId: 'c2', content: 'Patched' },
      { role: 'assistant', content: null, toolCalls: [{ id: 'mcp_1', name: 'time', arguments: '{}' }] },
      { role: 'tool', toolCallId: 'mcp_1', name: 'time', content: 'noon' },
      { role: 'assistant', content: 'Noon.', toolCalls: [] },
      { role: 'user', content: 'File "a.txt":\n\nGrüße' },
    ]);
  });

  it('that begin with several system prompts have one', () => {
    const input = [
      { role: 'developer', content: 'Be kind.' },
      { role: 'system', content: [{ type: 'input_text', text: 'Be quick.' }] },
      question,
    ];
    expect(parse({ instructions: 'Be brief.', input }).request.messages).toEqual([
      { role: 'system', content: 'Be brief.\n\nBe kind.\n\nBe quick.' },
      question,
    ]);
  });

  it('of unknown types are left out, and so are unknown parts', () => {
    const unknown = ['web_search_call', 'local_shell_call', 'local_shell_call_output', 'compaction', 'tomorrow', 'reasoning'];
    const items = unknown.map((type) => ({ type, id: 'x', call_id: 'y', action: {} }));
    expect(
      messagesOf([
        ...items,
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'Hi!' },
            { type: 'hologram', data: 1 },
          ],
        },
      ]),
    ).toEqual([question]);
  });

  it('of which only unknown parts are left have none: backends refuse empty lists', () => {
    const unknown = [{ type: 'hologram', data: 1 }];
    const call = { type: 'function_call', call_id: 'c1', name: 'a', arguments: '{}' };
    const result = { type: 'function_call_output', call_id: 'c1', output: unknown };
    const said = ['user', 'assistant', 'developer'].map((role) => ({ role, content: unknown }));
    expect(messagesOf([question, ...said, call, result])).toEqual([
      question,
      { role: 'assistant', content: null, toolCalls: [{ id: 'c1', name: 'a', arguments: '{}' }] },
      { role: 'tool', toolCallId: 'c1', content: expect.stringContaining('"hologram"') },
    ]);
  });

  it('of unknown types are named in warnings, and so are unknown parts', () => {
    const content = [{ type: 'input_text', text: 'Hi!' }, { type: 'hologram' }];
    const { warnings } = parse({
      input: [
        { type: 'web_search_call', id: 'x' },
        { role: 'user', content },
      ],
    }).request;
    expect(warnings).toEqual([
      { code: 'part_left_out', message: expect.stringMatching(/^input\.0: "web_search_call"/) },
      { code: 'part_left_out', message: expect.stringMatching(/^input\.1\.content\.1: "hologram"/) },
    ]);
  });

  const url = 'data:image/png;base64,AAAA';
  const source = { type: 'base64', media_type: 'image/png', data: 'AAAA' };
  it.each<[what: string, part: JsonObject, picture: JsonObject]>([
    ['a picture of chat completions', { type: 'image_url', image_url: { url, detail: 'low' } }, { url, detail: 'low' }],
    ['a picture with an object', { type: 'input_image', image_url: { url } }, { url }],
    ['a picture of Messages', { type: 'image', source }, { url }],
  ])('with a slip are understood: %s', (_what, part, picture) => {
    const content = [{ type: 'text', text: 'Look.' }, part];
    const read = [
      { type: 'text', text: 'Look.' },
      { type: 'image_url', image_url: picture },
    ];
    expect(messagesOf([{ role: 'user', content }])).toEqual([{ role: 'user', content: read }]);
    // Without the message around it.
    expect(messagesOf([question, part])).toEqual([question, { role: 'user', content: read.slice(1) }]);
  });

  it('with a file of chat completions are understood', () => {
    const file = { type: 'file', file: { filename: 'a.txt', file_data: `data:text/plain;base64,${base64('Tea.')}` } };
    expect(messagesOf([{ role: 'user', content: [file] }])).toEqual([{ role: 'user', content: 'File "a.txt":\n\nTea.' }]);
  });

  it('may be references to what a conversation can do without', () => {
    const call = { type: 'function_call', call_id: 'c1', name: 'a', arguments: '{}' };
    const references = ['rs_1', 'mcp_1', 'msg_1'].map((id) => ({ type: 'item_reference', id }));
    expect(messagesOf([question, ...references, call, { type: 'function_call_output', call_id: 'c1', output: 'b' }])).toHaveLength(3);
  });

  it('bring tools', () => {
    const item = { type: 'additional_tools', role: 'developer', tools: [{ type: 'function', name: 'late' }] };
    expect(parse({ input: [question, item] }).request.callerFunctions.map(({ name }) => name)).toEqual(['late']);
  });
});

describe('a search for tools', () => {
  const ring = { type: 'function', name: 'ring', defer_loading: true };
  const found = { type: 'namespace', name: 'desk', description: 'A desk', tools: [ring] };
  const call = { type: 'tool_search_call', call_id: 'c1', execution: 'client', status: 'completed', arguments: { query: 'bells' } };
  const output = { type: 'tool_search_output', call_id: 'c1', execution: 'client', status: 'completed', tools: [found] };

  it('is told to the model, and what it has found is offered, each function once', () => {
    const { request } = parse({ input: [question, call, output, { ...call, call_id: 'c2' }, { ...output, call_id: 'c2' }] });
    expect(request.messages.slice(0, 3)).toEqual([
      question,
      { role: 'assistant', content: null, toolCalls: [{ id: 'c1', name: 'tool_search', arguments: '{"query":"bells"}' }] },
      { role: 'tool', toolCallId: 'c1', content: '{"tools":["desk__ring"]}' },
    ]);
    expect(request.callerFunctions.map(({ name }) => name)).toEqual(['desk__ring']);
  });

  it('of OpenAI is left out, but for what it has found', () => {
    const { request } = parse({ input: [question, { ...call, call_id: null }, { ...output, call_id: null }] });
    expect(request.messages).toEqual([question]);
    expect(request.callerFunctions).toHaveLength(1);
  });
});

describe('the tools of a request', () => {
  it('are told of in a hundred warnings at most, however many lists there are', () => {
    const lists = Array.from({ length: 500 }, () => ({ type: 'additional_tools', tools: [{ type: 'web_search' }] }));
    expect(parse({ input: [question, ...lists] }).request.warnings).toHaveLength(100);
  });

  it('of other types are left out with a warning', () => {
    const types = ['local_shell', 'web_search', 'tool_search', 'image_generation'];
    const { request } = parse({ tools: [...types.map((type) => ({ type })), { type: 'function', name: 'a', parameters: null }] });
    expect(request.callerFunctions).toEqual([{ name: 'a', wire: { type: 'function', function: { name: 'a' } } }]);
    expect(request.hostedTools).toEqual([]);
    expect(request.warnings?.map(({ code, message }) => [code, message.split(':')[0]])).toEqual(
      types.map((_type, index) => ['tool_left_out', `tools.${index}`]),
    );
  });

  it('are chosen in the words of chat completions', () => {
    const chosen = (choice: JsonObject): unknown => parse({ tool_choice: choice }).request.toolChoice;
    expect(chosen({ type: 'function', name: 'ring', namespace: 'desk' })).toEqual({ type: 'function', function: { name: 'desk__ring' } });
    expect(chosen({ type: 'custom', name: 'patch' })).toEqual({ type: 'function', function: { name: 'patch' } });
    expect(chosen({ type: 'mcp', server_label: 'function' })).toEqual({ type: 'mcp', server_label: 'functions' });
    const tools = [{ type: 'function', name: 'a' }, { type: 'mcp', server_label: 'town' }, { type: 'web_search' }];
    expect(chosen({ type: 'allowed_tools', mode: 'required', tools })).toEqual({
      type: 'allowed_tools',
      allowed_tools: {
        mode: 'required',
        tools: [
          { type: 'function', function: { name: 'a' } },
          { type: 'mcp', server_label: 'town' },
        ],
      },
    });
  });

  it('are told again without credentials', () => {
    const entry = {
      type: 'mcp',
      server_label: 'a',
      server_url: 'https://a.test/mcp?key=secret',
      authorization: 'secret',
      headers: { x: 'secret' },
    };
    const { options, request } = parse({ tools: [entry] });
    expect(JSON.stringify(options)).not.toContain('secret');
    expect(request.mcpServers).toMatchObject([{ label: 'a', authorization: 'secret' }]);
  });
});
