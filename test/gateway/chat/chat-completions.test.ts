import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import type { ModelBackend } from '../../../src/core/models/model.ts';
import type { Registry, ToolServerRecord } from '../../../src/core/stores/registry.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { backendOf, listen, readChunks, testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { calls, says, ScriptedModel } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { outboundBody } from '../../_support/outbound-body.ts';

const messages = [{ role: 'user', content: 'Hi' }];

async function ask(body: unknown, turns: ScriptStep[][] = [], path = '/v1/chat/completions') {
  const model = new ScriptedModel(...turns);
  await using app = await testApp({}, { backends: [backendOf(model)] });
  return { response: await post(app, body, path), model, app };
}

async function post(app: TestApp, body: unknown, path = '/v1/chat/completions') {
  return app.server.inject({
    method: 'POST',
    url: path,
    headers: { host: '127.0.0.1:8080', 'content-type': 'application/json' },
    payload: body as object,
  });
}

it.each(['/v1/chat/completions', '/api/chat/completions', '/api/v1/chat/completions'])('%s answers a completion', async (path) => {
  const { response } = await ask({ model: 'model', messages }, [says('Hello.')], path);
  expect(response.statusCode).toBe(200);
  expect(response.json()).toMatchObject({
    object: 'chat.completion',
    model: 'model',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  });
  expect(response.headers['x-toolwharf-run-id']).toMatch(/^[\w-]{20,}$/);
  expect(response.headers['x-request-id']).toMatch(/^[\w-]{20,}$/);
});

it('an answer of megabytes comes whole, with the headers of a short one', async () => {
  const long = 'ä word, '.repeat(400_000);
  const { response } = await ask({ model: 'model', messages }, [says(long)]);
  const { response: short } = await ask({ model: 'model', messages }, [says('Hello.')]);
  expect(response.json().choices[0].message.content === long).toBe(true);
  expect(response.headers['content-type']).toBe(short.headers['content-type']);
  expect(response.headers['content-length']).toBe(String(Buffer.byteLength(response.body)));
});

it.each(['response', 'choice'] as const)('fields of the %s that the backend sends first come after the role', async (level) => {
  const turn: ScriptStep[] = [{ type: 'extra', level, fields: { provider: 'some' } }, ...says('Hello.')];
  const { response } = await ask({ model: 'model', messages, stream: true }, [turn]);
  const [first, second] = readChunks(response.body);
  expect(first).toMatchObject({ choices: [{ delta: { role: 'assistant', content: '' } }] });
  expect(JSON.stringify(second)).toContain('"provider":"some"');
});

it('the absent refusal of an answer that is sent back reaches no backend', async () => {
  const { response } = await ask({ model: 'model', messages }, [says('Hello.')]);
  const { message } = response.json().choices[0];
  expect(message).toEqual({ role: 'assistant', content: 'Hello.', refusal: null });
  const { model } = await ask({ model: 'model', messages: [...messages, message, ...messages] }, [says('Again.')]);
  expect(model.requests[0]?.messages[1]).toEqual({ role: 'assistant', content: 'Hello.', toolCalls: [] });
});

it('the words with which a model declines stand beside no content, streamed and not', async () => {
  const words: ScriptStep[] = ['I will ', 'not.'].map((refusal) => ({ type: 'extra', level: 'delta', fields: { refusal } }));
  const turns: ScriptStep[][] = [[...words, { type: 'finish', reason: 'stop' }]];
  const whole = await ask({ model: 'model', messages }, turns);
  expect(whole.response.json().choices[0].message).toEqual({ role: 'assistant', content: null, refusal: 'I will not.' });
  const streamed = await ask({ model: 'model', messages, stream: true }, turns);
  expect(readChunks(streamed.response.body)).toMatchObject([
    { choices: [{ delta: { role: 'assistant', content: null } }] },
    { choices: [{ delta: { refusal: 'I will ' } }] },
    { choices: [{ delta: { refusal: 'not.' } }] },
    { choices: [{ delta: {}, finish_reason: 'stop' }] },
    '[DONE]',
  ]);
});

