import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { ClientOptions, ElicitRequestFormParams, ElicitResult } from '@modelcontextprotocol/client';
import { acceptedContent, inputRequired } from '@modelcontextprotocol/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseToolServerConnection, parseToolServerConnections } from '../../../src/storage/tool-server-connection.ts';
import { listen, testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { functionModule } from '../../_support/tools-folder.ts';
import { functionGateway } from '../../gateway/functions/function-gateway.ts';
import { neverAnswers, scriptedSend } from '../../tools/scripted-send.ts';
import type { ScriptedAnswer } from '../../tools/scripted-send.ts';
import { httpPeer, toolOf } from '../../tools/mcp/scripted-peer.ts';

const adminKey = 'sk-tw-admin-admin-admin';
const mail = {
  openapi: '3.1.0',
  info: { title: 'Mail', version: '1' },
  paths: {
    '/send': {
      post: {
        operationId: 'send_mail',
        requestBody: {
          content: { 'application/json': { schema: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] } } },
        },
        responses: { 200: { description: 'Sent' } },
      },
    },
  },
};

interface Door {
  app: TestApp;
  url: string;
  /** How often the mail was sent. */
  sent: () => number;
}

async function mailDoor(answer: ScriptedAnswer = { status: 'sent' }, environment: NodeJS.ProcessEnv = {}): Promise<Door> {
  const { send, requests } = scriptedSend({ 'http://mail.test/send': answer });
  const toolServers = [
    parseToolServerConnection({ id: 'mail', url: 'http://mail.test', spec: mail, config: { needs_approval: true } }, 'file'),
  ];
  const app = await testApp({ TOOLWHARF_DEMO: 'false', ...environment }, { send, config: { toolServers } });
  onTestFinished(() => app.close());
  const sent = (): number => requests.filter((request) => request.url.startsWith('http://mail.test')).length;
  return { app, url: `${await listen(app)}/mcp`, sent };
}

type Answering = (form: ElicitRequestFormParams) => Promise<ElicitResult> | ElicitResult;

const eras = [
  ['legacy', {}],
  ['modern', { versionNegotiation: { mode: 'auto' as const } }],
] as const;

interface Connected {
  client: Client;
  transport: StreamableHTTPClientTransport;
  asked: ElicitRequestFormParams[];
}

/** A client that answers forms. */
async function connect(url: string, answer: Answering, { key, ...options }: ClientOptions & { key?: string } = {}): Promise<Connected> {
  const client = new Client({ name: 'tester', version: '1' }, { ...options, capabilities: { elicitation: { form: {} } } });
  const asked: ElicitRequestFormParams[] = [];
  client.setRequestHandler('elicitation/create', ({ params }) => {
    asked.push(params as ElicitRequestFormParams);
    return answer(params as ElicitRequestFormParams);
  });
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return { client, transport, asked };
}

const approve: Answering = () => ({ action: 'accept', content: { decision: 'approve' } });
const toAda = { name: 'send_mail', arguments: { to: 'ada@example.test' } };

