import { createServer } from 'node:http';
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import type { ModelEvent } from '../../../src/core/chat/chat.ts';
import { withDerived } from '../../../src/core/chat/derived-parameters.ts';
import { limits } from '../../../src/core/limits.ts';
import type { ModelBackend, ModelRequest } from '../../../src/core/models/model.ts';
import { adaptBackend } from '../../../src/models/adapt-backend.ts';
import { createOpenAiBackend } from '../../../src/models/openai/openai-compatible.ts';
import type { OpenAiConnection } from '../../../src/models/openai/openai-compatible.ts';
import { directSend } from '../../_support/direct-send.ts';
import { askModel, fold } from '../../_support/model-answers.ts';
import { chunk, events, head, respond, startUpstream, stream } from '../../_support/upstream-server.ts';
import type { Script, UpstreamServer } from '../../_support/upstream-server.ts';
import { answerOf } from '../../_support/scripted-model.ts';
import { outboundBody } from '../../_support/outbound-body.ts';

const open: UpstreamServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function upstream(script: Script): Promise<UpstreamServer> {
  const server = await startUpstream(script);
  open.push(server);
  return server;
}

function connect(server: { origin: string }, fields: Partial<OpenAiConnection> = {}): OpenAiConnection {
  return { baseUrl: `${server.origin}/v1`, key: 'sk-upstream-1', firstByteTimeoutMs: 2_000, idleTimeoutMs: 2_000, ...fields };
}

interface Outcome {
  events: ModelEvent[];
  error: unknown;
}

/** As the application uses it: with remedies. */
function adapted(connection: OpenAiConnection): ModelBackend {
  return adaptBackend(createOpenAiBackend(connection, directSend), { profile: 'plain' });
}

/** What was said before the end or the error. */
async function ask(connection: OpenAiConnection, request: Partial<ModelRequest> = {}): Promise<Outcome> {
  const said: ModelEvent[] = [];
  try {
    for await (const event of answerOf(adapted(connection), askModel(request))) said.push(event);
  } catch (error) {
    return { events: said, error };
  }
  return { events: said, error: undefined };
}

const delta = (content: string, finish: string | null = null): unknown => ({
  choices: [{ index: 0, delta: { content }, finish_reason: finish }],
});
const hello = events(delta('Hel'), delta('lo'), delta('', 'stop'), '[DONE]');
const spec = { name: 'get_time', description: 'The time', parameters: { type: 'object' } };

