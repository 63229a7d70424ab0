import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../../src/core/errors.ts';
import { parseMessagesBody } from '../../../../src/http/dialects/messages/parse-messages-body.ts';
import type { JsonObject, JsonValue } from '../../../../src/shared/json/json.ts';

const plain = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] };

function parse(body: JsonObject, headers = {}) {
  return parseMessagesBody({ ...plain, ...body }, headers);
}

/** The messages of a conversation in our words. */
function read(...messages: JsonValue[]) {
  return parse({ messages }).request.messages;
}

function faultOf(body: JsonObject): { param: string | null; message: string } {
  try {
    parse(body);
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'invalid_request') return { param: error.param, message: error.message };
  }
  return expect.unreachable();
}

const png = { type: 'base64', media_type: 'image/png', data: 'AAAA' };

describe('messages', () => {
  it('system text comes as text, as blocks, and as messages', () => {
    const system = [
      { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1;' },
      { type: 'text', text: 'One.', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'Two.' },
    ];
    expect(parse({ system }).request.messages[0]).toEqual({ role: 'system', content: 'One.\n\nTwo.' });
    expect(read({ role: 'user', content: 'Hi' }, { role: 'system', content: [{ type: 'text', text: 'Now.' }] })[1]).toEqual({
      role: 'system',
      content: 'Now.',
    });
  });

  const url = 'data:image/png;base64,AAAA';
  it.each<[what: string, block: JsonObject, part: JsonObject]>([
    ['a picture of chat completions', { type: 'image_url', image_url: { url, detail: 'low' } }, { url, detail: 'low' }],
    ['its URL alone', { type: 'image_url', image_url: url }, { url }],
    ['a picture of Responses', { type: 'input_image', image_url: url }, { url }],
    ['a picture as its data: URL', { type: 'image', source: { ...png, data: url } }, { url }],
    ['a source without a type', { type: 'image', source: { media_type: 'image/png', data: 'AAAA' } }, { url }],
  ])('a slip is understood: %s', (_what, block, part) => {
    const [message] = read({ role: 'user', content: [{ type: 'input_text', text: 'Look.' }, block] });
    expect(message?.content).toEqual([
      { type: 'text', text: 'Look.' },
      { type: 'image_url', image_url: part },
    ]);
  });

  it('unknown blocks are named in warnings, once for each type', () => {
    const content = [{ type: 'text', text: 'Hi' }, { type: 'hologram' }, { type: 'container_upload', file_id: 'f' }, { type: 'hologram' }];
    const answered = [{ role: 'assistant', content: [{ type: 'server_tool_use', id: 's' }] }, plain.messages[0] ?? {}];
    expect(parse({ messages: [{ role: 'user', content }, ...answered] }).request.warnings).toEqual([
      { code: 'part_left_out', message: expect.stringMatching(/^messages\.0\.content\.1: "hologram".* 1 more/) },
      { code: 'part_left_out', message: expect.stringMatching(/^messages\.0\.content\.2: "container_upload"/) },
      { code: 'part_left_out', message: expect.stringMatching(/^messages\.1\.content\.0: "server_tool_use"/) },
    ]);
    expect(parse({}).request.warnings).toBeUndefined();
  });

  it('the last message is refused if all of its blocks are unknown, an earlier one is not', () => {
    const unreadable = { role: 'user', content: [{ type: 'hologram' }] };
    expect(faultOf({ messages: [...plain.messages, { role: 'assistant', content: 'Hm.' }, unreadable] })).toEqual({
      param: 'messages.2.content.0.type',
      message: expect.stringContaining('"hologram"'),
    });
    expect(read(unreadable, { role: 'assistant', content: 'Hm.' }, plain.messages[0] ?? {})).toHaveLength(2);
  });

  it('a result names the tools that it refers to, and its unreadable parts', () => {
    const content = [
      { type: 'tool_reference', tool_name: 'read_file' },
      { type: 'tool_reference', tool_name: 'write_file' },
      { type: 'hologram' },
    ];
    const messages = read(
      ...plain.messages,
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'find', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content }] },
    );
    expect(messages[2]?.content).toMatch(/"read_file".*"write_file".*\[Here stood a part of the type "hologram"/s);
  });

  it('images and documents become parts', () => {
    const content = [
      { type: 'text', text: 'Look.' },
      { type: 'image', source: png },
      { type: 'image', source: { type: 'url', url: 'https://x.test/a.png' } },
      { type: 'document', title: 'Notes', source: { type: 'text', media_type: 'text/plain', data: 'Tea.' } },
      { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'Milk.' }] } },
      { type: 'search_result', title: 'T', source: 's', content: [{ type: 'text', text: 'Found.' }] },
      { type: 'thing_of_tomorrow' },
    ];
    expect(read({ role: 'user', content })).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look.' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
          { type: 'text', text: 'Notes' },
          { type: 'text', text: 'Tea.' },
          { type: 'text', text: 'Milk.' },
          { type: 'text', text: 'T\ns' },
          { type: 'text', text: 'Found.' },
        ],
      },
    ]);
  });

  it('results follow their calls, with failures as the gateway tells them, and images behind', () => {
    const use = (id: string) => ({ type: 'tool_use', id, name: 'f', input: { a: 1 } });
    const results = [
      { type: 'tool_result', tool_use_id: 'a', content: 'Fine' },
      { type: 'tool_result', tool_use_id: 'b', content: [{ type: 'text', text: 'Broken' }], is_error: true },
      { type: 'tool_result', tool_use_id: 'c', content: [{ type: 'image', source: png }] },
      { type: 'tool_result', tool_use_id: 'd' },
      { type: 'text', text: 'Go on.' },
    ];
    const messages = read(
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: ['a', 'b', 'c', 'd'].map(use) },
      { role: 'user', content: results },
    );
    expect(messages.slice(1)).toEqual([
      { role: 'assistant', content: null, toolCalls: ['a', 'b', 'c', 'd'].map((id) => ({ id, name: 'f', arguments: '{"a":1}' })) },
      { role: 'tool', toolCallId: 'a', content: 'Fine' },
      { role: 'tool', toolCallId: 'b', content: '{"error":"Broken"}' },
      { role: 'tool', toolCallId: 'c', content: 'The result is the images below.' },
      { role: 'tool', toolCallId: 'd', content: '' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Images in the result of the call c:' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'text', text: 'Go on.' },
        ],
      },
    ]);
  });

  it('calls of the gateway become rounds', () => {
    const executed = (id: string) => [
      { type: 'mcp_tool_use', id, name: 'f', server_name: 's', input: {} },
      { type: 'mcp_tool_result', tool_use_id: id, is_error: false, content: [{ type: 'text', text: id }] },
    ];
    const content = [{ type: 'text', text: 'First.' }, ...executed('a'), ...executed('b'), { type: 'text', text: 'Done.' }];
    const { request } = parse({ messages: [...plain.messages, { role: 'assistant', content }] });
    expect(request.hasExecutedCalls).toBe(true);
    expect(request.messages.slice(1)).toEqual([
      { role: 'assistant', content: 'First.', toolCalls: [{ id: 'a', name: 'f', arguments: '{}' }] },
      { role: 'tool', toolCallId: 'a', content: 'a' },
      { role: 'assistant', content: null, toolCalls: [{ id: 'b', name: 'f', arguments: '{}' }] },
      { role: 'tool', toolCallId: 'b', content: 'b' },
      { role: 'assistant', content: 'Done.', toolCalls: [] },
    ]);
  });

  it('what the model wants back stays closed, with the call that follows it', () => {
    const use = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} });
    const turn = (...blocks: JsonObject[]) => read({ role: 'user', content: 'Hi' }, { role: 'assistant', content: blocks })[1];
    const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'one' };
    const redacted = { type: 'redacted_thinking', data: 'two' };
    expect(turn(thinking, use('a'), redacted, use('b'))).toMatchObject({
      returned: [
        { text: 'one', shown: 'Hm.', callId: 'a', block: thinking },
        { text: 'two', callId: 'b', block: redacted },
      ],
    });
    for (const unsigned of [
      { ...thinking, signature: '' },
      { type: 'thinking', thinking: 'Hm.' },
      { ...redacted, data: 1 },
    ])
      expect(turn(unsigned, use('a'))).not.toHaveProperty('returned');
  });

  it('what cannot be read is refused in the question and named in the history', () => {
    const pdf = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' } };
    const asked = { role: 'user', content: [pdf] };
    expect(faultOf({ messages: [asked] })).toMatchObject({ param: 'messages.0.content.0.source.type' });
    const [first] = read(asked, { role: 'assistant', content: 'What?' }, { role: 'user', content: 'Never mind.' });
    expect(first?.content).toMatch(/no text/);
    const result = { type: 'tool_result', tool_use_id: 'a', content: [pdf] };
    const use = { type: 'tool_use', id: 'a', name: 'f', input: {} };
    const messages = read({ role: 'user', content: 'Hi' }, { role: 'assistant', content: [use] }, { role: 'user', content: [result] });
    expect(messages[2]?.content).toMatch(/no text/);
  });
});

