import { describe, expect, it, onTestFinished } from 'vitest';
import type { BackendConfig } from '../../../src/app/config/backends.ts';
import { OutboundError } from '../../../src/core/errors.ts';
import type { OutboundRequest, OutboundResponse, SendOutbound } from '../../../src/core/outbound.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { outboundBody } from '../../_support/outbound-body.ts';
import { waitFor } from '../../_support/wait-for.ts';
import { jsonResponse, neverAnswers, type ScriptedAnswer } from '../../tools/scripted-send.ts';
import { answerOf, documentOf, gatewayOf, serverOf } from '../gateway.ts';
import type { Gateway, Seen } from '../gateway.ts';

/** What a server answers to chats, in order; the last answer again and again. */
type Chats = readonly (ScriptedAnswer | Response)[];
interface Response {
  status: number;
  body: string;
  type?: string;
  headers?: Record<string, string>;
}

const refused = new OutboundError('unreachable', 'connect ECONNREFUSED');
const chunk = (delta: JsonObject, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const streamed = (...chunks: string[]): Response => ({ status: 200, type: 'text/event-stream', body: chunks.join('') });
const says = (text: string): Response => streamed(chunk({ content: text }), chunk({}, 'stop'), 'data: [DONE]\n\n');
const callOf = (name: string, args: JsonObject = {}): Response =>
  streamed(
    chunk({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name, arguments: JSON.stringify(args) } }] }),
    chunk({}, 'tool_calls'),
    'data: [DONE]\n\n',
  );
const busy: Response = { status: 503, type: 'text/html', body: '<h1>Busy</h1>', headers: { 'retry-after': '30' } };
const broken: Response = { status: 500, body: '{"error":{"message":"CUDA error"}}' };

interface Served {
  gateway: Gateway;
  /** The hosts that were asked for chats, in order. */
  chats: string[];
  /** Other paths that were asked, with their hosts. */
  others: string[];
}

interface Servers {
  hosts: Record<string, Chats>;
  /** By URL. */
  more?: Record<string, ScriptedAnswer>;
  entry?: Partial<BackendConfig>;
}

/** A gateway before one entry with an address for each of `hosts`. All have the model `m`. */
async function before({ hosts, more = {}, entry = {} }: Servers): Promise<Served> {
  const chats: string[] = [];
  const others: string[] = [];
  const left = new Map(Object.entries(hosts).map(([host, answers]) => [host, [...answers]]));
  const send: SendOutbound = async (request) => {
    request.signal.throwIfAborted();
    const { host, pathname, href } = new URL(request.url);
    const given = more[href];
    if (given !== undefined) {
      others.push(`${host}${pathname}`);
      return answerWith(given, request);
    }
    if (pathname === '/v1/models') return jsonResponse({ data: [{ id: 'm' }] });
    chats.push(host);
    const answers = left.get(host) ?? [];
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (answer === undefined) throw refused;
    return answerWith(answer, request);
  };
  const urls = Object.keys(hosts).map((host) => `http://${host}/v1`);
  const backend = { kind: 'openai', url: urls[0] ?? '', urls, name: 'pool', headers: {}, maxContext: 8_192, isExplicit: true, ...entry };
  const clocks = serverOf('clock', documentOf({ now: { type: 'object', properties: {} } }));
  const gateway = await gatewayOf({
    entries: [backend as BackendConfig],
    send,
    servers: [clocks],
  });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  return { gateway, chats, others };
}

async function answerWith(answer: ScriptedAnswer | Response, request: OutboundRequest): Promise<OutboundResponse> {
  if (answer instanceof Error) throw answer;
  if (typeof answer === 'function') return answer(request);
  if (typeof answer['body'] !== 'string') return jsonResponse(answer as JsonObject);
  const { status, body, type = 'application/json', headers = {} } = answer as Response;
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield new TextEncoder().encode(body);
  }
  return { status, headers: { 'content-type': type, ...headers }, body: outboundBody(pieces()) };
}