it('a stream is a sequence of chunks that ends with [DONE] and gives the same answer', async () => {
  const turn = (): ScriptStep[] => [{ type: 'reasoning', text: 'Hm.' }, { type: 'text', text: 'Hel' }, ...says('lo.')];
  const { response } = await ask({ model: 'model', messages, stream: true }, [turn()]);
  expect(response.headers['content-type']).toBe('text/event-stream; charset=utf-8');
  const chunks = readChunks(response.body);
  expect(chunks.at(-1)).toBe('[DONE]');
  const deltas = chunks.slice(0, -1).map((chunk) => (chunk as { choices: { delta: Record<string, string> }[] }).choices[0]?.delta);
  expect(deltas[0]).toEqual({ role: 'assistant', content: '' });
  expect(deltas.map((delta) => delta?.['content'] ?? '').join('')).toBe('Hello.');
  expect(deltas.map((delta) => delta?.['reasoning_content'] ?? '').join('')).toBe('Hm.');
  const whole = await ask({ model: 'model', messages }, [turn()]);
  expect(whole.response.json().choices[0].message).toEqual({
    role: 'assistant',
    content: 'Hello.',
    reasoning_content: 'Hm.',
    refusal: null,
  });
});

it('extension fields never reach a backend, and unknown OpenAI parameters do [S4-3]', async () => {
  const body = {
    model: 'model',
    messages,
    temperature: 0.5,
    future_parameter: { deep: true },
    params: { top_p: 0.9, temperature: 1, function_calling: 'native', custom_params: { mirostat: 2 } },
    tool_servers: [],
    tool_ids: [],
    session_id: 's',
    chat_id: 'c',
    id: 'm',
    variables: { '{{USER_NAME}}': 'Ada' },
    features: { web_search: false },
    model_item: { id: 'model' },
    background_tasks: { title_generation: true },
    metadata: { any: 1 },
    files: [],
    stream_options: { include_usage: true, include_events: true },
  };
  const { model } = await ask(body, [says('Hello.')]);
  expect(model.requests[0]?.parameters).toEqual({
    top_p: 0.9,
    temperature: 0.5,
    mirostat: 2,
    future_parameter: { deep: true },
    stream_options: { include_usage: true },
  });
});

it('fields of messages that the gateway has no word for reach the backend', async () => {
  const { model } = await ask({ model: 'model', messages: [{ role: 'user', content: 'Hi', name: 'ada', cache_control: { type: 'x' } }] }, [
    says('Hello.'),
  ]);
  expect(model.requests[0]?.messages).toEqual([{ role: 'user', content: 'Hi', extra: { name: 'ada', cache_control: { type: 'x' } } }]);
});

it('usage comes in a chunk of its own, and only when it was asked for', async () => {
  const turn = (): ScriptStep[] => [
    { type: 'usage', usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } },
    ...says('Hello.'),
  ];
  const asked = await ask({ model: 'model', messages, stream: true, stream_options: { include_usage: true } }, [turn()]);
  expect(readChunks(asked.response.body).at(-2)).toMatchObject({ choices: [], usage: { total_tokens: 3 } });
  const silent = await ask({ model: 'model', messages, stream: true }, [turn()]);
  expect(silent.response.body).not.toContain('usage');
});

