import { afterEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { isJsonObject } from '../../../src/shared/json/json.ts';
import type { OutboundResponse } from '../../../src/core/outbound.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { documentOf, serverOf } from '../gateway.ts';
import { jsonResponse, scriptedSend } from '../../tools/scripted-send.ts';
import { lessonMemoryMs } from '../../../src/models/remedies/refusal-memory.ts';

const adminKey = 'sk-administrator-of-these-tests';
const apps: TestApp[] = [];
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close();
});

/** How the backend refuses a request; undefined: it answers. */
type Refuse = (body: JsonObject) => { status: number; error: JsonObject } | undefined;

const document = documentOf({
  search: { type: 'object', properties: { q: { type: 'string', minLength: 2, pattern: '^[a-z]+$' } }, required: ['q'] },
  stop: { type: 'object', properties: { why: { type: 'string', maxLength: 50 } } },
});

/** A gateway with the functions `search` and `stop`, three keys, and a backend that refuses as it is told. */
async function start(refuse: Refuse = () => undefined) {
  const bodies: JsonObject[] = [];
  const peer = { refuse };
  let time = Date.UTC(2026, 0, 1, 12);
  const answers = {
    'http://llm.test/v1/models': { object: 'list', data: [{ id: 'm', object: 'model' }] },
    'http://llm.test/v1/chat/completions': async (request: { body?: unknown }): Promise<OutboundResponse> => {
      const body = JSON.parse(String(request.body)) as JsonObject;
      bodies.push(body);
      const refusal = peer.refuse(body);
      if (refusal !== undefined) return jsonResponse({ error: refusal.error }, refusal.status);
      const isSelection = JSON.stringify(body['messages']).includes('Available Tools:');
      const content = isSelection ? '{"tool_calls": []}' : 'Fine.';
      return jsonResponse({ choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }] });
    },
  };
  const app = await testApp(
    { OPENAI_API_BASE_URLS: 'http://llm.test/v1', TOOLWHARF_ADMIN_KEY: adminKey, TOOLWHARF_DEMO: 'false' },
    { registry: memoryRegistry([serverOf('box', document)]), send: scriptedSend(answers).send, now: () => time },
  );
  apps.push(app);
  const call = async (method: 'GET' | 'POST', url: string, { key = adminKey, payload }: { key?: string; payload?: JsonObject } = {}) =>
    app.server.inject({ method, url, headers: { authorization: `Bearer ${key}` }, ...(payload && { payload }) });
  const newKey = async (name: string): Promise<string> =>
    (await call('POST', '/api/keys', { payload: { name, role: 'user' } })).json<{ key: string }>().key;
  const [ada, bob, carl] = [await newKey('ada'), await newKey('bob'), await newKey('carl')];
  return {
    ada,
    bob,
    carl,
    bodies,
    peer,
    pass: (ms: number) => void (time += ms),
    /** One chat; `requests`: what the backend got of it. */
    async ask(key: string, fields: JsonObject = {}, path = '/v1/chat/completions') {
      const before = bodies.length;
      const payload = { model: 'm', messages: [{ role: 'user', content: 'Hello.' }], ...fields };
      const answer = await call('POST', path, { key, payload });
      const isStream = String(answer.headers['content-type']).includes('event-stream');
      const warnings = isStream ? [] : (answer.json<{ warnings?: { code: string; message: string }[] }>().warnings ?? []);
      return { status: answer.statusCode, warnings, requests: bodies.slice(before) };
    },
    async listed(key: string): Promise<JsonObject | undefined> {
      return (await call('GET', '/v1/models', { key })).json<{ data: JsonObject[] }>().data[0];
    },
    refresh: async () => (await call('POST', '/api/tool-servers/box/refresh')).json<JsonObject>(),
    async report(): Promise<string> {
      return JSON.stringify((await call('GET', '/api/tool-servers/box')).json<{ report: JsonObject }>().report['warnings']);
    },
    async examined(): Promise<string> {
      return (await call('GET', '/api/doctor')).body;
    },
  };
}

/** Another request than the usual one: the same one twice confirms nothing. */
const goodbye: JsonObject = { messages: [{ role: 'user', content: 'Goodbye.' }] };

type Gateway = Awaited<ReturnType<typeof start>>;

/** What is asked of the model for this caller's plain chat, in all of its requests. */
async function plainChat(gateway: Gateway, key: string): Promise<unknown> {
  return (await gateway.ask(key)).requests;
}