describe.each(eras)('a client that can be asked: %s era', (era, options) => {
  it('approves a call, which runs once', async () => {
    const { url, sent } = await mailDoor();
    const { client, transport, asked } = await connect(url, approve, options);
    expect(transport.sessionId === undefined).toBe(era === 'modern');
    expect(await client.callTool(toAda)).toMatchObject({ structuredContent: { status: 'sent' } });
    expect(asked).toMatchObject([{ message: expect.stringContaining('ada@example.test'), requestedSchema: { required: ['decision'] } }]);
    expect(sent()).toBe(1);
  });

  it.each<[name: string, answer: ElicitResult, says: string]>([
    ['rejects', { action: 'accept', content: { decision: 'reject', message: 'Not today.' } }, 'Not today.'],
    ['declines', { action: 'decline' }, 'rejected'],
    ['closes the dialog', { action: 'cancel' }, 'rejected'],
    ['confirms a form without a decision', { action: 'accept', content: {} }, 'rejected'],
  ])('who %s is told so, and nothing runs', async (_name, answer, says) => {
    const { url, sent } = await mailDoor();
    const { client } = await connect(url, () => answer, options);
    expect(await client.callTool(toAda)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(new RegExp(`^approval_rejected.*${says}`)) }],
    });
    expect(sent()).toBe(0);
  });

  it('sees what it decides on: nothing is hidden or turned around', async () => {
    const { url } = await mailDoor();
    const { client, asked } = await connect(url, () => ({ action: 'decline' }), options);
    await client.callTool({ name: 'send_mail', arguments: { to: 'ada\u202egro\u001b[2J' } });
    expect(asked[0]?.message).toContain('ada\\u202egro\\u001b[2J');
  });

  it('is asked in its turn by a function, with and without a schema', async () => {
    const execute = `async (_, { ask, confirm }) => [
      await ask('Which city?', { schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } }),
      await ask('How many?', { schema: { type: 'integer' } }),
      await ask('Any words?'),
      await confirm('Really?', 'It costs.'),
    ]`;
    const gateway = await functionGateway({ 'a.js': functionModule('plan', { execute }) });
    onTestFinished(() => gateway[Symbol.asyncDispose]());
    const answers: Record<string, ElicitResult> = {
      city: { action: 'accept', content: { city: 'Osaka' } },
      many: { action: 'accept', content: { value: 3 } },
      words: { action: 'decline' },
      Really: { action: 'accept', content: { decision: 'approve' } },
    };
    const answer: Answering = ({ message }) =>
      Object.entries(answers).find(([word]) => message.includes(word))?.[1] ?? { action: 'cancel' };
    const { client, asked } = await connect(`${await listen(gateway.app)}/mcp`, answer, options);
    const { content } = await client.callTool({ name: 'plan', arguments: {} });
    expect(content).toMatchObject([{ text: expect.any(String) }]);
    const [first] = content;
    expect(JSON.parse(first?.type === 'text' ? first.text : '')).toEqual([{ city: 'Osaka' }, 3, null, true]);
    expect(asked).toHaveLength(4);
  });

  it('is asked for what an MCP server wants to know', async () => {
    const requestedSchema = { type: 'object' as const, properties: { city: { type: 'string' as const } }, required: ['city'] };
    const peer = httpPeer([toolOf('weather')], (_name, _args, { mcpReq }) => {
      const given = acceptedContent(mcpReq.inputResponses, 'place');
      if (given !== undefined) return { content: [{ type: 'text', text: `Sunny in ${String(given['city'])}` }] };
      return inputRequired({ inputRequests: { place: inputRequired.elicit({ message: 'Which city?', requestedSchema }) } });
    });
    const toolServers = parseToolServerConnections([{ id: 'peer', type: 'mcp', url: 'http://peer.test/mcp' }], 'file');
    const app = await testApp({ TOOLWHARF_DEMO: 'false' }, { send: peer.send, config: { toolServers } });
    onTestFinished(() => app.close());
    const { client, asked } = await connect(`${await listen(app)}/mcp`, () => ({ action: 'accept', content: { city: 'Osaka' } }), options);
    expect(await client.callTool({ name: 'weather', arguments: {} })).toMatchObject({ content: [{ text: 'Sunny in Osaka' }] });
    expect(asked).toMatchObject([{ message: 'The tool server "peer" asks\n\nWhich city?', requestedSchema }]);
  });

  it('cancels a call at once while it runs, and goes on', async () => {
    const begun = Promise.withResolvers<AbortSignal>();
    const { url } = await mailDoor((request) => {
      begun.resolve(request.signal);
      return neverAnswers(request);
    });
    const { client } = await connect(url, approve, options);
    const cancelled = new AbortController();
    const call = client.callTool(toAda, { signal: cancelled.signal }).catch(() => undefined);
    const signal = await begun.promise;
    const ended = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    cancelled.abort('enough');
    await ended;
    await call;
    expect((await client.listTools()).tools).toHaveLength(1);
  });

  it('gets the answers to its own calls, whatever others of its key do at the same time', async () => {
    const { url, sent } = await mailDoor();
    const [yes, no] = await Promise.all([connect(url, approve, options), connect(url, () => ({ action: 'decline' }), options)]);
    const [done, refused] = await Promise.all([yes.client.callTool(toAda), no.client.callTool(toAda)]);
    expect(done.isError).toBeUndefined();
    expect(refused.isError).toBe(true);
    expect(sent()).toBe(1);
  });

  it('is told of progress', async () => {
    const execute = 'async (_, { status, progress, confirm }) => { await progress(1, 2); await confirm("Go on?"); await progress(2, 2); }';
    const gateway = await functionGateway({ 'a.js': functionModule('work', { execute }) });
    onTestFinished(() => gateway[Symbol.asyncDispose]());
    const { client } = await connect(`${await listen(gateway.app)}/mcp`, approve, options);
    const heard: number[] = [];
    // The SDK's client adds words of its own about each question, without a total.
    const onprogress = ({ progress, total }: { progress: number; total?: number | undefined }): void =>
      void (total === 2 && heard.push(progress));
    await client.callTool({ name: 'work', arguments: {} }, { onprogress });
    expect(heard).toEqual([1, 2]);
  });
});