describe('tools', () => {
  const own = { name: 'f', description: 'Does f', input_schema: { type: 'object' }, cache_control: { type: 'ephemeral' }, strict: true };
  const search = { type: 'web_search_20250305', name: 'web_search' };

  it('those of the caller are offered, those of Anthropic left out with a warning', () => {
    const { request } = parse({ tools: [own, search, { ...own, name: 'g', type: 'custom' }] });
    expect(request.callerFunctions.map(({ name }) => name)).toEqual(['f', 'g']);
    expect(request.callerFunctions[0]?.wire).toEqual({
      type: 'function',
      function: { name: 'f', description: 'Does f', parameters: { type: 'object' } },
    });
    expect(request.warnings).toMatchObject([{ code: 'tool_left_out', message: expect.stringContaining('web_search_20250305') }]);
  });

  it.each([
    [{ type: 'auto' }, 'auto', undefined],
    [{ type: 'any', disable_parallel_tool_use: true }, 'required', false],
    [{ type: 'tool', name: 'f' }, { type: 'function', function: { name: 'f' } }, undefined],
    [{ type: 'none' }, 'none', undefined],
  ])('tool_choice %j', (choice, expected, parallel) => {
    const { request } = parse({ tools: [own], tool_choice: choice });
    expect([request.toolChoice, request.parallelToolCalls]).toEqual([expected, parallel]);
  });

  it('a choice that demands a tool of Anthropic is refused', () => {
    expect(faultOf({ tools: [search], tool_choice: { type: 'tool', name: 'web_search' } })).toMatchObject({ param: 'tool_choice' });
  });
});