const refusal = (status: number, message: string, more: JsonObject = {}) => ({
  status,
  error: { message, type: 'invalid_request_error', ...more },
});
const namesIn = (body: JsonObject): string[] =>
  (Array.isArray(body['tools']) ? body['tools'] : []).flatMap((entry) =>
    isJsonObject(entry) && isJsonObject(entry['function']) ? [String(entry['function']['name'])] : [],
  );
const textIn = (body: JsonObject): string => JSON.stringify(body);
const mine = (schema: JsonObject): JsonObject => ({
  type: 'function',
  function: { name: 'mine', parameters: { type: 'object', properties: { a: schema } } },
});
const form = (name: string): JsonObject => ({ type: 'json_schema', json_schema: { name, schema: { type: 'object', properties: {} } } });
const bringsMine = (body: JsonObject): boolean => namesIn(body).includes('mine');

/** What one caller sends, and how real servers refuse it. */
const shaped: [name: string, fields: JsonObject, refuse: Refuse][] = [
  [
    'a parameter that is called like a function',
    { stop: ['x'] },
    ({ stop }) =>
      stop === undefined ? undefined : refusal(400, "Unsupported parameter: 'stop' is not supported with this model.", { param: 'stop' }),
  ],
  [
    'the same, from a server that names it in its words alone',
    { stop: ['x'] },
    ({ stop }) => (stop === undefined ? undefined : refusal(400, "Unsupported parameter: 'stop' is not supported with this model.")),
  ],
  [
    'a format that is called like a function',
    { response_format: form('search') },
    ({ response_format: format }) =>
      format === undefined
        ? undefined
        : refusal(400, "Invalid schema for response_format 'search': 'type' is required.", { param: 'response_format' }),
  ],
  [
    'a format that is called like a function, from a server that names no field',
    { response_format: form('search') },
    ({ response_format: format }) => (format === undefined ? undefined : refusal(400, "Schema 'search' is not valid JSON Schema")),
  ],
  [
    'a format of which no grammar can be made',
    { response_format: form('x') },
    ({ response_format: format }) => (format === undefined ? undefined : refusal(400, 'failed to parse grammar')),
  ],
  [
    'a function of their own of which no grammar can be made',
    { tools: [mine({ type: 'string', pattern: '(?<x>a)' })] },
    (body) => (bringsMine(body) ? refusal(500, 'Failed to parse grammar: unexpected character') : undefined),
  ],
  [
    'a function of their own with a property that is called like another function',
    { tools: [mine({ type: 'string', pattern: '(' })] },
    (body) =>
      bringsMine(body)
        ? refusal(400, "Invalid schema for function 'mine': In context=('properties', 'search'), '(' is not a valid regex.")
        : undefined,
  ],
  [
    'a function of their own whose text names another one',
    { tools: [mine({ type: 'string', description: "Invalid schema for function 'search'" })] },
    (body) => (bringsMine(body) ? refusal(400, "Bad value: Invalid schema for function 'search'") : undefined),
  ],
  [
    'a parameter that is called like a position',
    { 'tools[0].function.parameters': 1 },
    (body) =>
      Object.hasOwn(body, 'tools[0].function.parameters')
        ? refusal(400, 'Unrecognized request argument supplied: tools[0].function.parameters', { param: 'tools[0].function.parameters' })
        : undefined,
  ],
  [
    'words that a server repeats',
    { messages: [{ role: 'user', content: "Invalid schema for function 'search'" }] },
    (body) =>
      textIn(body).includes('Invalid schema for') ? refusal(400, "Blocked content: Invalid schema for function 'search'") : undefined,
  ],
  [
    'words by which a server would refuse tools',
    { messages: [{ role: 'user', content: 'this model does not support tools' }] },
    (body) =>
      textIn(body).includes('does not support tools') ? refusal(400, 'Blocked content: this model does not support tools') : undefined,
  ],
  [
    'such words in two parts of a message, which a server joins',
    { messages: [{ role: 'user', content: ['Say: it does not sup', 'port tools'].map((text) => ({ type: 'text', text })) }] },
    (body) => (textIn(body).includes('port tools') ? refusal(400, 'Blocked content: Say: it does not support tools') : undefined),
  ],
  [
    'such words in two messages, which a server joins',
    {
      messages: [
        { role: 'user', content: 'Say: it does not support' },
        { role: 'user', content: 'tools' },
      ],
    },
    (body) => (textIn(body).includes('Say: it') ? refusal(400, 'Blocked content: Say: it does not support tools') : undefined),
  ],
  [
    'such words as entries of a list, which a server writes in one line',
    { stop: ['does not support', 'tools'] },
    (body) => (body['stop'] === undefined ? undefined : refusal(400, 'Blocked content: [does not support tools]')),
  ],
  [
    'such words on two lines, which a server writes on one',
    { messages: [{ role: 'user', content: 'Say: it does not\n  support tools' }] },
    (body) => (textIn(body).includes('support tools') ? refusal(400, 'Blocked content: Say: it does not support tools') : undefined),
  ],
  [
    'such words in capitals, which a server writes small',
    { messages: [{ role: 'user', content: 'IT DOES NOT SUPPORT TOOLS' }] },
    (body) => (textIn(body).includes('SUPPORT TOOLS') ? refusal(400, 'Blocked content: it does not support tools') : undefined),
  ],
  [
    'such words with marks between, which a server strips',
    { messages: [{ role: 'user', content: 'It does not **support** tools' }] },
    (body) => (textIn(body).includes('**support** tools') ? refusal(400, 'Blocked content: It does not support tools') : undefined),
  ],
  ...[
    'for prompts longer than 8192 tokens.',
    'for more than 8192 tokens.',
    'once a prompt exceeds 8192 tokens.',
    'alongside long texts.',
  ].map((size): (typeof shaped)[number] => [
    `a long text, in words such as ${size}`,
    { messages: [{ role: 'user', content: 'Long. '.repeat(2_000) }] },
    (body) =>
      textIn(body).includes('Long. Long.') && body['tools'] !== undefined ? refusal(400, `Tool use is not supported ${size}`) : undefined,
  ]),
  [
    'a system message, after which a server has no tools',
    {
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello.' },
      ],
    },
    (body) =>
      textIn(body).includes('Be brief') && body['tools'] !== undefined
        ? refusal(400, 'Tool use is not supported in conversations that contain a system message.')
        : undefined,
  ],
  [
    'a format that a model does not take together with tools',
    { response_format: { type: 'json_object' } },
    (body) =>
      body['response_format'] !== undefined && body['tools'] !== undefined
        ? refusal(400, 'Tools are not supported with JSON mode.')
        : undefined,
  ],
  [
    'an effort that a model does not take together with tools',
    { reasoning_effort: 'high' },
    (body) =>
      body['reasoning_effort'] !== undefined && body['tools'] !== undefined
        ? refusal(400, 'Function calling is not supported with reasoning_effort.')
        : undefined,
  ],
  [
    'a picture that a model does not take together with tools',
    {
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] }],
    },
    (body) =>
      textIn(body).includes('image_url') && body['tools'] !== undefined ? refusal(400, 'Tool use is not supported for images.') : undefined,
  ],
  [
    'a stop, beside which a server has no tools',
    { stop: ['END'] },
    (body) =>
      body['stop'] !== undefined && body['tools'] !== undefined ? refusal(400, 'Tools are not supported with stop sequences.') : undefined,
  ],
  [
    'a stream, in which a server has no tools',
    { stream: true },
    (body) =>
      body['stream'] === true && body['tools'] !== undefined ? refusal(400, 'Tools are not supported in streaming mode.') : undefined,
  ],
  [
    'a server of their own with a function that is refused',
    {
      tool_servers: [
        {
          url: 'http://own.test',
          openapi: documentOf({ find: { type: 'object', properties: { a: { type: 'string', description: "of tool 'search'" } } } }),
        },
      ],
    },
    (body) => (namesIn(body).includes('find') ? refusal(400, "Invalid schema for function 'find': a string of tool 'search'") : undefined),
  ],
];