const ask = (gateway: Gateway, body: JsonObject = {}): Promise<Seen> => gateway.ask({ model: 'm', tool_ids: [], ...body });
const clockAnswers = { 'http://clock.test/now': answerOf('"noon"') };

describe('an entry with several addresses', () => {
  it.each([
    ['refuses the connection', refused],
    ['does not answer in time', new OutboundError('timeout', 'no answer')],
    ['answers 503 with a page', busy],
    ['answers 429', { status: 429, body: '{"error":{"message":"Slow down"}}' }],
  ])('answers from another one when one %s, which is then left alone', async (_name, fault) => {
    const { gateway, chats } = await before({ hosts: { 'a.test': [fault], 'b.test': [says('hello')] } });
    const first = await ask(gateway);
    expect([first.status, first.text]).toEqual([200, 'hello']);
    expect((await ask(gateway)).text).toBe('hello');
    expect(chats).toEqual(['a.test', 'b.test', 'b.test']);
    const { body: metrics } = await gateway.get('/metrics');
    expect(metrics).toContain('toolwharf_backend_attempts_total{backend="pool",outcome="down"} 1');
    expect(metrics).toContain('toolwharf_backend_attempts_total{backend="pool",outcome="answered"} 2');
  });

  it('does so in any round, and repeats no call', async () => {
    const more = clockAnswers;
    const { gateway, chats, others } = await before({
      hosts: { 'a.test': [callOf('now'), refused], 'b.test': [says('It is noon.')] },
      more,
    });
    const seen = await ask(gateway, { tool_ids: ['server:clock'] });
    expect(seen.text).toBe('It is noon.');
    expect(chats).toEqual(['a.test', 'a.test', 'b.test']);
    expect(others).toEqual(['clock.test/now']);
  });

  it('tries a 500 elsewhere once, and leaves nobody alone after it', async () => {
    const { gateway, chats } = await before({ hosts: { 'a.test': [broken, says('again')], 'b.test': [broken], 'c.test': [says('no')] } });
    const seen = await ask(gateway);
    expect([seen.status, seen.raw]).toEqual([500, expect.stringContaining('CUDA error')]);
    expect((await ask(gateway)).text).toBe('again');
    expect(chats).toEqual(['a.test', 'b.test', 'a.test']);
  });

  it('makes nothing again after the first event of an answer', async () => {
    const { gateway, chats } = await before({ hosts: { 'a.test': [streamed(chunk({ content: 'Half a' }))], 'b.test': [says('no')] } });
    const seen = await ask(gateway);
    expect(seen.text).toBe('Half a');
    expect(seen.raw).toContain('upstream_incomplete');
    expect(chats).toEqual(['a.test']);
  });

  it('makes three attempts at most, and says what the last one met', async () => {
    const hosts = { 'a.test': [refused], 'b.test': [refused], 'c.test': [busy], 'd.test': [says('no')] };
    const { gateway, chats } = await before({ hosts });
    expect((await ask(gateway)).status).toBe(502);
    expect(chats).toEqual(['a.test', 'b.test', 'c.test']);
  });

  it('goes to another one after a 404, and leaves nobody alone after it', async () => {
    const hosts = { 'a.test': [{ status: 404, body: '{"error":{"message":"no model m"}}' }], 'b.test': [says('here')] };
    const { gateway, chats } = await before({ hosts });
    expect((await ask(gateway)).text).toBe('here');
    expect((await ask(gateway)).text).toBe('here');
    expect(chats).toEqual(['a.test', 'b.test', 'a.test', 'b.test']);
  });

  it('lists the models of all that answer, and asks for each where it is', async () => {
    const more = {
      'http://a.test/v1/models': { data: [{ id: 'm' }] },
      'http://b.test/v1/models': { data: [{ id: 'm' }, { id: 'large' }] },
      'http://c.test/v1/models': refused,
      'http://d.test/v1/models': neverAnswers,
    };
    const hosts = { 'a.test': [], 'b.test': [says('large')], 'c.test': [], 'd.test': [] };
    const { gateway, chats } = await before({ hosts, more });
    const { data } = (await gateway.get('/v1/models')).json<{ data: { id: string }[] }>();
    expect(data.map(({ id }) => id)).toEqual(['m', 'large']);
    expect((await ask(gateway, { model: 'large' })).text).toBe('large');
    expect(chats).toEqual(['b.test']);
  });

  it('says that some are dead, with their addresses for administrators only', async () => {
    const { gateway } = await before({ hosts: { 'a.test': [says('hello')], 'b.test': [] }, more: { 'http://b.test/v1/models': refused } });
    expect((await gateway.get('/ready')).json()).toMatchObject({ backends: [{ name: 'pool', state: 'partly_unreachable', models: 1 }] });
    expect((await gateway.get('/ready')).body).not.toContain('b.test');
    const { data } = (await gateway.get('/api/backends')).json<{ data: object[] }>();
    expect(data).toMatchObject([{ state: 'partly_unreachable', model_count: 1, fault: expect.stringContaining('http://b.test/v1: ') }]);
    expect((await ask(gateway)).text).toBe('hello');
  });

  it('is dead when none of them lists models', async () => {
    const more = { 'http://a.test/v1/models': refused, 'http://b.test/v1/models': refused };
    const { gateway } = await before({ hosts: { 'a.test': [], 'b.test': [] }, more });
    const seen = await ask(gateway);
    expect([seen.status, seen.raw]).toEqual([404, expect.stringContaining('Backends that do not answer: pool')]);
  });

  it('passes embeddings to one that answers', async () => {
    const more = {
      'http://a.test/v1/embeddings': refused,
      'http://b.test/v1/embeddings': { data: [{ index: 0, embedding: [1, 2] }], usage: { prompt_tokens: 3 } },
    };
    const { gateway, others } = await before({ hosts: { 'a.test': [], 'b.test': [] }, more });
    const headers = { host: '127.0.0.1:8080' };
    const payload = { model: 'm', input: 'hello' };
    const answer = await gateway.app.server.inject({ method: 'POST', url: '/v1/embeddings', headers, payload });
    expect(answer.json()).toMatchObject({ data: [{ embedding: [1, 2] }] });
    expect(others).toEqual(['a.test/v1/embeddings', 'b.test/v1/embeddings']);
  });

  it('shows each attempt in the log of the run', async () => {
    const { gateway } = await before({ hosts: { 'a.test': [refused], 'b.test': [says('hello')] } });
    await ask(gateway);
    const { data } = (await gateway.get('/api/runs')).json<{ data: { id: string }[] }>();
    const run = (await gateway.get(`/api/runs/${data[0]?.id}`)).json<{ events: { type: string; data: JsonObject }[] }>();
    const requests = run.events.filter(({ type }) => type.startsWith('model.'));
    expect(requests).toMatchObject([
      { type: 'model.request', data: { question: 1 } },
      { type: 'model.response', data: { error: { code: 'upstream_unreachable' } } },
      { type: 'model.request', data: { question: 2, reason: 'address_failed' } },
      { type: 'model.response', data: { finish_reason: 'stop' } },
    ]);
  });
});