describe('MCP servers', () => {
  const desk = { type: 'url', name: 'desk', url: 'https://desk.test/mcp', authorization_token: 'secret' };
  const set = { type: 'mcp_toolset', mcp_server_name: 'desk' };
  const serversOf = (server: JsonObject, ...tools: JsonObject[]) =>
    parse({ mcp_servers: [{ ...desk, ...server }], tools }).request.mcpServers;

  it('come with their token, and wait for no approval', () => {
    expect(serversOf({})).toEqual([
      {
        label: 'desk',
        url: 'https://desk.test/mcp',
        headers: {},
        authorization: 'secret',
        allowed: {},
        approval: { never: {} },
        param: 'mcp_servers.0',
      },
    ]);
    expect(serversOf({ tool_configuration: { enabled: false } })).toBeUndefined();
  });

  it.each<[JsonObject, JsonObject[], JsonObject]>([
    [{ tool_configuration: { allowed_tools: ['a'] } }, [], { names: ['a'] }],
    [{}, [set], {}],
    [{}, [{ ...set, configs: { a: { enabled: false }, b: { defer_loading: true } } }], { exceptNames: ['a'] }],
    [{}, [{ ...set, default_config: { enabled: false }, configs: { a: { enabled: true } } }], { names: ['a'] }],
    [{}, [{ ...set, default_config: { enabled: false } }], { names: [] }],
    [
      { tool_configuration: { allowed_tools: ['a', 'b'] } },
      [{ ...set, default_config: { enabled: false }, configs: { b: { enabled: true }, c: { enabled: true } } }],
      { names: ['b'] },
    ],
  ])('%j with %j offers %j', (server, tools, allowed) => {
    expect(serversOf(server, ...tools)).toMatchObject([{ allowed }]);
    expect(parse({ mcp_servers: [desk], tools }).request.warnings).toBeUndefined();
  });

  it.each<[JsonObject, string]>([
    [{ mcp_servers: [{ name: 'desk' }] }, 'mcp_servers.0.url'],
    [{ mcp_servers: [{ ...desk, url: 'file:///x' }] }, 'mcp_servers.0.url'],
    [{ mcp_servers: [desk, desk] }, 'mcp_servers.1'],
    [{ mcp_servers: [{ ...desk, tool_configuration: { allow_tools: [] } }] }, 'mcp_servers.0.tool_configuration'],
    [{ tools: [set] }, 'tools.0.mcp_server_name'],
    [{ mcp_servers: [desk], tools: [set, set] }, 'tools.1.mcp_server_name'],
    [{ mcp_servers: [desk], tools: [{ type: 'mcp_toolset' }] }, 'tools.0.mcp_server_name'],
  ])('%j is refused', (body, param) => expect(faultOf(body).param).toBe(param));
});