/** Errors that quote what the model wrote; a repeat may succeed by chance. */
const quoting: [name: string, refused: NonNullable<ReturnType<Refuse>>][] = [
  [
    'arguments that do not fit',
    refusal(400, "tool call validation failed: parameters for tool search did not match schema: errors: [missing properties: 'q']", {
      code: 'tool_use_failed',
      failed_generation: '{"name":"search","arguments":{}}',
    }),
  ],
  ['an output without an end', refusal(500, 'Failed to parse input at pos 12: {"name": "search", "parameters": {"q"')],
  [
    'a call that is no JSON',
    refusal(500, 'error parsing tool call: raw=\'{"name":"search","parameters":{"q":"x"}\', err=unexpected end of JSON input'),
  ],
  ['arguments that another server checks', refusal(422, "Arguments of the call do not conform to the schema of tool 'search'")],
  ['an output in words of no known server', refusal(400, 'Model wrote {"function": "search", "parameters": "json"}')],
];

describe('a refusal that one caller may have caused', () => {
  it.each(shaped)('by %s changes nothing for another one', async (_name, fields, refuse) => {
    const gateway = await start();
    const before = await plainChat(gateway, gateway.bob);
    gateway.peer.refuse = refuse;
    for (let chat = 0; chat < 2; chat += 1) await gateway.ask(gateway.ada, fields);
    expect(await plainChat(gateway, gateway.bob)).toEqual(before);
    expect(await plainChat(gateway, gateway.ada)).toEqual(before);
  });

  it.each(shaped)('by %s changes nothing for another one, even if a repeat succeeds by chance', async (_name, fields, refuse) => {
    for (const failures of [1, 2, 3]) {
      const gateway = await start();
      const before = await plainChat(gateway, gateway.bob);
      let left = failures;
      gateway.peer.refuse = (body) => ((left -= 1) >= 0 ? refuse(body) : undefined);
      await gateway.ask(gateway.ada, fields);
      gateway.peer.refuse = () => undefined;
      expect(await plainChat(gateway, gateway.bob)).toEqual(before);
    }
  });

  it.each(quoting)('about %s teaches nothing about the function', async (_name, refused) => {
    for (const failures of [1, 2, 3]) {
      const gateway = await start();
      const before = await plainChat(gateway, gateway.bob);
      let left = failures;
      gateway.peer.refuse = () => ((left -= 1) >= 0 ? refused : undefined);
      await gateway.ask(gateway.ada);
      gateway.peer.refuse = () => undefined;
      for (const key of [gateway.ada, gateway.bob]) expect(await plainChat(gateway, key)).toEqual(before);
    }
  });

  it.each([
    ['a value', "Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model."],
    ['a value, in other words', 'reasoning_effort: invalid value: `xhigh`, expected one of `low`, `medium`, `high`'],
    ['a value without quotes', 'reasoning_effort xhigh is not supported'],
    ['a value that few servers have', "Unsupported parameter: 'reasoning_effort'."],
    ['functions beside it', 'Function tools with reasoning_effort are not supported for m in /v1/chat/completions.', 'reasoning_disabled'],
  ])('because of %s leaves the effort of another one', async (_name, message, code = 'parameter_refused') => {
    const gateway = await start();
    const effort = (value: string): JsonObject => ({ max_tokens: 100, output_config: { effort: value } });
    const before = (await gateway.ask(gateway.bob, effort('low'), '/v1/messages')).requests;
    expect(before[0]).toMatchObject({ reasoning_effort: 'low' });
    gateway.peer.refuse = ({ reasoning_effort: given }) => (given === 'xhigh' ? refusal(400, message) : undefined);
    const refused = await gateway.ask(gateway.ada, effort('xhigh'), '/v1/messages');
    expect(refused).toMatchObject({
      status: 200,
      requests: [{ reasoning_effort: 'xhigh' }, {}],
      warnings: [{ code }],
    });
    expect((await gateway.ask(gateway.bob, effort('low'), '/v1/messages')).requests).toEqual(before);
    expect((await gateway.ask(gateway.ada, effort('xhigh'), '/v1/messages')).requests).toHaveLength(1);
  });

  it.each([
    ['names', "Unsupported parameter: 'temperature' is not supported with reasoning_effort."],
    ['names as a condition', 'reasoning_effort is not supported when temperature is set'],
    ['does not name', 'reasoning_effort is not supported in combination with sampling parameters'],
  ])('because of a temperature that it %s leaves the effort of requests without it', async (_name, message) => {
    const gateway = await start();
    const fields: JsonObject = { max_tokens: 100, output_config: { effort: 'low' } };
    const warm: JsonObject = { ...fields, temperature: 0.3 };
    const before = (await gateway.ask(gateway.bob, fields, '/v1/messages')).requests;
    gateway.peer.refuse = (body) =>
      body['temperature'] !== undefined && body['reasoning_effort'] !== undefined ? refusal(400, message) : undefined;
    expect((await gateway.ask(gateway.ada, warm, '/v1/messages')).requests).toHaveLength(2);
    expect((await gateway.ask(gateway.ada, warm, '/v1/messages')).requests).toHaveLength(1);
    for (const key of [gateway.ada, gateway.bob]) expect((await gateway.ask(key, fields, '/v1/messages')).requests).toEqual(before);
  });
});