describe('the request', () => {
  it('goes to the base URL with the key, without compression', async () => {
    const server = await upstream(stream(hello));
    await ask(connect(server, { baseUrl: `${server.origin}/api/v1/?api-version=2`, headers: { 'X-Title': 'lab' } }), { tools: [spec] });
    const [request] = server.requests;
    expect(request).toMatchObject({ method: 'POST', url: '/api/v1/chat/completions?api-version=2' });
    expect(request?.headers).toMatchObject({
      authorization: 'Bearer sk-upstream-1',
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      'x-title': 'lab',
    });
    expect(request?.json()).toMatchObject({
      model: 'm',
      stream: true,
      stream_options: { include_usage: true },
      tools: [{ function: spec }],
    });
  });

  it('has no authorization without a key, and lets configured headers replace its own', async () => {
    const server = await upstream(stream(hello));
    await ask(connect(server, { key: undefined }));
    await ask(connect(server, { headers: { Authorization: 'Basic eDp5' } }));
    expect(server.requests.map((request) => request.headers['authorization'])).toEqual([undefined, 'Basic eDp5']);
  });

  it('names the configured origin as its trust', async () => {
    const trusts: unknown[] = [];
    const connection = connect({ origin: 'http://10.0.0.7:8000' });
    const send = (request: { trust: unknown }): never => {
      trusts.push(request.trust);
      throw new Error('enough');
    };
    await expect(
      answerOf(
        createOpenAiBackend(connection, async (request) => send(request)),
        askModel(),
      ).next(),
    ).rejects.toThrow('failed');
    expect(trusts).toEqual([{ kind: 'configured', origin: 'http://10.0.0.7:8000' }]);
  });

  it.each([
    [400, { error: { message: 'Unrecognized request argument supplied: stream_options', param: null } }],
    [422, { detail: [{ loc: ['body', 'stream_options', 'include_usage'], msg: 'Extra inputs are not permitted' }] }],
    [400, { error: { message: 'Unknown parameter', param: 'stream_options' } }],
  ])('is sent once more without stream_options where a backend refuses them with %i, and stays without', async (status, refusal) => {
    const server = await upstream((request) => (request.body.includes('stream_options') ? respond(status, refusal) : stream(hello)));
    const backend = adapted(connect(server));
    for (let round = 0; round < 2; round += 1) expect(fold(await Array.fromAsync(answerOf(backend, askModel()))).text).toBe('Hello');
    expect(server.requests.map((request) => request.body.includes('stream_options'))).toEqual([true, false, false]);
  });

  it('goes without derived parameters that a model refuses, one after the other, and stays without', async () => {
    const limit = { error: { message: "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", param: 'max_tokens' } };
    const effort = { error: { message: 'Unrecognized request argument supplied: reasoning_effort' } };
    const server = await upstream((request) => {
      if (request.body.includes('"max_tokens"')) return respond(400, limit);
      return request.body.includes('reasoning_effort') ? respond(400, effort) : stream(hello);
    });
    const backend = adapted(connect(server));
    const parameters = withDerived({ temperature: 0 }, { max_tokens: 5, reasoning_effort: 'low' });
    for (let round = 0; round < 2; round += 1)
      expect(fold(await Array.fromAsync(answerOf(backend, askModel({ parameters })))).text).toBe('Hello');
    expect(server.requests).toHaveLength(4);
    expect(server.requests[3]?.json()).toMatchObject({ temperature: 0, max_completion_tokens: 5 });
    expect(server.requests[3]?.body).not.toMatch(/"max_tokens"|reasoning_effort|derived/);
    const other = { model: 'other', parameters };
    await Array.fromAsync(answerOf(backend, askModel(other)));
    expect(server.requests[4]?.body).toContain('"max_tokens"');
  });

  it('is refused for parameters that the caller has chosen, or whose values are wrong', async () => {
    const server = await upstream(
      respond(400, { error: { message: 'max_tokens is too large, reasoning_effort too', param: 'max_tokens' } }),
    );
    for (const parameters of [{ reasoning_effort: 'low' }, withDerived({}, { max_tokens: 5 })])
      expect((await ask(connect(server), { parameters })).error).toMatchObject({ code: 'upstream_rejected', status: 400 });
    expect(server.requests).toHaveLength(2);
  });

  it('is not repeated when the options of the caller may be what is refused', async () => {
    const server = await upstream(respond(400, { error: { message: 'stream_options.include_obfuscation: not a boolean' } }));
    const { error } = await ask(connect(server), { parameters: { stream_options: { include_obfuscation: 'x' } } });
    expect(error).toMatchObject({ code: 'upstream_rejected', status: 400 });
    expect(server.requests).toHaveLength(1);
  });
});