it.each(eras)('a client that cannot be asked is told that an approval is needed: %s era', async (_era, options) => {
  const { url, sent } = await mailDoor();
  const client = new Client({ name: 'tester', version: '1' }, options);
  const transport = new StreamableHTTPClientTransport(new URL(url));
  await client.connect(transport);
  onTestFinished(() => client.close());
  expect(transport.sessionId).toBeUndefined();
  expect(await client.callTool(toAda)).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/^approval_required/) }] });
  expect(sent()).toBe(0);
});

async function keyOf(app: TestApp, name: string, limits?: object): Promise<string> {
  const headers = { authorization: `Bearer ${adminKey}` };
  const made = await app.server.inject({
    method: 'POST',
    url: '/api/keys',
    headers,
    payload: { name, role: 'user', ...(limits && { limits }) },
  });
  return made.json<{ key: string }>().key;
}

async function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const usual = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  return fetch(url, { method: 'POST', headers: { ...usual, ...headers }, body: JSON.stringify(body) });
}

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: { elicitation: {} }, clientInfo: { name: 'tester', version: '1' } },
};
const ping = { jsonrpc: '2.0', id: 2, method: 'ping' };

async function openSession(url: string, headers: Record<string, string> = {}): Promise<string> {
  const answer = await post(url, initialize, headers);
  await answer.text();
  return answer.headers.get('mcp-session-id') ?? '';
}

async function statusIn(url: string, session: string, headers: Record<string, string> = {}): Promise<number> {
  const answer = await post(url, ping, { ...headers, 'mcp-session-id': session });
  await answer.text();
  return answer.status;
}