/** An answer that ends when the test says so. */
function openAnswer(): { answer: ScriptedAnswer; end: () => void; begun: Promise<void> } {
  const open = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield new TextEncoder().encode(chunk({ content: 'first' }));
    begun.resolve();
    await open.promise;
    yield new TextEncoder().encode(`${chunk({}, 'stop')}data: [DONE]\n\n`);
  }
  const headers = { 'content-type': 'text/event-stream' };
  return { answer: async () => ({ status: 200, headers, body: outboundBody(pieces()) }), end: open.resolve, begun: begun.promise };
}

async function untilQueued(gateway: Gateway): Promise<void> {
  await waitFor(async () => {
    const { data } = (await gateway.get('/api/runs')).json<{ data: { last_event?: { type: string } }[] }>();
    expect(data.some(({ last_event: last }) => last?.type === 'queue')).toBe(true);
  });
}

describe('an entry with max_concurrent', () => {
  const one = { maxConcurrent: 1 };

  it('lets a request wait until the stream of the one before has ended, and tells its place', async () => {
    const { answer, end, begun } = openAnswer();
    const { gateway, chats } = await before({ hosts: { 'a.test': [answer, says('second')] }, entry: { ...one, prefix: 'p' } });
    const first = ask(gateway, { model: 'p/m' });
    await begun;
    const second = ask(gateway, { model: 'p/m' });
    await untilQueued(gateway);
    expect((await gateway.get('/metrics')).body).toContain('toolwharf_backend_queue{backend="pool"} 1');
    expect(chats).toEqual(['a.test']);
    end();
    expect((await first).text).toBe('first');
    const seen = await second;
    expect(seen.text).toBe('second');
    const { body: metrics } = await gateway.get('/metrics');
    expect(metrics).toContain('toolwharf_backend_queue{backend="pool"} 0');
    expect(metrics).toContain('toolwharf_backend_attempts_total{backend="pool",outcome="answered"} 2');
    expect(seen.eventsOf('queue')).toEqual([
      { model: 'p/m', place: 1 },
      { model: 'p/m', place: 0 },
    ]);
  });

  it('refuses what is beyond its queue with 503 and Retry-After', async () => {
    const { answer, end, begun } = openAnswer();
    const { gateway } = await before({ hosts: { 'a.test': [answer] }, entry: { ...one, queue: 0 } });
    const first = ask(gateway);
    await begun;
    const payload = { model: 'm', messages: [{ role: 'user', content: 'hello' }] };
    const headers = { host: '127.0.0.1:8080' };
    const refusedOne = await gateway.app.server.inject({ method: 'POST', url: '/v1/chat/completions', headers, payload });
    end();
    await first;
    expect(refusedOne).toMatchObject({ statusCode: 503, headers: { 'retry-after': '5' } });
    expect(refusedOne.json()).toMatchObject({ error: { code: 'overloaded' } });
  });

  it('does not wait for itself when a preset calls another one as a tool', async () => {
    const { gateway } = await before({
      hosts: { 'a.test': [callOf('clerk', { request: 'What time is it?' }), says('It is noon.'), says('The clerk says noon.')] },
      entry: one,
    });
    for (const payload of [
      { id: 'clerk', base_model: 'm', tools: [] },
      { id: 'boss', base_model: 'm', tools: ['preset:clerk'] },
    ])
      await gateway.app.server.inject({ method: 'POST', url: '/api/presets', headers: { host: '127.0.0.1' }, payload });
    const seen = await gateway.ask({ model: 'boss' });
    expect(seen.text).toBe('The clerk says noon.');
  });

  it('shows the place as a status line in Open WebUI, and hides it when the turn has come', async () => {
    const { answer, end, begun } = openAnswer();
    const { gateway } = await before({ hosts: { 'a.test': [answer, says('second')] }, entry: one });
    const first = ask(gateway);
    await begun;
    const headers = { host: '127.0.0.1:8080', 'user-agent': 'Python/3.12 aiohttp/3.12.15' };
    const payload = { model: 'm', stream: true, tool_ids: [], messages: [{ role: 'user', content: 'hello' }] };
    const second = gateway.app.server.inject({ method: 'POST', url: '/v1/chat/completions', headers, payload });
    await untilQueued(gateway);
    end();
    await first;
    const statuses = (await second).body
      .split('\n\n')
      .flatMap((frame) => (frame.includes('"type":"status"') ? [(JSON.parse(frame.slice(6)) as JsonObject)['event']] : []));
    expect(statuses).toEqual([
      { type: 'status', data: { description: 'Waiting for m: place 1 in the queue', done: false } },
      { type: 'status', data: { description: 'Waiting for m: place 1 in the queue', done: true, hidden: true } },
    ]);
  });
});