it('a refusal of stream_options beside something that it does not name leaves the usage of others', async () => {
  const gateway = await start(({ stop, stream_options: options }) =>
    stop === undefined || options === undefined ? undefined : refusal(400, 'stream_options is not supported in combination with others'),
  );
  const stopped = { stream: true, stop: ['END'] };
  const asksForUsage = (requests: readonly JsonObject[]): boolean[] => requests.map((body) => body['stream_options'] !== undefined);
  expect(asksForUsage((await gateway.ask(gateway.ada, stopped)).requests)).toEqual([true, false]);
  expect(asksForUsage((await gateway.ask(gateway.ada, stopped)).requests)).toEqual([false]);
  expect(asksForUsage((await gateway.ask(gateway.bob, { stream: true })).requests)).toEqual([true]);
});

it('a refusal of tools in words that hide its cause leaves the tools and the model lists of others', async () => {
  const gateway = await start();
  const before = await plainChat(gateway, gateway.bob);
  gateway.peer.refuse = ({ tools, messages }) =>
    tools !== undefined && Array.isArray(messages) && messages.length > 4 ? refusal(400, 'This model does not support tools.') : undefined;
  const messages = Array.from({ length: 5 }, (_, turn) => ({ role: 'user', content: `Message ${turn}.` }));
  expect((await gateway.ask(gateway.ada, { messages })).requests.length).toBeGreaterThan(1);
  expect(await plainChat(gateway, gateway.bob)).toEqual(before);
  expect(await gateway.listed(gateway.ada)).toMatchObject({ capabilities: ['completion'] });
  expect(await gateway.listed(gateway.bob)).not.toHaveProperty('capabilities');
});

