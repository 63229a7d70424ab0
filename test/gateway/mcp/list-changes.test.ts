import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import type { McpHttpHandler } from '@modelcontextprotocol/server';
import { SignJWT } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { SendOutbound } from '../../../src/core/outbound.ts';
import { gatewayHeader } from '../../../src/core/tools/gateway-chain.ts';
import { listen, testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { outboundBody } from '../../_support/outbound-body.ts';
import { functionModule } from '../../_support/tools-folder.ts';
import { toolOf } from '../../tools/mcp/scripted-peer.ts';
import { functionGateway } from '../functions/function-gateway.ts';

const adminKey = 'sk-tw-admin-admin-admin';
const admin = { authorization: `Bearer ${adminKey}` };
const connection = { id: 'peer', type: 'mcp', url: 'http://peer.test/mcp' };

/** An MCP server with changing lists, behind the door out. */
function changingPeer(): { tools: ReturnType<typeof toolOf>[]; bus: McpHttpHandler['bus']; listening: () => number; send: SendOutbound } {
  const tools = [toolOf('first')];
  const listChanged = true;
  const handler = createMcpHandler(() => {
    const capabilities = { tools: { listChanged }, resources: { listChanged }, prompts: { listChanged } };
    const server = new Server({ name: 'peer', version: '1' }, { capabilities });
    server.setRequestHandler('tools/list', () => ({ tools }));
    server.setRequestHandler('resources/list', () => ({ resources: [] }));
    server.setRequestHandler('prompts/list', () => ({ prompts: [] }));
    return server;
  });
  return {
    tools,
    bus: handler.bus,
    listening: () => (handler.bus as unknown as { listenerCount: number }).listenerCount,
    async send({ method, url, headers = {}, body, signal }) {
      const answer = await handler.fetch(new Request(url, { method, headers, signal, ...(body !== undefined && { body: String(body) }) }));
      return {
        status: answer.status,
        headers: Object.fromEntries(answer.headers),
        body: outboundBody(answer.body ?? (async function* () {})()),
      };
    },
  };
}

interface Door {
  app: TestApp;
  url: string;
  peer: ReturnType<typeof changingPeer>;
  change: (
    method: 'POST' | 'PATCH' | 'PUT' | 'DELETE',
    path: string,
    payload?: object,
    headers?: Record<string, string>,
  ) => Promise<{ id: string; key: string }>;
}

async function door(): Promise<Door> {
  const peer = changingPeer();
  const app = await testApp({ TOOLWHARF_DEMO: 'false', TOOLWHARF_ADMIN_KEY: adminKey }, { send: peer.send });
  onTestFinished(() => app.close());
  const url = `${await listen(app)}/mcp`;
  return {
    app,
    url,
    peer,
    async change(method, path, payload, headers = admin) {
      const answer = await app.server.inject({ method, url: path, headers, ...(payload && { payload }) });
      expect(answer.statusCode).toBeLessThan(300);
      return answer.json();
    },
  };
}

type List = 'tools' | 'resources' | 'prompts';

interface Listening {
  /** Everything that it was told, in order. */
  heard: List[];
  client: Client;
}

/** A client of the official SDK that wants to know of changes. */
async function listeningClient(url: string, era: 'legacy' | 'auto', { key = adminKey, asks = false } = {}): Promise<Listening> {
  const heard: List[] = [];
  const toldOf = (list: List) => ({ autoRefresh: false, debounceMs: 0, onChanged: () => void heard.push(list) });
  const client = new Client(
    { name: 'tester', version: '1' },
    {
      versionNegotiation: { mode: era },
      ...(asks && { capabilities: { elicitation: {} } }),
      listChanged: { tools: toldOf('tools'), resources: toldOf('resources'), prompts: toldOf('prompts') },
    },
  );
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  onTestFinished(() => client.close());
  return { heard, client };
}

/** The stream of a client of the versions of 2025, once it is open. */
async function openStream(url: string, headers: Record<string, string> = {}): Promise<{ response: Response; next: () => Promise<string> }> {
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const response = await fetch(url, { headers: { ...admin, accept: 'text/event-stream', ...headers }, signal: leaving.signal });
  const reader = response.body?.getReader();
  return {
    response,
    /** The next event, or the end of the stream as an empty text. */
    async next() {
      for (let text = ''; ;) {
        const { value, done } = (await reader?.read()) ?? { done: true };
        text += Buffer.from(value ?? []).toString();
        if (done || text.includes('data:')) return text;
      }
    },
  };
}

const clients = [
  ['a client of 2025 without a session', 'legacy', { asks: false }],
  ['a client of 2025 with a session', 'legacy', { asks: true }],
  ['a client of 2026', 'auto', { asks: false }],
] as const;

describe.each(clients)('changes of the lists of /mcp, for %s', (_name, era, options) => {
  it('are announced, and sent when a server is registered, changed or deleted', async () => {
    const { url, change } = await door();
    const { client, heard } = await listeningClient(url, era, options);
    expect(client.getServerCapabilities()).toMatchObject({
      tools: { listChanged: true },
      resources: { listChanged: true },
      prompts: { listChanged: true },
    });
    await change('POST', '/api/tool-servers', connection);
    await expect.poll(() => [...new Set(heard)].toSorted()).toEqual(['prompts', 'resources', 'tools']);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['first']);
    heard.length = 0;
    await change('PATCH', '/api/tool-servers/peer', { config: { enable: false } });
    await expect.poll(() => heard).toContain('tools');
    heard.length = 0;
    await change('DELETE', '/api/tool-servers/peer');
    await expect.poll(() => heard).toContain('tools');
  });

  it('are sent when the server announces them itself', async () => {
    const { url, change, peer } = await door();
    await change('POST', '/api/tool-servers', connection);
    await expect.poll(() => peer.listening()).toBe(1);
    const { client, heard } = await listeningClient(url, era, options);
    peer.tools.push(toolOf('second'));
    peer.bus.publish({ kind: 'tools_list_changed' });
    await expect.poll(() => heard).toContain('tools');
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['first', 'second']);
    heard.length = 0;
    peer.bus.publish({ kind: 'resources_list_changed' });
    await expect.poll(() => heard).toEqual(['resources']);
    peer.bus.publish({ kind: 'prompts_list_changed' });
    await expect.poll(() => heard).toEqual(['resources', 'prompts']);
  });

  it('are sent when a preset is created, and when the tools of the key change', async () => {
    const { url, change } = await door();
    const { id, key } = await change('POST', '/api/keys', { name: 'ada', role: 'user' });
    const { heard } = await listeningClient(url, era, { ...options, key });
    await change('POST', '/api/presets', { id: 'helper', base_model: 'model' });
    await expect.poll(() => heard).toEqual(['tools']);
    await change('PATCH', `/api/keys/${id}`, { tools: [] });
    await expect.poll(() => heard).toContain('resources');
  });
});