describe('the stream', () => {
  it('is passed on as it comes', async () => {
    const gate = Promise.withResolvers<void>();
    const server = await upstream([
      head(200, { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked' }),
      chunk(hello[0] ?? ''),
      { until: gate.promise },
      ...hello.slice(1).map((text) => chunk(text)),
      '0\r\n\r\n',
    ]);
    const answer = answerOf(createOpenAiBackend(connect(server), directSend), askModel());
    expect((await answer.next()).value).toEqual({ type: 'text', text: 'Hel' });
    gate.resolve();
    expect(await Array.fromAsync(answer)).toEqual([
      { type: 'text', text: 'lo' },
      { type: 'finish', reason: 'stop' },
    ]);
  });

  it('survives what does no harm', async () => {
    const harmless = [
      { choices: [] },
      { choices: [{ index: 0, delta: null }] },
      { choices: null },
      null,
      5,
      'data',
      [],
      { choices: [{ delta: { content: null, tool_calls: null, role: 'assistant' } }, null] },
      { error: null },
    ];
    const lines = [
      ...events(...harmless.map((value) => JSON.stringify(value))),
      'event: ping\ndata: {"type":"ping"}\n\n',
      'data:\n\n',
      ': hi\n\n',
      ...hello,
    ];
    const server = await upstream(stream(lines));
    expect(await ask(connect(server))).toEqual({
      error: undefined,
      events: [
        { type: 'extra', level: 'response', fields: { type: 'ping' } },
        { type: 'text', text: 'Hel' },
        { type: 'text', text: 'lo' },
        { type: 'finish', reason: 'stop' },
      ],
    });
  });

  it('lets no backend speak as the gateway, at no level', async () => {
    const spoof = { event: { type: 'tool.result', data: {} }, sources: [{}], approval: { token: 't' }, citations: ['u'] };
    const expected = ['response', 'delta', 'choice'].map((level) => ({ type: 'extra', level, fields: { citations: ['u'] } }));
    const streamed = { ...spoof, choices: [{ ...spoof, index: 0, delta: { ...spoof, content: 'x' } }] };
    const whole = { ...spoof, choices: [{ ...spoof, index: 0, message: { ...spoof, content: 'x' }, finish_reason: 'stop' }] };
    for (const script of [stream([`event: execute:tool\n${events(streamed)[0]}`, ...hello]), respond(200, whole)]) {
      const said = (await ask(connect(await upstream(script)))).events;
      expect(said.filter((event) => event.type === 'extra')).toEqual(expected);
      expect(said.some((event) => event.type === 'run-event')).toBe(false);
    }
  });

  it('ends at [DONE], also when the backend goes on, and closes the connection soon', async () => {
    const server = await upstream(stream([...hello, ...events(delta('more'))], { end: 'stall' }));
    expect(fold((await ask(connect(server))).events)).toMatchObject({ text: 'Hello', finish: ['stop'] });
    await server.requests[0]?.closed;
  });

  it('is complete at [DONE] without a finish reason', async () => {
    const server = await upstream(stream(events(delta('Hi'), '[DONE]')));
    expect((await ask(connect(server))).events).toEqual([
      { type: 'text', text: 'Hi' },
      { type: 'finish', reason: 'stop' },
    ]);
  });

  it.each(['reset', 'finish'] as const)('is complete after a finish reason, though the connection ends with %s', async (end) => {
    const server = await upstream(stream(events(delta('Hi'), delta('', 'stop')), { end }));
    const { events: said, error } = await ask(connect(server));
    expect(error).toBeUndefined();
    expect(fold(said)).toMatchObject({ text: 'Hi', finish: ['stop'] });
  });

  it.each([
    ['a reset', { end: 'reset' }, 'upstream_incomplete', 502],
    ['a body cut within a chunk', { end: 'finish' }, 'upstream_incomplete', 502],
    ['a proper end without a finish reason', {}, 'upstream_incomplete', 502],
    ['silence', { end: 'stall' }, 'upstream_timeout', 504],
  ] as const)('fails after what was said with %s, without a second try', async (_, options, code, status) => {
    const server = await upstream(stream(hello.slice(0, 2), { gapMs: 5, ...options }));
    // Longer than a busy machine takes between two pieces.
    const { events: said, error } = await ask(connect(server, { idleTimeoutMs: 1_000 }));
    expect(fold(said).text).toBe('Hello');
    expect(error).toMatchObject({ code, status });
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ['malformed JSON', 'data: {bad\n\n', 'upstream_invalid_response', 502],
    ['an error', events({ error: { message: 'The model is gone' } })[0], 'upstream_error', 502],
    [
      'an error with a status',
      events({ error: { message: 'Too long', code: 400 }, choices: [{ delta: {}, finish_reason: 'error' }] })[0],
      'upstream_rejected',
      400,
    ],
    ['an error by its name', 'event: error\ndata: {"message":"Slow down","code":429}\n\n', 'upstream_rate_limited', 429],
    ['an error in a choice', events({ choices: [{ index: 0, error: { message: 'Bad', code: 502 } }] })[0], 'upstream_error', 502],
    ['a line without end', `data: ${'x'.repeat(limits.upstreamLineBytes)}`, 'upstream_line_too_long', 502],
  ])('fails with %s', async (_, piece = '', code, status) => {
    const server = await upstream(stream([hello[0] ?? '', piece, ...hello]));
    const { events: said, error } = await ask(connect(server));
    expect(fold(said).text).toBe('Hel');
    expect(error).toMatchObject({ code, status });
  });

  it('keeps calls and the reason when the answer was cut by its length', async () => {
    const call = {
      choices: [
        {
          index: 0,
          delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'get_time', arguments: '{"z' } }] },
          finish_reason: 'length',
        },
      ],
    };
    const server = await upstream(stream(events(call, '[DONE]')));
    expect((await ask(connect(server))).events).toEqual([
      { type: 'tool-call', call: { id: 'c', name: 'get_time', arguments: '{"z' } },
      { type: 'finish', reason: 'length' },
    ]);
  });

  it.each([
    ['beside it', (call: object, legacy: object) => [{ ...call, ...legacy }]],
    ['after it', (call: object, legacy: object) => [call, legacy]],
    ['before it', (call: object, legacy: object) => [legacy, call]],
    ['alone', (_call: object, legacy: object) => [legacy]],
    [
      'with its arguments, beside one without',
      (_call: object, legacy: object) => [{ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'get_time' } }] }, legacy],
    ],
  ])('makes a call once that stands in the older field %s', async (_place, deltasOf) => {
    const called = { name: 'get_time', arguments: '{"zone":"UTC"}' };
    const deltas = deltasOf({ tool_calls: [{ index: 0, id: 'call_1', function: called }] }, { function_call: called });
    const chunks = deltas.map((said) => ({ choices: [{ index: 0, delta: said, finish_reason: null }] }));
    const server = await upstream(stream(events(...chunks, delta('', 'tool_calls'), '[DONE]')));
    const { calls } = fold((await ask(connect(server))).events);
    expect(calls).toMatchObject([called]);
  });

  it.each([
    ['tool_calls', 'stop'],
    ['function_call', 'stop'],
    ['eos', 'stop'],
    ['max_tokens', 'length'],
    ['content_filter', 'content_filter'],
  ])('says for the reason %s without calls: %s', async (given, reason) => {
    const server = await upstream(stream(events(delta('x', given), '[DONE]')));
    expect(fold((await ask(connect(server))).events).finish).toEqual([reason]);
  });

  it.each([
    [
      { prompt_tokens: -1, completion_tokens: 1e300, total_tokens: 'many' },
      { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    ],
    [
      { prompt_tokens: '12', completion_tokens: 3, details: { cached: -2, deep: { n: 1 } } },
      { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15, details: { cached: 0, deep: { n: 1 } } },
    ],
    [
      { input_tokens: 4, output_tokens: 5 },
      { prompt_tokens: 4, completion_tokens: 5, total_tokens: 9 },
    ],
  ])('counts the usage %j in finite numbers', async (usage, expected) => {
    const server = await upstream(stream([...events({ choices: [], usage }), ...hello]));
    expect(fold((await ask(connect(server))).events).usage).toMatchObject(expected);
  });

  it('is read in several turns of the event loop where much of it comes in one piece', async () => {
    const words = Array.from({ length: 1_000 }, (_, index) => `東京 ${index} `);
    const text = [...events(...words.map((word) => delta(word))), ...hello].join('');
    const body = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from(text);
    };
    const headers = { 'content-type': 'text/event-stream' };
    let turns = 0;
    const count = (): void => {
      turns += 1;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    const backend = createOpenAiBackend(connect({ origin: 'http://127.0.0.1:1' }), async () => ({
      status: 200,
      headers,
      body: outboundBody(body()),
    }));
    const said = await Array.fromAsync(answerOf(backend, askModel()));
    clearImmediate(next);
    expect(fold(said)).toMatchObject({ text: `${words.join('')}Hello` });
    expect(turns).toBeGreaterThan(3);
  });

  it('ends at a line of more values than can be read at once, and reads one with fewer', async () => {
    const line = (count: number): string => `data: {"lists":[${'[],'.repeat(count)}[]],"choices":[{"delta":{"content":"x"}}]}\n\n`;
    const server = await upstream(stream([line(9_000), line(30_000), ...hello]));
    const { events: said, error } = await ask(connect(server));
    expect(fold(said)).toMatchObject({ text: 'x' });
    expect(error).toMatchObject({ code: 'upstream_invalid_response', message: expect.stringContaining('20000 values') });
  });

  it('drops fields that are nested beyond every stack, and prototypes', async () => {
    const deep = '['.repeat(6_000) + ']'.repeat(6_000);
    const server = await upstream(
      stream([
        `data: {"deep":${deep},"usage":${deep},"__proto__":{"a":1},"choices":[{"delta":{"deep":${deep},"content":"x"}}]}\n\n`,
        ...hello,
      ]),
    );
    const { events: said, error } = await ask(connect(server));
    expect(error).toBeUndefined();
    expect(fold(said)).toMatchObject({ text: 'xHello', extras: [] });
  });
});

