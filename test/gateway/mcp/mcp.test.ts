import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { ClientOptions } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ToolServerRecord } from '../../../src/core/stores/registry.ts';
import { parseToolServerConnection } from '../../../src/storage/tool-server-connection.ts';
import { listen, testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { neverAnswers, scriptedSend } from '../../tools/scripted-send.ts';
import type { ScriptedAnswer } from '../../tools/scripted-send.ts';

const clocks = {
  openapi: '3.1.0',
  info: { title: 'Clocks', version: '1' },
  paths: {
    '/time': {
      get: {
        operationId: 'get_time',
        summary: 'Tells the time',
        parameters: [{ name: 'city', in: 'query', required: true, schema: { type: 'string' } }],
        responses: { 200: { description: 'The time' } },
      },
    },
    '/fail': { get: { operationId: 'fail', summary: 'Fails', responses: { 200: { description: 'Never' } } } },
  },
};

function clockServer(id = 'clocks'): ToolServerRecord {
  return parseToolServerConnection({ id, url: `http://${id}.test`, spec: clocks }, 'file');
}

function answersOf(id = 'clocks'): Record<string, ScriptedAnswer> {
  return { [`http://${id}.test/time`]: { time: '12:00' }, [`http://${id}.test/fail`]: new Error('no such luck') };
}

async function gateway(
  environment: NodeJS.ProcessEnv = {},
  onTime: ScriptedAnswer = { time: '12:00' },
): Promise<{ app: TestApp; url: string }> {
  const { send } = scriptedSend({ ...answersOf(), ...answersOf('other'), 'http://clocks.test/time': onTime });
  const toolServers = [clockServer(), clockServer('other')];
  const app = await testApp({ TOOLWHARF_DEMO: 'false', ...environment }, { send, config: { toolServers } });
  onTestFinished(() => app.close());
  return { app, url: `${await listen(app)}/mcp` };
}

async function connect(url: string, { key, ...options }: ClientOptions & { key?: string } = {}): Promise<Client> {
  const client = new Client({ name: 'tester', version: '1' }, options);
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

async function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const usual = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  return fetch(url, { method: 'POST', headers: { ...usual, ...headers }, body: JSON.stringify(body) });
}

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

describe('/mcp', () => {
  it.each([
    ['legacy', {}],
    ['modern', { versionNegotiation: { mode: 'auto' as const } }],
  ] as const)('serves the functions of OpenAPI servers to a client of the %s era', async (era, options) => {
    const { url } = await gateway();
    const client = await connect(url, options);
    expect(client.getProtocolEra()).toBe(era);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['get_time', 'fail']));
    expect(tools).toHaveLength(4);
    expect(tools.find(({ name }) => name === 'get_time')).toMatchObject({
      description: expect.stringContaining('Tells the time'),
      inputSchema: { type: 'object', required: ['city'] },
    });
    expect(await client.callTool({ name: 'get_time', arguments: { city: 'Osaka' } })).toMatchObject({
      content: [{ type: 'text', text: expect.stringContaining('12:00') }],
      structuredContent: { time: '12:00' },
    });
  });

  it('checks arguments as a chat does, and tells a failing tool as a result', async () => {
    const { url } = await gateway();
    const client = await connect(url);
    const wrong = await client.callTool({ name: 'get_time', arguments: {} });
    expect(wrong).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/^args_invalid: .*city/) }] });
    expect(await client.callTool({ name: 'fail', arguments: {} })).toMatchObject({ isError: true });
    await expect(client.callTool({ name: 'nothing', arguments: {} })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('There is no tool "nothing". tools/list names those you may use.'),
    });
  });

  it('gives an image within the JSON of a tool server as an image [S4-34]', async () => {
    const data = 'A'.repeat(400);
    const { url } = await gateway({}, { sky: { photo: `data:image/png;base64,${data}` } });
    const client = await connect(url);
    const note = '[file 1: image/png, 1 kB, not shown here]';
    expect(await client.callTool({ name: 'get_time', arguments: { city: 'Osaka' } })).toMatchObject({
      content: [
        { type: 'text', text: expect.stringContaining(note) },
        { type: 'image', data, mimeType: 'image/png' },
      ],
      structuredContent: { sky: { photo: note } },
    });
  });

  it('asks for a key like every route, and shows what that key may use', async () => {
    const { app, url } = await gateway({ TOOLWHARF_ADMIN_KEY: 'sk-tw-admin-admin-admin' });
    expect((await post(url, ping)).status).toBe(401);
    expect((await post(url, ping, { authorization: 'Bearer sk-tw-wrong' })).status).toBe(401);
    const made = await app.server.inject({
      method: 'POST',
      url: '/api/keys',
      headers: { authorization: 'Bearer sk-tw-admin-admin-admin' },
      payload: { name: 'ada', role: 'user', tools: ['server:other/get_time'] },
    });
    const client = await connect(url, { key: made.json<{ key: string }>().key });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['get_time']);
    await expect(client.callTool({ name: 'clocks/get_time', arguments: { city: 'Osaka' } })).rejects.toMatchObject({ code: -32602 });
  });

  it.each([
    ['a page of another site', { origin: 'https://evil.test' }, 403],
    ['a page of another site, with a key', { origin: 'https://evil.test', authorization: 'Bearer sk-tw-admin-admin-admin' }, 403],
    ['its own page', { authorization: 'Bearer sk-tw-admin-admin-admin' }, 200],
  ])('%s is answered as it should be', async (_name, headers: Record<string, string>, status) => {
    const { url } = await gateway('authorization' in headers ? { TOOLWHARF_ADMIN_KEY: 'sk-tw-admin-admin-admin' } : {});
    const own = 'origin' in headers ? headers : { ...headers, origin: new URL(url).origin };
    expect((await post(url, ping, own)).status).toBe(status);
  });

  it('answers to a name that was rebound to this address with a refusal', async () => {
    const { app } = await gateway();
    const headers = { host: 'rebound.test', accept: 'application/json, text/event-stream' };
    const answer = await app.server.inject({ method: 'POST', url: '/mcp', headers, payload: ping });
    expect(answer.statusCode).toBe(403);
  });

  it('has no sessions to take up, and takes neither batches nor what is no message', async () => {
    const { url } = await gateway();
    expect((await fetch(url, { headers: { accept: 'application/json' } })).status).toBe(405);
    expect((await fetch(url, { headers: { accept: 'text/event-stream', 'mcp-protocol-version': '2026-07-28' } })).status).toBe(405);
    expect((await fetch(url, { method: 'DELETE' })).status).toBe(405);
    expect((await post(url, [ping, ping])).status).toBe(400);
    expect((await post(url, { no: 'message' })).status).toBe(400);
  });

  it.each(['*/*', 'text/html, */*;q=0.8'])('answers who takes everything: %s', async (accept) => {
    const { url } = await gateway();
    expect((await post(url, ping, { accept })).status).toBe(200);
  });

  it('runs nothing that needs an approval, because nobody could be asked', async () => {
    const { app, url } = await gateway();
    await app.server.inject({
      method: 'POST',
      url: '/api/tool-servers',
      payload: { id: 'careful', url: 'http://careful.test', spec: clocks, config: { needs_approval: true } },
    });
    const client = await connect(url);
    const answer = await client.callTool({ name: 'careful/get_time', arguments: { city: 'Osaka' } });
    expect(answer).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/^approval_required/) }] });
  });

  it.each([
    ['legacy', {}],
    ['modern', { versionNegotiation: { mode: 'auto' as const } }],
  ] as const)('ends a call when its client leaves: %s era', async (_era, options) => {
    const begun = Promise.withResolvers<AbortSignal>();
    const { url } = await gateway({}, (request) => {
      begun.resolve(request.signal);
      return neverAnswers(request);
    });
    const client = await connect(url, options);
    const call = client.callTool({ name: 'clocks/get_time', arguments: { city: 'Osaka' } }).catch(() => undefined);
    const signal = await begun.promise;
    const ended = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    await client.close();
    await ended;
    await call;
  });

  it('ends a call of 2025 without a session with its connection, not by a number that other clients use too', async () => {
    const begun = Promise.withResolvers<AbortSignal>();
    const { url } = await gateway({}, (request) => {
      begun.resolve(request.signal);
      return neverAnswers(request);
    });
    const leaving = new AbortController();
    const params = { name: 'clocks/get_time', arguments: { city: 'Osaka' } };
    const call = fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params }),
      signal: leaving.signal,
    })
      .then(async (answer) => answer.text())
      .catch(() => undefined);
    const signal = await begun.promise;
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } };
    expect((await post(url, cancelled, { 'mcp-protocol-version': '2025-06-18' })).status).toBe(202);
    expect(signal.aborted).toBe(false);
    const ended = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    leaving.abort();
    await ended;
    await call;
  });

  it('gives two clients that count alike each its own answer', async () => {
    const { url } = await gateway();
    const [first, second] = await Promise.all([connect(url), connect(url)]);
    const [time, wrong] = await Promise.all([
      first.callTool({ name: 'get_time', arguments: { city: 'Osaka' } }),
      second.callTool({ name: 'get_time', arguments: {} }),
    ]);
    expect(time.isError).toBeUndefined();
    expect(wrong.isError).toBe(true);
  });

  it('counts calls towards the limits of a key, and lists for free', async () => {
    const { app, url } = await gateway({ TOOLWHARF_ADMIN_KEY: 'sk-tw-admin-admin-admin' });
    const made = await app.server.inject({
      method: 'POST',
      url: '/api/keys',
      headers: { authorization: 'Bearer sk-tw-admin-admin-admin' },
      payload: { name: 'ada', role: 'user', limits: { requests_per_minute: 1 } },
    });
    const client = await connect(url, { key: made.json<{ key: string }>().key });
    await client.listTools();
    await client.callTool({ name: 'get_time', arguments: { city: 'Osaka' } });
    await expect(client.callTool({ name: 'get_time', arguments: { city: 'Osaka' } })).rejects.toThrow(/429|limit/i);
    expect((await client.listTools()).tools).toHaveLength(4);
  });
});