describe('a session', () => {
  it('is there for the key that has opened it alone, until that key ends it', async () => {
    const { app, url } = await mailDoor({}, { TOOLWHARF_ADMIN_KEY: adminKey });
    const own = { authorization: `Bearer ${await keyOf(app, 'ada')}` };
    const other = { authorization: `Bearer ${await keyOf(app, 'bob')}` };
    const session = await openSession(url, own);
    expect(session).not.toBe('');
    expect(await statusIn(url, session, own)).toBe(200);
    expect(await statusIn(url, session, other)).toBe(404);
    expect(await statusIn(url, 'guessed', own)).toBe(404);
    const remove = (headers: Record<string, string>): Promise<Response> =>
      fetch(url, { method: 'DELETE', headers: { ...headers, 'mcp-session-id': session } });
    expect((await remove(other)).status).toBe(404);
    expect((await remove(own)).status).toBe(200);
    expect(await statusIn(url, session, own)).toBe(404);
  });

  it('ends when its key has opened too many others since', async () => {
    const { url } = await mailDoor();
    const first = await openSession(url);
    const second = await openSession(url);
    for (let opened = 0; opened < 31; opened += 1) await openSession(url);
    expect(await statusIn(url, first)).toBe(404);
    expect(await statusIn(url, second)).toBe(200);
  });

  it('ends a day after its last request', async () => {
    let now = 1_000_000;
    const app = await testApp({ TOOLWHARF_DEMO: 'false' }, { now: () => now });
    onTestFinished(() => app.close());
    const url = `${await listen(app)}/mcp`;
    const session = await openSession(url);
    now += 23 * 60 * 60 * 1000;
    expect(await statusIn(url, session)).toBe(200);
    now += 23 * 60 * 60 * 1000;
    expect(await statusIn(url, session)).toBe(200);
    now += 25 * 60 * 60 * 1000;
    expect(await statusIn(url, session)).toBe(404);
  });

  it('has a log level of its own', async () => {
    const gateway = await functionGateway({ 'a.js': functionModule('work', { execute: 'async (_, { status }) => status("half")' }) });
    onTestFinished(() => gateway[Symbol.asyncDispose]());
    const url = `${await listen(gateway.app)}/mcp`;
    const [quiet, loud] = [await connect(url, approve), await connect(url, approve)];
    const heard: string[] = [];
    for (const [name, { client }] of Object.entries({ quiet, loud }))
      client.setNotificationHandler('notifications/message', () => void heard.push(name));
    await quiet.client.setLoggingLevel('error');
    await Promise.all([quiet, loud].map(({ client }) => client.callTool({ name: 'work', arguments: {} })));
    expect(heard).toEqual(['loud']);
  });

  it('waits for an answer only so long', async () => {
    const { url, sent } = await mailDoor({}, { APPROVAL_TIMEOUT_MS: '1000' });
    const { client } = await connect(url, () => new Promise(() => undefined));
    expect(await client.callTool(toAda)).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/^approval_expired/) }] });
    expect(sent()).toBe(0);
  });

  it('of a client that cancels a call ends it at once while it asks', async () => {
    const execute = `async (_, { ask, signal }) => {
      signal.addEventListener('abort', () => tell('cancelled'));
      await ask('Which city?');
    }`;
    const gateway = await functionGateway({ 'a.js': functionModule('plan', { execute }) });
    onTestFinished(() => gateway[Symbol.asyncDispose]());
    const told = Promise.withResolvers<unknown>();
    Object.assign(globalThis, { tell: told.resolve });
    onTestFinished(() => void Reflect.deleteProperty(globalThis, 'tell'));
    const cancelled = new AbortController();
    const { client } = await connect(`${await listen(gateway.app)}/mcp`, () => {
      cancelled.abort('enough');
      return new Promise(() => undefined);
    });
    const call = client.callTool({ name: 'plan', arguments: {} }, { signal: cancelled.signal }).catch(() => 'ended');
    expect(await told.promise).toBe('cancelled');
    expect(await call).toBe('ended');
  });

  it('closes the stream of a call that is cancelled, which then counts no longer', async () => {
    const { app, url } = await mailDoor({ status: 'sent' }, { TOOLWHARF_ADMIN_KEY: adminKey });
    const own = { authorization: `Bearer ${await keyOf(app, 'ada', { concurrent_runs: 1 })}` };
    const headers = { ...own, 'mcp-session-id': await openSession(url, own) };
    const call = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: toAda };
    for (const _round of [1, 2]) {
      const stream = await post(url, call, headers);
      expect(stream.status).toBe(200);
      const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } };
      const cancelled = await post(url, cancel, headers);
      expect(cancelled.status).toBe(202);
      expect(await stream.text()).not.toContain('"id":7');
    }
    expect(await statusIn(url, headers['mcp-session-id'], own)).toBe(200);
  });

  it('of a client that leaves ends the call that asks', async () => {
    const { url, sent } = await mailDoor();
    const asking = Promise.withResolvers<undefined>();
    const { client } = await connect(url, () => {
      asking.resolve(undefined);
      return new Promise(() => undefined);
    });
    const call = client.callTool(toAda).catch(() => 'ended');
    await asking.promise;
    await client.close();
    expect(await call).toBe('ended');
    expect(sent()).toBe(0);
  });
});