describe('a closing tag that one caller had the model write', () => {
  const closing = { text: 'Sure.\n</think>\nDone.', finish: 'stop' };
  const cut = { text: 'A long answer', finish: 'length' };

  /** What callers read, who ask the same backend one after the other. */
  async function read(...asked: [callerId: string, written: { text: string; finish: string }][]): Promise<string[]> {
    const server = await upstream((_, count) => {
      const { text, finish } = asked[count]?.[1] ?? closing;
      const choices = [{ delta: { content: text } }, { delta: {}, finish_reason: finish }].map((choice) => ({ index: 0, ...choice }));
      return stream(events(...choices.map((choice) => ({ choices: [choice] })), '[DONE]'));
    });
    const backend = createOpenAiBackend(connect(server), directSend);
    let last: ModelEvent[] = [];
    for (const [callerId] of asked) {
      const request = askModel({ stream: true, origin: { callerId, sourceOf: () => undefined } });
      last = await Array.fromAsync(answerOf(backend, request));
    }
    return last.flatMap((event) => (event.type === 'text' || event.type === 'reasoning' ? [`${event.type}: ${event.text}`] : []));
  }

  it('makes the next answers to this caller start with reasoning, and no answer to another one', async () => {
    expect(await read(['ada', closing], ['ada', closing])).toEqual(['reasoning: Sure.\n', 'text: Done.']);
    expect(await read(['ada', closing], ['bob', cut])).toEqual(['text: A long answer']);
  });

  it('makes answers to others start with reasoning once it was seen with two keys', async () => {
    expect(await read(['key_1/ada', closing], ['key_1/bob', closing], ['key_2', cut])).toEqual(['text: A long answer']);
    expect(await read(['key_1/ada', closing], ['key_2', closing], ['key_3', closing])).toEqual(['reasoning: Sure.\n', 'text: Done.']);
  });
});