it('a refusal of tools beside earlier calls leaves the tools of others', async () => {
  const gateway = await start();
  const before = await plainChat(gateway, gateway.bob);
  gateway.peer.refuse = ({ tools, messages }) =>
    tools !== undefined && JSON.stringify(messages).includes('tool_calls')
      ? refusal(400, 'This model does not support tool calls in assistant messages.')
      : undefined;
  const call = { id: 'call_1', type: 'function', function: { name: 'search', arguments: '{}' } };
  const messages = [
    { role: 'user', content: 'Look.' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: 'Nothing.' },
    { role: 'user', content: 'And now?' },
  ];
  const { status, requests } = await gateway.ask(gateway.ada, { messages });
  expect(status).toBe(200);
  expect(requests.map(({ tools }) => tools !== undefined)).toEqual([true, ...requests.slice(1).map(() => false)]);
  expect(requests.length).toBeGreaterThan(1);
  for (const key of [gateway.ada, gateway.bob]) expect(await plainChat(gateway, key)).toEqual(before);
});

describe('a registered function that a backend refuses by itself', () => {
  const refusesPattern: Refuse = (body) =>
    textIn(body).includes('"pattern"') ? refusal(400, "Invalid schema for function 'search': pattern is not permitted.") : undefined;
  const code = 'function_schema_refused';

  it('is simplified for everybody once two keys were refused, and every chat, the report and the doctor say so', async () => {
    const gateway = await start(refusesPattern);
    expect(await gateway.ask(gateway.ada)).toMatchObject({ status: 200, requests: { length: 2 }, warnings: [{ code }] });
    expect(await gateway.ask(gateway.ada)).toMatchObject({ status: 200, requests: { length: 1 }, warnings: [{ code }] });
    expect(await gateway.ask(gateway.bob, goodbye)).toMatchObject({ status: 200, requests: { length: 2 }, warnings: [{ code }] });
    const next = await gateway.ask(gateway.carl);
    expect(next).toMatchObject({ requests: { length: 1 }, warnings: [{ code, message: expect.stringContaining('"search"') as string }] });
    expect(namesIn(next.requests[0] ?? {})).toEqual(['search', 'stop']);
    // The function that was not refused keeps its details.
    expect(textIn(next.requests[0] ?? {})).toContain('maxLength');
    expect(await gateway.report()).toContain('"search');
    expect(await gateway.examined()).toContain('2026-01-01T13:00Z');
  });

  it('is offered unchanged again after its server was refreshed', async () => {
    const gateway = await start(refusesPattern);
    await gateway.ask(gateway.ada);
    await gateway.ask(gateway.bob, goodbye);
    await gateway.refresh();
    expect(await gateway.report()).not.toContain('refuses its schema');
    gateway.peer.refuse = () => undefined;
    expect(await gateway.ask(gateway.bob)).toMatchObject({ requests: { length: 1 }, warnings: [] });
    expect(textIn(gateway.bodies.at(-1) ?? {})).toContain('"pattern"');
  });

  it('is offered unchanged again after an hour', async () => {
    const gateway = await start(refusesPattern);
    await gateway.ask(gateway.ada);
    await gateway.ask(gateway.bob, goodbye);
    gateway.pass(lessonMemoryMs + 1);
    expect(await gateway.examined()).not.toContain('refuses its schema');
    expect(await gateway.ask(gateway.bob)).toMatchObject({ requests: { length: 2 } });
  });

  it('is left out where nothing else helps', async () => {
    const gateway = await start((body) => {
      const at = namesIn(body).indexOf('search');
      return at < 0 ? undefined : refusal(400, 'Invalid schema', { param: `tools[${at}].function.parameters` });
    });
    expect(await gateway.ask(gateway.ada)).toMatchObject({ status: 200, requests: { length: 3 } });
    expect(await gateway.ask(gateway.bob, goodbye)).toMatchObject({ status: 200, requests: { length: 3 } });
    const next = await gateway.ask(gateway.carl);
    expect(next).toMatchObject({ requests: { length: 1 }, warnings: [{ code }] });
    expect(namesIn(next.requests[0] ?? {})).toEqual(['stop']);
  });

  it('beside a function of the caller is repaired for them and whoever brings the same, and tried as it is by others', async () => {
    const own = { tools: [mine({ type: 'string' })] };
    const gateway = await start(refusesPattern);
    expect(await gateway.ask(gateway.ada, own)).toMatchObject({ status: 200, requests: { length: 2 } });
    expect(await gateway.ask(gateway.ada, own)).toMatchObject({ requests: { length: 1 }, warnings: [{ code }] });
    gateway.peer.refuse = () => undefined;
    for (const [key, fields] of [
      [gateway.bob, own],
      [gateway.bob, {}],
      [gateway.ada, {}],
    ] as const)
      expect(await gateway.ask(key, fields)).toMatchObject({ requests: { length: 1 }, warnings: [] });
  });

  it('that nobody names makes all of the same offer simple, and no other offer', async () => {
    const gateway = await start((body) => (/"pattern"|maxLength/.test(textIn(body)) ? refusal(400, 'failed to parse grammar') : undefined));
    expect(await gateway.ask(gateway.ada)).toMatchObject({ status: 200, requests: { length: 2 } });
    expect(await gateway.ask(gateway.bob, goodbye)).toMatchObject({ status: 200, requests: { length: 2 } });
    expect(await gateway.ask(gateway.carl)).toMatchObject({ requests: { length: 1 }, warnings: [{ code }] });
    gateway.peer.refuse = () => undefined;
    const alone = await gateway.ask(gateway.bob, { tool_ids: ['server:box/stop'] });
    expect(textIn(alone.requests[0] ?? {})).toContain('maxLength');
  });
});