describe('changes of the lists of /mcp', () => {
  it('reach only the person who has connected', async () => {
    const { url, change } = await door();
    await change('POST', '/api/tool-servers', { ...connection, auth_type: 'bearer', per_user: true });
    const { key } = await change('POST', '/api/keys', { name: 'front', role: 'user', users: { from: 'header', name: 'x-user' } });
    const as = (user: string): Record<string, string> => ({ authorization: `Bearer ${key}`, 'x-user': user });
    const [ada, bob] = [await openStream(url, as('ada')), await openStream(url, as('bob'))];
    await change('PUT', '/api/credentials/peer', { key: 'ada-key' }, as('ada'));
    expect(await ada.next()).toContain('notifications/tools/list_changed');
    await change('POST', '/api/presets', { id: 'helper', base_model: 'model' });
    const toldBob = await bob.next();
    expect(toldBob).toContain('notifications/tools/list_changed');
    expect(toldBob).not.toContain('resources');
  });

  it('are not sent when a refreshed server offers the same as before', async () => {
    const { url, change } = await door();
    await change('POST', '/api/tool-servers', connection);
    const { heard } = await listeningClient(url, 'legacy');
    await change('POST', '/api/tool-servers/peer/refresh', {});
    await change('POST', '/api/presets', { id: 'helper', base_model: 'model' });
    await expect.poll(() => heard).toEqual(['tools']);
  });

  it('are sent when a file of functions changes', async () => {
    const gateway = await functionGateway({}, { environment: { TOOLWHARF_ADMIN_KEY: adminKey } });
    onTestFinished(() => gateway[Symbol.asyncDispose]());
    const url = `${await listen(gateway.app)}/mcp`;
    const { next } = await openStream(url);
    gateway.folder.write({ 'one.mjs': functionModule('one') });
    expect(await next()).toContain('notifications/tools/list_changed');
  });

  it('do not circulate between gateways that are each other’s servers', async () => {
    const { app, url, change, peer } = await door();
    await change('POST', '/api/tool-servers', connection);
    await expect.poll(() => peer.listening()).toBe(1);
    const own = (await app.server.inject({ method: 'POST', url: '/mcp', headers: admin, payload: {} })).headers[gatewayHeader];
    const { next } = await openStream(url);
    peer.bus.publish({ kind: 'resources_list_changed', params: { _meta: { 'toolwharf/gateways': ['other', own] } } });
    peer.bus.publish({ kind: 'prompts_list_changed', params: { _meta: { 'toolwharf/gateways': ['other'] } } });
    const told = await next();
    expect(told).toContain('notifications/prompts/list_changed');
    expect(told).toContain(JSON.stringify({ 'toolwharf/gateways': [own, 'other'] }));
    expect(told).not.toContain('resources');
  });

  it('end with the key, and with the session', async () => {
    const { url, change } = await door();
    const { id, key } = await change('POST', '/api/keys', { name: 'ada', role: 'user' });
    const own = { authorization: `Bearer ${key}` };
    const stream = await openStream(url, own);
    const params = { protocolVersion: '2025-06-18', capabilities: { elicitation: {} }, clientInfo: { name: 'tester', version: '1' } };
    const opened = await fetch(url, {
      method: 'POST',
      headers: { ...own, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
    });
    await opened.text();
    const session = { ...own, 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    const first = await openStream(url, session);
    const second = await openStream(url, session);
    expect(await first.next()).not.toContain('data:');
    await fetch(url, { method: 'DELETE', headers: session });
    expect(await second.next()).not.toContain('data:');
    expect((await openStream(url, session)).response.status).toBe(404);
    await change('DELETE', `/api/keys/${id}`);
    expect(await stream.next()).not.toContain('data:');
  });

  it('end with the token that names their caller', async () => {
    const { url, change } = await door();
    const secret = 'a-shared-secret-of-thirty-two-letters';
    const { key } = await change('POST', '/api/keys', { name: 'team', role: 'user', users: { from: 'jwt', name: 'x-user', secret } });
    const signed = new SignJWT({ sub: 'ada' }).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('2s');
    const headers = { authorization: `Bearer ${key}`, 'x-user': await signed.sign(new TextEncoder().encode(secret)) };
    const stream = await openStream(url, headers);
    expect(stream.response.status).toBe(200);
    expect(await stream.next()).not.toContain('data:');
  });

  it('are refused to a caller with a hundred streams until one of them has ended', async () => {
    const { url } = await door();
    const leaving = new AbortController();
    const headers = { ...admin, accept: 'text/event-stream' };
    await fetch(url, { headers, signal: leaving.signal });
    for (let opened = 1; opened < 100; opened += 1) await openStream(url);
    const further = async (): Promise<number> => (await openStream(url)).response.status;
    expect(await further()).toBe(405);
    leaving.abort();
    await expect.poll(further).toBe(200);
  });
});