describe('one whole answer', () => {
  const whole = {
    id: 'x',
    object: 'chat.completion',
    system_fingerprint: 'fp',
    choices: [
      {
        index: 0,
        logprobs: { content: [] },
        finish_reason: 'stop',
        message: {
          role: 'assistant',
          content: 'Hm.\n</think>\n\nHello',
          refusal: null,
          annotations: [{ type: 'url' }],
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'get_time', arguments: { z: 1 } } }],
        },
      },
    ],
    usage: { prompt_tokens: 1, completion_tokens: 2 },
  };
  const expected = [
    { type: 'extra', level: 'response', fields: { system_fingerprint: 'fp' } },
    { type: 'reasoning', text: 'Hm.' },
    { type: 'text', text: 'Hello' },
    { type: 'extra', level: 'delta', fields: { annotations: [{ type: 'url' }] } },
    { type: 'extra', level: 'choice', fields: { logprobs: { content: [] } } },
    { type: 'tool-call', call: { id: 'c', name: 'get_time', arguments: '{"z":1}' } },
    { type: 'usage', usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } },
    { type: 'finish', reason: 'tool_calls' },
  ];

  it.each([false, true])('gives the events of a stream, which was asked for or not (%s)', async (isStream) => {
    const server = await upstream(respond(200, whole));
    expect(await ask(connect(server), { stream: isStream })).toEqual({ events: expected, error: undefined });
  });

  const lonely = { id: 'c', type: 'function', function: { name: 'get_time', arguments: '{"z":1}' } };
  it.each([
    [true, 'without the list around it', lonely],
    [false, 'without the list around it', lonely],
    [true, 'in a list that is text', JSON.stringify([lonely])],
    [false, 'in a list that is text', JSON.stringify([lonely])],
  ])('may have a single call (streamed: %s) %s', async (isStream, _how, written) => {
    const choice = (key: string): unknown => ({ choices: [{ index: 0, [key]: { tool_calls: written }, finish_reason: 'tool_calls' }] });
    const server = await upstream(isStream ? stream(events(choice('delta'), '[DONE]')) : respond(200, choice('message')));
    expect((await ask(connect(server), { stream: isStream })).events).toContainEqual({
      type: 'tool-call',
      call: { id: 'c', name: 'get_time', arguments: '{"z":1}' },
    });
  });

  it.each([
    ['in a field of its own', `error: ${JSON.stringify({ code: 500, message: 'CUDA error: out of memory', type: 'server_error' })}`],
    ['as text', 'event: error\ndata: CUDA error: out of memory'],
  ])('is not hidden where a stream reports an error %s', async (_how, event) => {
    const server = await upstream(stream([...events(delta('Hel')), `${event}\n\n`]));
    expect((await ask(connect(server))).error).toMatchObject({ code: 'upstream_error', message: 'CUDA error: out of memory' });
  });

  it.each(['extra_content', 'provider_specific_fields'])('keeps the signature of a call under %s', async (field) => {
    const signature = { [field]: { thought_signature: 'c2ln' } };
    const signed = { ...lonely, ...signature };
    const server = await upstream(
      respond(200, { choices: [{ index: 0, message: { tool_calls: [signed] }, finish_reason: 'tool_calls' }] }),
    );
    const { events: seen } = await ask(connect(server), { stream: false });
    expect(seen).toContainEqual(expect.objectContaining({ call: expect.objectContaining({ extra: signature }) as unknown }));
  });

  it('may be an empty list of choices with usage, in which the model has said nothing', async () => {
    const silence = { choices: [], usage: { prompt_tokens: 5, completion_tokens: 0, total_tokens: 5 } };
    for (const [isStream, script] of [[false, respond(200, silence)] as const, [true, stream(events(silence, '[DONE]'))] as const]) {
      const server = await upstream(script);
      expect(fold((await ask(connect(server), { stream: isStream })).events)).toMatchObject({ text: '', finish: ['stop'] });
    }
  });

  it('may come as a stream', async () => {
    const server = await upstream(stream(hello));
    expect(fold((await ask(connect(server), { stream: false })).events)).toMatchObject({ text: 'Hello', finish: ['stop'] });
    expect(server.requests[0]?.json()).not.toHaveProperty('stream_options');
  });

  it.each([
    ['a part of JSON', respond(200, '{"choices":[', { 'content-type': 'application/json' })],
    ['no choices', respond(200, { choices: [] })],
    ['a choice that is none, with usage', respond(200, { choices: [null], usage: { prompt_tokens: 5, completion_tokens: 0 } })],
    ['a choice without a message and an end', respond(200, { choices: [{ index: 0 }] })],
    ['a message that is null, without an end', respond(200, { choices: [{ index: 0, message: null, finish_reason: null }] })],
    ['a message that is a text', respond(200, { choices: [{ index: 0, message: 'Hello', finish_reason: 'stop' }] })],
    ['a choice that is none', respond(200, { choices: [null] })],
    ['no completion', respond(200, ['x'])],
    ['HTML', respond(200, '<h1>inner-host</h1>', { 'content-type': 'text/html' })],
    ['no content', [head(204, {})]],
    ['a redirect', [head(302, { location: 'http://127.0.0.1:1/', 'content-length': '0' })]],
    ['compression', respond(200, whole, { 'content-encoding': 'gzip' })],
  ])('is refused when it is %s', async (_, script) => {
    const server = await upstream(script);
    const { error } = await ask(connect(server), { stream: false });
    expect(error).toMatchObject({ code: 'upstream_invalid_response', status: 502 });
    expect(String(error)).not.toContain('inner-host');
    await server.requests[0]?.closed;
  });

  it.each([
    ['nothing but its end', ['data: [DONE]\n\n']],
    ['chunks without choices', events({ choices: [] })],
    ['a choice that says nothing', events({ choices: [{ index: 0, finish_reason: null }] })],
    ['a message that is null', events({ choices: [{ index: 0, delta: null, finish_reason: null }] })],
  ])('is refused as a stream of %s', async (_, pieces) => {
    const server = await upstream(stream([...pieces, 'data: [DONE]\n\n']));
    const { events: seen, error } = await ask(connect(server));
    expect([seen, error]).toEqual([[], expect.objectContaining({ code: 'upstream_invalid_response', status: 502 })]);
  });

  const plainStream = hello.join('');
  const plainWhole = JSON.stringify(whole);
  const lines = hello.map((event) => `${event.trim().slice('data: '.length)}\n`);
  const compressed = (encoding: string, type: string, bytes: Uint8Array): Script => [
    head(200, { 'content-type': type, 'content-encoding': encoding, 'content-length': String(bytes.byteLength) }),
    bytes,
  ];

  it.each<[string, boolean, Script]>([
    ['a stream as JSON', true, stream(hello, { headers: { 'content-type': 'application/json' } })],
    ['a stream as text/plain', true, stream(hello, { headers: { 'content-type': 'text/plain' } })],
    ['a stream without a type, in single bytes', true, [head(200, {}), ...Array.from(plainStream), { act: 'finish' }]],
    [
      'a stream that begins with a comment',
      true,
      stream([': ping\n\n', ...hello], { headers: { 'content-type': 'application/octet-stream' } }),
    ],
    ['JSON as a stream', true, stream([plainWhole])],
    ['JSON of many lines as a stream, in single bytes', true, stream(Array.from(JSON.stringify(whole, null, 2)))],
    ['lines of chunks as a stream', true, stream(lines)],
    ['lines of chunks as a stream, in single bytes', true, stream(Array.from(`\n${lines.join('')}`))],
    ['lines of chunks as JSON lines', true, stream(lines, { headers: { 'content-type': 'application/x-ndjson' } })],
    [
      'lines of chunks as JSON, in single bytes',
      true,
      stream(Array.from(lines.join('')), { headers: { 'content-type': 'application/json' } }),
    ],
    ['a list of chunks as JSON', true, respond(200, `[${lines.slice(0, -1).join(',')}]`, { 'content-type': 'application/json' })],
    ['a list of chunks as a stream', true, stream([`[${lines.slice(0, -1).join(',')}]`])],
    ['JSON although a stream was asked for', true, respond(200, whole)],
    ['JSON as text/plain', false, respond(200, `\ufeff \n${plainWhole}`, { 'content-type': 'text/plain; charset=utf-8' })],
    ['JSON without a type', false, [head(200, { 'content-length': String(Buffer.byteLength(plainWhole)) }), plainWhole]],
    ['JSON as gzip', false, compressed('gzip', 'application/json', gzipSync(plainWhole))],
    ['JSON as br, without a type', false, compressed('br', 'text/plain', brotliCompressSync(plainWhole))],
    ['JSON as zstd', false, compressed('ZSTD', 'application/json', zstdCompressSync(plainWhole))],
    ['a stream as deflate', true, compressed('deflate', 'text/event-stream', deflateSync(plainStream))],
  ])('is read as %s', async (_what, isStream, script) => {
    const server = await upstream(script);
    const { events: seen, error } = await ask(connect(server), { stream: isStream });
    expect([fold(seen).text, error]).toEqual(['Hello', undefined]);
  });

  it.each([
    ['HTML without a type', [head(200, { 'content-length': '14' }), '<h1>Hello</h1>']],
    ['words', respond(200, 'Hello')],
    ['nothing', [head(200, { 'content-length': '0' })]],
    [
      'zstd with a window that takes more memory than a browser allows',
      compressed(
        'zstd',
        'application/json',
        zstdCompressSync(' '.repeat(12 * 1024 * 1024) + plainWhole, { params: { [constants.ZSTD_c_windowLog]: 24 } }),
      ),
    ],
    ['an unknown encoding', compressed('exi', 'application/json', gzipSync(plainWhole))],
    ['JSON that expands to more than may be read', compressed('gzip', 'application/json', gzipSync(Buffer.alloc(17 * 1024 * 1024, ' ')))],
  ])('is refused as %s', async (_what, script) => {
    const server = await upstream(script);
    expect((await ask(connect(server))).error).toMatchObject({ code: 'upstream_invalid_response' });
    await server.requests[0]?.closed;
  });

  it('is refused as a compressed line that expands without end', async () => {
    const server = await upstream(compressed('gzip', 'text/event-stream', gzipSync(Buffer.alloc(8 * 1024 * 1024, 'a'))));
    expect((await ask(connect(server))).error).toMatchObject({ code: 'upstream_line_too_long' });
  });

  it('is cut if its compression ends too early', async () => {
    const bytes = gzipSync(plainStream);
    const server = await upstream(compressed('gzip', 'text/event-stream', bytes.subarray(0, bytes.byteLength / 2)));
    expect((await ask(connect(server))).error).toMatchObject({ code: 'upstream_incomplete' });
  });

  it('keeps the words of a compressed error', async () => {
    const bytes = gzipSync(JSON.stringify({ error: { message: 'No credit' } }));
    const server = await upstream([head(402, { 'content-encoding': 'gzip', 'content-length': String(bytes.byteLength) }), bytes]);
    expect((await ask(connect(server))).error).toMatchObject({ status: 402, message: 'No credit' });
  });

  it.each([
    ['whole', respond(200, { choices: [{ index: 0, finish_reason: 'content_filter' }] })],
    ['whole, with a null', respond(200, { choices: [{ index: 0, message: null, finish_reason: 'content_filter: SAFETY' }] })],
    ['streamed', stream(events({ choices: [{ index: 0, finish_reason: 'content_filter' }] }, '[DONE]'))],
    ['streamed, with a null', stream(events({ choices: [{ index: 0, delta: null, finish_reason: 'SAFETY' }] }, '[DONE]'))],
  ])('may say only how it ended (%s)', async (_how, script) => {
    const server = await upstream(script);
    expect(await ask(connect(server))).toEqual({ events: [{ type: 'finish', reason: 'content_filter' }], error: undefined });
  });

  const call = { index: 0, id: 'c', type: 'function', function: { name: 'get_time', arguments: '{}' } };
  const withCall = (reason: string, isStream: boolean): Script =>
    isStream
      ? stream(
          events(
            { choices: [{ index: 0, delta: { content: 'I look.', tool_calls: [call] } }] },
            { choices: [{ index: 0, delta: {}, finish_reason: reason }] },
            '[DONE]',
          ),
        )
      : respond(200, { choices: [{ index: 0, message: { content: 'I look.', tool_calls: [call] }, finish_reason: reason }] });

  it.each([
    ['abort', 'upstream_incomplete'],
    ['Network_Error', 'upstream_incomplete'],
    ['function_call_filter: MALFORMED_FUNCTION_CALL', 'model_call_unreadable'],
  ])('makes no call and is an error if it ended with "%s"', async (reason, code) => {
    for (const isStream of [false, true]) {
      const server = await upstream(withCall(reason, isStream));
      const { events: seen, error } = await ask(connect(server), { stream: isStream });
      expect(error).toMatchObject({ code, status: 502, message: expect.stringContaining(reason) as string });
      expect(seen).toEqual(isStream ? [{ type: 'text', text: 'I look.' }] : []);
    }
  });

  it('stands with a warning if its finish reason is unknown, and says so of its calls', async () => {
    const server = await upstream(withCall('flow_halted', true));
    const { events: seen, error } = await ask(connect(server), { stream: true });
    expect(error).toBeUndefined();
    expect(seen).toMatchObject([
      { type: 'text', text: 'I look.' },
      { type: 'tool-call' },
      {
        type: 'run-event',
        event: { type: 'warning', data: { code: 'finish_reason_unknown', message: expect.stringContaining('"flow_halted"') as string } },
      },
      { type: 'finish', reason: 'tool_calls', unknownReason: 'flow_halted' },
    ]);
  });

  it('is not over while its finish reason is the word null', async () => {
    const server = await upstream(stream(events({ choices: [{ index: 0, delta: { content: 'Hel' }, finish_reason: 'null' }] })));
    expect((await ask(connect(server))).error).toMatchObject({ code: 'upstream_incomplete' });
  });

  it('keeps the status and the words of an error within it', async () => {
    const server = await upstream(respond(200, { error: { message: 'No credit', code: 402 } }));
    expect((await ask(connect(server), { stream: false })).error).toMatchObject({ status: 402, message: 'No credit' });
  });
});