describe('a model without tools', () => {
  const refusesTools: Refuse = ({ tools }) => (tools === undefined ? undefined : refusal(400, 'm does not support tools'));

  it('is asked for a selection by the caller once one chat has found out, and by everybody once another key has', async () => {
    const gateway = await start(refusesTools);
    const withTools = async (key: string, fields: JsonObject = {}): Promise<boolean[]> =>
      (await gateway.ask(key, fields)).requests.map(({ tools }) => tools !== undefined);
    expect(await withTools(gateway.ada)).toEqual([true, false, false]);
    expect(await withTools(gateway.ada, goodbye)).toEqual([false, false]);
    expect(await withTools(gateway.bob, goodbye)).toEqual([true, false, false]);
    expect(await withTools(gateway.carl)).toEqual([false, false]);
    expect(await gateway.examined()).toContain('no native tool calls');
  });

  it('is remembered for a caller with functions of their own alone, and only with these', async () => {
    const own = { tools: [mine({ type: 'string' })] };
    const gateway = await start(refusesTools);
    await gateway.ask(gateway.ada, own);
    expect((await gateway.ask(gateway.ada, own)).requests.every(({ tools }) => tools === undefined)).toBe(true);
    expect((await gateway.ask(gateway.bob, own)).requests[0]).toHaveProperty('tools');
  });

  it('is not remembered where it answers without them no better', async () => {
    const gateway = await start(() => refusal(400, 'm does not support tools'));
    await gateway.ask(gateway.ada);
    gateway.peer.refuse = () => undefined;
    expect((await gateway.ask(gateway.bob)).requests.map(({ tools }) => tools !== undefined)).toEqual([true]);
  });
});