describe('with a registered tool server', () => {
  const record: ToolServerRecord = {
    id: 'time',
    origin: 'file',
    url: 'http://127.0.0.1:1',
    path: 'openapi.json',
    type: 'openapi',
    authType: 'none',
    headers: {},
    isEnabled: true,
    isDefault: true,
    functionFilter: [],
    tags: [],
    extra: {},
    spec: {
      openapi: '3.1.0',
      info: { title: 'Time', version: '1' },
      paths: { '/now': { get: { operationId: 'now', description: 'The time', responses: {} } } },
    },
  };
  const registry: Registry = memoryRegistry([record]);
  const send = async () => ({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: outboundBody(
      (async function* () {
        yield new TextEncoder().encode('{"time":"12:00"}');
      })(),
    ),
  });
  const usage = (prompt_tokens: number): ScriptStep => ({
    type: 'usage',
    usage: { prompt_tokens, completion_tokens: 1, total_tokens: prompt_tokens + 1 },
  });

  async function askWithTool(extra: object, more: Record<string, string> = {}) {
    const model = new ScriptedModel([usage(10), ...calls(['now', {}])], [usage(20), ...says('Noon.')]);
    await using app = await testApp({}, { backends: [backendOf(model)], registry, send });
    const payload = { model: 'model', messages, ...extra };
    const headers = { host: 'localhost', ...more };
    return await app.server.inject({ method: 'POST', url: '/v1/chat/completions', headers, payload });
  }

  it('the completion holds the sources and the usage of all rounds [S4-41]', async () => {
    const response = await askWithTool({});
    expect(response.json()).toMatchObject({
      choices: [{ message: { content: 'Noon.' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 30, completion_tokens: 2, total_tokens: 32 },
      sources: [
        {
          source: { name: 'TOOL:time/now' },
          document: ['{\n  "time": "12:00"\n}'],
          metadata: [{ source: 'TOOL:time/now', parameters: {} }],
          tool_result: true,
        },
      ],
    });
    expect(response.json().choices[0].message.tool_calls).toBeUndefined();
  });

  it('extensions in a stream travel in chunks that strict clients accept, sources before the text [S4-41]', async () => {
    const response = await askWithTool({ stream: true, stream_options: { include_events: true, include_usage: true } });
    const chunks = readChunks(response.body).filter((chunk) => typeof chunk !== 'string');
    for (const chunk of chunks)
      expect(chunk).toMatchObject({
        id: expect.any(String),
        object: 'chat.completion.chunk',
        created: expect.any(Number),
        model: 'model',
        choices: expect.any(Array),
      });
    const extensions = chunks.filter((chunk) => chunk['sources'] !== undefined || chunk['event'] !== undefined);
    for (const chunk of extensions) expect(chunk['choices']).toEqual([{ index: 0, delta: {}, finish_reason: null }]);
    expect(extensions.map((chunk) => (chunk['event'] as { type: string } | undefined)?.type ?? 'sources')).toEqual([
      'run.start',
      'tool.call',
      'tool.result',
      'sources',
      'run.end',
    ]);
    const texts = chunks.map((chunk) => JSON.stringify(chunk).includes('Noon.'));
    expect(chunks.findIndex((chunk) => chunk['sources'] !== undefined)).toBeLessThan(texts.indexOf(true));
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 32 } });
  });

  it.each<[first: string, fields: object, headers: Record<string, string>]>([
    ['sources', {}, {}],
    ['events', { stream_options: { include_events: true } }, {}],
    ['a warning', { tool_servers: [{ url: 'http://nowhere.test' }] }, {}],
    ['a status line', {}, { 'user-agent': 'Python/3.12 aiohttp/3.12' }],
  ])('the first chunk of a stream names the role, whatever else comes first: %s', async (_first, fields, headers) => {
    const [first, second] = readChunks((await askWithTool({ stream: true, ...fields }, headers)).body);
    expect(first).toMatchObject({ choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] });
    expect(second).toMatchObject({ choices: [{ index: 0, delta: {}, finish_reason: null }] });
    expect(JSON.stringify(second)).toMatch(/"(?:sources|event|warnings)":/);
  });

  it('without asking for events a stream has none', async () => {
    expect((await askWithTool({ stream: true })).body).not.toContain('"event"');
  });

  it('the HTTP client of Open WebUI gets sources as events too, which is the form that it keeps', async () => {
    const headers = { 'user-agent': 'Python/3.12 aiohttp/3.13.2' };
    const chunks = readChunks((await askWithTool({ stream: true }, headers)).body).filter((chunk) => typeof chunk !== 'string');
    const extensions = chunks.filter(
      (chunk) => chunk['sources'] !== undefined || (chunk['event'] as { type: string } | undefined)?.type === 'source',
    );
    const source = expect.objectContaining({ source: { name: 'TOOL:time/now' }, tool_result: true });
    expect(extensions).toEqual([expect.objectContaining({ sources: [source], event: { type: 'source', data: source } })]);
  });

  it('a hidden task of a frontend runs without tools [S4-44]', async () => {
    const model = new ScriptedModel(says('A title'));
    await using app = await testApp({}, { backends: [backendOf(model)], registry, send });
    const payload = { model: 'model', messages, metadata: { task: 'title_generation' } };
    await app.server.inject({ method: 'POST', url: '/v1/chat/completions', headers: { host: 'localhost' }, payload });
    expect(model.requests[0]?.tools).toEqual([]);
  });

  const quoted = '<chat_history>\nUSER: What time is it?\nASSISTANT: Noon.\n</chat_history>';
  const title = `### Task:\nGenerate a concise title summarizing the chat history.\n### Chat History:\n${quoted}`;
  const compaction = [
    '### Task:\nSummarize the conversation history that will be compacted out of the active chat context.',
    '### Previous Summary:\n',
    '### Messages Being Compacted:\nUSER: What time is it?',
    '### Recent Messages Kept In Context:\nASSISTANT: Noon.',
  ].join('\n\n');
  const face = "Your task is to reflect the speaker's likely facial expression through a fitting emoji.\n\nMessage: ```What time is it?```";
  const merged =
    'You have been provided with a set of responses from various models to the latest user query: "Noon?"\n\nJudge them.\n\nResponses from models: """Noon."""\n\n"""One."""';
  const memories = [
    'Review the completed conversation turn and decide whether long-term memory should change.',
    'Existing memories:\n(none)',
    'Conversation:\nuser: What time is it?',
  ].join('\n\n');
  const said = (content: string, role = 'user') => ({ role, content });

  it.each<[string, object, number]>([
    ['a title', { messages: [said(title)] }, 0],
    ['a title under a system prompt, with spaces at its end', { messages: [said('Be brief.', 'system'), said(`${title} \n`)] }, 0],
    ['a completion', { messages: [said(`### Task:\nComplete.\n${quoted}\n<type>x</type>\n<text>Wh</text>  \n#### Output:\n`)] }, 0],
    [
      'the choice of its own tools',
      { messages: [said('Available Tools: []\n\nReturn {"tool_calls": []}', 'system'), said('Query: Noon?')] },
      0,
    ],
    ['a query under another system prompt', { messages: [said('Be brief.', 'system'), said('Query: Noon?')] }, 1],
    ['a compaction', { messages: [said(compaction)] }, 0],
    ['an emoji', { messages: [said(face)] }, 0],
    ['a review of memories', { messages: [said("You are Open WebUI's private memory reviewer.", 'system'), said(memories)] }, 0],
    ['merged answers', { messages: [said(merged)] }, 0],
    ['merged answers, which are streamed', { messages: [said(merged)], stream: true }, 0],
    ['a title in a stream, as only a person is answered', { messages: [said(title)], stream: true }, 1],
    ['a compaction in a stream', { messages: [said(compaction)], stream: true }, 1],
    ['a compaction without its headings', { messages: [said(compaction.slice(0, 100))] }, 1],
    ['words before a compaction', { messages: [said(`What does this mean? ${compaction}`)] }, 1],
    ['words after an emoji', { messages: [said(`${face}\nWhat time is it?`)] }, 1],
    ['words after merged answers', { messages: [said(`${merged}\nWhich of them is right?`)] }, 1],
    ['words after merged answers, in a stream', { messages: [said(`${merged}\nWhich is right?`)], stream: true }, 1],
    ['merged answers in a chat that goes on', { messages: [said('Hi'), said('Hello', 'assistant'), said(merged)] }, 1],
    ['words after the quoted chat', { messages: [said(`${title}\nWhat time is it?`)] }, 1],
    ['a task without a quoted chat', { messages: [said('### Task:\nTell me the time.')] }, 1],
    ['a quoted chat without a task', { messages: [said(`Sum up: ${quoted}`)] }, 1],
    ['a chat that goes on', { messages: [said('Hi'), said('Hello', 'assistant'), said(title)] }, 1],
    ['tools that are named', { messages: [said(title)], tool_ids: ['server:time'] }, 1],
  ])('a hidden task of Open WebUI, whose metadata does not arrive, is told by its form: %s [S4-44]', async (_, body, offered) => {
    const model = new ScriptedModel(says('A title'));
    await using app = await testApp({}, { backends: [backendOf(model)], registry, send });
    const payload = { model: 'model', ...body };
    await app.server.inject({ method: 'POST', url: '/v1/chat/completions', headers: { host: 'localhost' }, payload });
    expect(model.requests[0]?.tools).toHaveLength(offered);
  });
});