describe('faults before the answer', () => {
  it('reports a backend that is not there, at once', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const address = server.address();
    await new Promise((resolve) => server.close(resolve));
    const port = typeof address === 'object' ? address?.port : 0;
    expect((await ask(connect({ origin: `http://127.0.0.1:${port}` }))).error).toMatchObject({ code: 'upstream_unreachable', status: 502 });
  });

  it.each([
    ['a reset', [{ act: 'reset' }], 'upstream_unreachable', 502],
    ['silence', [{ act: 'stall' }], 'upstream_timeout', 504],
    ['no HTTP', ['SSH-2.0-OpenSSH_9.9\r\n', { act: 'finish' }], 'upstream_unreachable', 502],
  ] as const)('reports %s, without address and key', async (_, script, code, status) => {
    const server = await upstream([...script]);
    // Longer than a busy machine takes for an answer.
    const { error } = await ask(connect(server, { firstByteTimeoutMs: 1_000 }));
    expect(error).toMatchObject({ code, status });
    expect(String(error)).not.toMatch(/127\.0\.0\.1|sk-upstream/);
    expect(server.requests.length).toBe(1);
  });

  it('masks its key in the words of the backend', async () => {
    const server = await upstream(respond(400, { error: { message: 'bad key sk-upstream-1 or Basic-s3cret' } }));
    const { error } = await ask(connect(server, { headers: { 'api-key': 'Basic-s3cret' } }));
    expect(error).toMatchObject({ message: 'bad key [secret] or [secret]' });
  });

  it('keeps a rate limit with its time, and tries no second time', async () => {
    const server = await upstream(respond(429, { error: { message: 'slow' } }, { 'retry-after': '7' }));
    expect((await ask(connect(server))).error).toMatchObject({ code: 'upstream_rate_limited', status: 429, retryAfter: '7' });
    expect(server.requests).toHaveLength(1);
  });
});