describe('a call that asked in its answer', () => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
    'io.modelcontextprotocol/clientInfo': { name: 'tester', version: '1' },
  };
  interface Round {
    result?: { resultType: string; requestState?: string; inputRequests?: Record<string, unknown>; isError?: boolean };
    error?: { code: number; message: string };
  }

  async function round(url: string, more: object = {}, { key, name = 'send_mail' }: { key?: string; name?: string } = {}): Promise<Round> {
    const params = { name, arguments: toAda.arguments, _meta: meta, ...more };
    const answer = await post(
      url,
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
      {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': name,
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
    );
    const text = await answer.text();
    return JSON.parse(text.startsWith('{') ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? '{}')) as Round;
  }

  function answerTo({ result }: Round): object {
    const inputResponses = Object.fromEntries(
      Object.keys(result?.inputRequests ?? {}).map((key) => [key, { action: 'accept', content: { decision: 'approve' } }]),
    );
    return { requestState: result?.requestState, inputResponses };
  }

  it('runs once, however often the same answer comes', async () => {
    const { url, sent } = await mailDoor();
    const asked = await round(url);
    expect(asked.result).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) });
    const answers = await Promise.all([round(url, answerTo(asked)), round(url, answerTo(asked)), round(url, answerTo(asked))]);
    expect(answers.filter(({ result }) => result?.resultType === 'complete')).toHaveLength(1);
    expect(answers.filter(({ error }) => error?.code === -32602)).toHaveLength(2);
    expect(sent()).toBe(1);
  });

  it('is gone on with by its own key alone, as the same function', async () => {
    const { app, url, sent } = await mailDoor({ status: 'sent' }, { TOOLWHARF_ADMIN_KEY: adminKey });
    const [own, other] = [await keyOf(app, 'ada'), await keyOf(app, 'bob')];
    const asked = await round(url, {}, { key: own });
    expect((await round(url, answerTo(asked), { key: other })).error).toMatchObject({ code: -32602 });
    expect((await round(url, answerTo(asked), { key: own, name: 'another' })).error).toMatchObject({ code: -32602 });
    expect((await round(url, { requestState: 'guessed', inputResponses: {} }, { key: own })).error).toMatchObject({ code: -32602 });
    expect(sent()).toBe(0);
    expect((await round(url, answerTo(asked), { key: own })).result).toMatchObject({ resultType: 'complete' });
    expect(sent()).toBe(1);
  });

  it('asks again what was not answered', async () => {
    const { url } = await mailDoor();
    const asked = await round(url);
    const again = await round(url, { requestState: asked.result?.requestState, inputResponses: { other: { action: 'accept' } } });
    expect(again.result).toMatchObject({ resultType: 'input_required', inputRequests: asked.result?.inputRequests });
    expect((await round(url, answerTo(again))).result).toMatchObject({ resultType: 'complete' });
  });

  it('is dropped when its caller leaves too many such calls behind', async () => {
    const { url, sent } = await mailDoor();
    const first = await round(url);
    for (let asked = 0; asked < 16; asked += 1) await round(url);
    expect((await round(url, answerTo(first))).error).toMatchObject({ code: -32602 });
    expect(sent()).toBe(0);
  });

  it('holds up no shutdown', async () => {
    const { app, url, sent } = await mailDoor({}, { DRAIN_TIMEOUT_MS: '60000' });
    expect((await round(url)).result).toMatchObject({ resultType: 'input_required' });
    await app.close();
    expect(sent()).toBe(0);
  });

  it('is over when nobody has answered in time', async () => {
    const { url, sent } = await mailDoor({}, { APPROVAL_TIMEOUT_MS: '1000' });
    const asked = await round(url);
    await new Promise((resolve) => setTimeout(resolve, 1_300));
    expect((await round(url, answerTo(asked))).error).toMatchObject({ code: -32602 });
    expect(sent()).toBe(0);
  });
});

describe.each(eras)('a link that an MCP server wants to be opened: %s era', (_era, options) => {
  async function clientOf(
    elicitation: { form: Record<string, never> } | { url: Record<string, never> },
    url = 'https://bank.example/pay?x=1',
  ): Promise<{ client: Client; asked: unknown[] }> {
    const peer = httpPeer([toolOf('pay')], (_name, _args, { mcpReq }) => {
      const answer = mcpReq.inputResponses?.['page'] as ElicitResult | undefined;
      if (answer !== undefined) return { content: [{ type: 'text', text: answer.action }] };
      return inputRequired({ inputRequests: { page: inputRequired.elicitUrl({ message: 'Pay here', url }) } });
    });
    const toolServers = [parseToolServerConnection({ id: 'bank', type: 'mcp', url: 'http://bank.test/mcp' }, 'file')];
    const app = await testApp({ TOOLWHARF_DEMO: 'false' }, { send: peer.send, config: { toolServers } });
    onTestFinished(() => app.close());
    const client = new Client({ name: 'tester', version: '1' }, { ...options, capabilities: { elicitation } });
    const asked: unknown[] = [];
    client.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push(params);
      return { action: 'accept' };
    });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${await listen(app)}/mcp`)));
    onTestFinished(() => client.close());
    return { client, asked };
  }
  const pay = async (client: Client): Promise<unknown> => (await client.callTool({ name: 'pay', arguments: {} })).content;

  it('reaches clients that show links, under the name of the server', async () => {
    const { client, asked } = await clientOf({ url: {} });
    expect(await pay(client)).toEqual([{ type: 'text', text: 'accept' }]);
    expect(asked).toMatchObject([{ mode: 'url', url: 'https://bank.example/pay?x=1', message: 'The tool server "bank" asks: Pay here' }]);
  });

  it.each([
    ['from other clients', { form: {} }, undefined],
    ['if it is no page', { url: {} }, 'javascript:alert(1)'],
  ])('is withheld %s', async (_what, elicitation, url) => {
    const { client, asked } = await clientOf(elicitation, url);
    expect(JSON.stringify(await pay(client))).toMatch(/decline|cancel/);
    expect(asked).toEqual([]);
  });
});