describe('a wrong request', () => {
  const model = new ScriptedModel(says('Never.'));
  let app: TestApp;
  beforeAll(async () => {
    app = await testApp({}, { backends: [backendOf(model)] });
  });
  afterAll(() => app.close());

  it.each([
    ['no body', undefined, ''],
    ['null', 'null', ''],
    ['an array', [], ''],
    ['no model', { messages }, 'model'],
    ['no messages', { model: 'model' }, 'messages'],
    ['empty messages', { model: 'model', messages: [] }, 'messages'],
    ['an unknown role', { model: 'model', messages: [{ role: 'robot', content: 'x' }] }, 'messages.0.role'],
    ['content of a wrong type', { model: 'model', messages: [{ role: 'user', content: 7 }] }, 'messages.0.content'],
    ['a tool message without its call', { model: 'model', messages: [{ role: 'tool', content: 'x' }] }, 'messages.0.tool_call_id'],
    ['a stream flag that is text', { model: 'model', messages, stream: 'yes' }, 'stream'],
    ['a huge n', { model: 'model', messages, n: 1_000_000_000 }, 'n'],
    ['a function without a name', { model: 'model', messages, tools: [{ type: 'function', function: {} }] }, 'tools.0.function'],
    ['rounds below one', { model: 'model', messages, params: { max_tool_rounds: 0 } }, 'params.max_tool_rounds'],
    ['an unknown mode', { model: 'model', messages, params: { function_calling: 'magic' } }, 'params.function_calling'],
    ['an unknown tool id', { model: 'model', messages, tool_ids: ['server:gone'] }, 'tool_ids'],
    [
      'variables of endless depth',
      { model: 'model', messages, variables: { a: JSON.parse(`${'['.repeat(500)}${']'.repeat(500)}`) as object } },
      'variables',
    ],
    [
      'variables that would fill the memory',
      { model: 'model', messages: [{ role: 'system', content: '{{A}}'.repeat(20_000) }], variables: { A: 'x'.repeat(4_000) } },
      'variables',
    ],
    ['background without a session', { model: 'model', messages, background: true }, 'session_id'],
    ['background with a session that is not there', { model: 'model', messages, background: true, session_id: 'gone' }, 'session_id'],
  ])('%s is a 400 that names the field', async (_case, body, param) => {
    const response = await post(app, body);
    expect(response.statusCode).toBe(400);
    expect(response.json()).toEqual({
      error: {
        message: expect.any(String),
        type: 'invalid_request_error',
        code: expect.any(String),
        param: expect.toSatisfy((value) => (value ?? '') === param),
      },
    });
    expect(model.requests).toEqual([]);
  });
});