describe('parameters', () => {
  it('only what backends know reaches them', () => {
    const schema = { type: 'object', properties: {} };
    const { request } = parse({
      temperature: 0,
      top_p: 0.9,
      top_k: 40,
      stop_sequences: ['END'],
      metadata: { user_id: 'u'.repeat(100) },
      output_config: { format: { type: 'json_schema', schema }, effort: 'max' },
      thinking: { type: 'adaptive' },
      context_management: { edits: [] },
      betas: ['x'],
      service_tier: 'auto',
      container: 'c',
      params: { seed: 7, temperature: 1 },
      tool_ids: ['server:shop'],
    });
    expect(request.parameters).toEqual({
      max_tokens: 10,
      derived_parameters: ['max_tokens', 'reasoning_effort'],
      temperature: 0,
      top_p: 0.9,
      top_k: 40,
      stop: ['END'],
      user: expect.stringMatching(/^[\da-f]{64}$/),
      reasoning_effort: 'xhigh',
      response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } },
      seed: 7,
    });
    expect(request.toolIds).toEqual(['server:shop']);
  });

  it.each([
    [{ type: 'enabled', budget_tokens: 4_000 }, 'low', true],
    [{ type: 'enabled', budget_tokens: 10_000 }, 'medium', true],
    [{ type: 'enabled', budget_tokens: 32_000 }, 'high', true],
    [{ type: 'adaptive' }, undefined, true],
    [{ type: 'adaptive', display: 'omitted' }, undefined, false],
    [{ type: 'disabled' }, undefined, false],
    [undefined, undefined, false],
  ])('thinking %j', (thinking, effort, isShown) => {
    const { request, options } = parse({ ...(thinking && { thinking }) });
    expect([request.parameters['reasoning_effort'], options['showsThinking']]).toEqual([effort, isShown]);
  });

  it('disabled thinking is switched off where there is a switch', () => {
    const { parameters } = parse({ thinking: { type: 'disabled' } }).request;
    expect(parameters).toEqual({ max_tokens: 10, derived_parameters: ['max_tokens'], think: false, for_ollama_only: ['think'] });
  });

  it.each([
    ['context-1m-2025-08-07, mcp-client-2025-04-04', true],
    ['context-1m-2025-08-07', false],
  ])('calls of the gateway are shown to clients of MCP: %s', (beta, isShown) => {
    expect(parse({}, { 'anthropic-beta': beta }).options['showsCalls']).toBe(isShown);
  });
});

it.each<[JsonObject, string]>([
  [{ model: '' }, 'model'],
  [{ max_tokens: null }, 'max_tokens'],
  [{ max_tokens: 0 }, 'max_tokens'],
  [{ messages: [] }, 'messages'],
  [{ messages: [{ role: 'user', content: [{ type: 'hologram' }] }] }, 'messages.0.content.0.type'],
  [{ messages: [{ role: 'tool', content: '' }] }, 'messages.0.role'],
  [{ messages: [{ role: 'user', content: 7 }] }, 'messages.0.content'],
  [{ messages: [{ role: 'user', content: [{ type: 'text' }] }] }, 'messages.0.content.0.text'],
  [{ messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'base64' } }] }] }, 'messages.0.content.0.source.media_type'],
  [{ messages: [{ role: 'user', content: [{ type: 'tool_result' }] }] }, 'messages.0.content.0.tool_use_id'],
  [{ messages: [{ role: 'assistant', content: [{ type: 'tool_use', name: 'f' }] }] }, 'messages.0.content.0.id'],
  [{ system: 7 }, 'system'],
  [{ tools: [{ name: 'f' }] }, 'tools.0.input_schema'],
  [{ tools: [{ type: 'function', function: { name: 'f', parameters: {} } }] }, 'tools.0.type'],
  [{ tool_choice: 'auto' }, 'tool_choice'],
  [{ tool_choice: { type: 'tool' } }, 'tool_choice.name'],
  [{ thinking: { type: 'some' } }, 'thinking.type'],
  [{ output_config: { format: { type: 'text' } } }, 'output_config.format.type'],
  [{ stop_sequences: 'END' }, 'stop_sequences'],
  [{ temperature: 'hot' }, 'temperature'],
  [{ tool_ids: 'all' }, 'tool_ids'],
  [{ thread: { type: 'create' } }, 'thread'],
])('%j is refused by the name of its field', (body, param) => {
  const fault = faultOf(body);
  expect(fault.param).toBe(param);
  expect(fault.message).toContain(param);
});