it('an unknown model is a 404 that names known ones', async () => {
  const { response } = await ask({ model: 'gone', messages });
  expect(response.statusCode).toBe(404);
  expect(response.json().error).toMatchObject({ code: 'model_not_found', message: expect.stringContaining('model') });
});

it.each([
  [new GatewayError('upstream_unreachable', 'Nobody answers.'), 502],
  [new GatewayError('upstream_timeout', 'Silent.'), 504],
  [new GatewayError('upstream_rate_limited', 'Slow down.', { retryAfter: '7' }), 429],
  [new GatewayError('upstream_rejected', 'Unsupported parameter.', { status: 422 }), 422],
])('an error before the first byte keeps its HTTP status, streaming or not: %s', async (error, status) => {
  for (const stream of [true, false]) {
    const { response } = await ask({ model: 'model', messages, stream }, [[error]]);
    expect(response.statusCode).toBe(status);
    expect(response.json().error).toEqual({ message: error.message, type: error.type, param: null, code: error.code });
    expect(response.headers['retry-after']).toBe(error.retryAfter);
  }
});

it('an early error keeps its status although the client asked for events', async () => {
  const body = { model: 'model', messages, stream: true, stream_options: { include_events: true } };
  const { response } = await ask(body, [[new GatewayError('upstream_timeout', 'Silent.')]]);
  expect(response.statusCode).toBe(504);
});

it('an error after the first byte is one frame, and the stream ends without [DONE]', async () => {
  const { response } = await ask({ model: 'model', messages, stream: true }, [
    [{ type: 'text', text: 'Hel' }, new GatewayError('upstream_incomplete', 'Cut.')],
  ]);
  expect(response.statusCode).toBe(200);
  const chunks = readChunks(response.body);
  expect(chunks.at(-1)).toEqual({ error: { message: 'Cut.', type: 'server_error', param: null, code: 'upstream_incomplete' } });
  expect(response.body.match(/"error"/g)).toHaveLength(1);
  expect(response.body).not.toContain('[DONE]');
});

it('a fault of our own shows no inner text, only the request to look for', async () => {
  const { response, app } = await ask({ model: 'model', messages }, [[new Error('secret inner text')]]);
  expect(response.statusCode).toBe(500);
  expect(response.body).not.toContain('secret inner text');
  expect(app.logLines.join('')).toContain('secret inner text');
});

it('text with line breaks and frame marks stays one event and arrives unchanged', async () => {
  const hostile = 'a\n\ndata: [DONE]\n\n\r\nevent: x\r\u2028"';
  const { response } = await ask({ model: 'model', messages, stream: true }, [says(hostile)]);
  const chunks = readChunks(response.body);
  const texts = chunks.flatMap((chunk) =>
    typeof chunk === 'string' ? [] : [(chunk['choices'] as { delta: { content?: string } }[])[0]?.delta.content ?? ''],
  );
  expect(texts.join('')).toBe(hostile);
  expect(chunks.filter((chunk) => chunk === '[DONE]')).toHaveLength(1);
});

it('several choices pass through, each with its own end', async () => {
  const turn: ScriptStep[] = [
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b', choice: 1 },
    { type: 'extra', level: 'choice', choice: 1, fields: { logprobs: { content: [] } } },
    { type: 'finish', reason: 'stop' },
    { type: 'finish', reason: 'length', choice: 1 },
  ];
  const { response } = await ask({ model: 'model', messages, n: 2 }, [turn]);
  expect(response.json().choices).toMatchObject([
    { index: 0, message: { content: 'a' }, finish_reason: 'stop' },
    { index: 1, message: { content: 'b' }, finish_reason: 'length', logprobs: { content: [] } },
  ]);
});

it('a wrong method, a wrong path and a wrong content type have honest answers', async () => {
  await using app = await testApp({}, { backends: [] });
  const headers = { host: 'localhost' };
  const method = await app.server.inject({ method: 'GET', url: '/api/chat/completions', headers });
  expect([method.statusCode, method.headers['allow'], method.json().error.code]).toEqual([405, 'POST', 'method_not_allowed']);
  const path = await app.server.inject({ method: 'GET', url: '/nowhere', headers });
  expect([path.statusCode, path.json().error.code]).toEqual([404, 'not_found']);
  const type = await app.server.inject({
    method: 'POST',
    url: '/v1/chat/completions',
    headers: { ...headers, 'content-type': 'text/plain' },
    payload: '{}',
  });
  expect([type.statusCode, type.json().error.code]).toEqual([415, 'unsupported_media_type']);
  const malformed = await app.server.inject({
    method: 'POST',
    url: '/v1/chat/completions',
    headers: { ...headers, 'content-type': 'application/json' },
    payload: '{',
  });
  expect([malformed.statusCode, malformed.json().error.code]).toEqual([400, 'invalid_request']);
});

it('a body over the limit is a 413', async () => {
  await using app = await testApp({ BODY_LIMIT_BYTES: '2000' }, { backends: [] });
  const payload = { model: 'model', messages: [{ role: 'user', content: 'x'.repeat(3_000) }] };
  const response = await app.server.inject({ method: 'POST', url: '/v1/chat/completions', headers: { host: 'localhost' }, payload });
  expect([response.statusCode, response.json().error.code]).toEqual([413, 'payload_too_large']);
});

it.each([true, false])('a client that leaves before the first word (stream: %s) is no fault in the log', async (stream) => {
  const asked = Promise.withResolvers<void>();
  const backend: ModelBackend = {
    async answer({ signal }) {
      asked.resolve();
      await new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    },
  };
  const app = await testApp({}, { backends: [backendOf(backend)] });
  const leave = new AbortController();
  const answer = fetch(`${await listen(app)}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'model', messages, stream }),
    signal: leave.signal,
  }).catch(() => 'left');
  await asked.promise;
  leave.abort();
  expect(await answer).toBe('left');
  await app.close();
  const lines = app.logLines.map((line) => JSON.parse(line) as { level: string; msg: string });
  expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  expect(lines.map(({ msg }) => msg)).toContain('chat cut off');
});
