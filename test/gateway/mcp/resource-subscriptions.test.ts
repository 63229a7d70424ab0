import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createMcpHandler, Server, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import type { McpHttpHandler } from '@modelcontextprotocol/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { SendOutbound } from '../../../src/core/outbound.ts';
import { listen, testApp } from '../../_support/build-app.ts';
import { outboundBody } from '../../_support/outbound-body.ts';

const adminKey = 'sk-tw-admin-admin-admin';
const admin = { authorization: `Bearer ${adminKey}` };
const connection = { id: 'notes', type: 'mcp', url: 'http://notes.test/mcp' };
const [one, two] = ['toolwharf://notes/notes://1', 'toolwharf://notes/notes://2'];

interface Peer {
  bus: McpHttpHandler['bus'];
  /** What it was asked to tell of, request by request. */
  wanted: (string[] | undefined)[];
  /** Streams on which it tells of resources. */
  telling: () => number;
  /** Ends all streams. */
  restart: () => void;
  send: SendOutbound;
}

/** An MCP server with resources that change, behind the door out. */
function changingPeer(): Peer {
  const create = (): McpHttpHandler =>
    createMcpHandler(() => {
      const server = new Server({ name: 'notes', version: '1' }, { capabilities: { tools: {}, resources: { subscribe: true } } });
      server.setRequestHandler('tools/list', () => ({ tools: [] }));
      server.setRequestHandler('resources/list', () => ({ resources: [] }));
      return server;
    });
  let handler = create();
  const peer: Peer = {
    bus: { publish: (event) => handler.bus.publish(event), subscribe: (listener) => handler.bus.subscribe(listener) },
    wanted: [],
    telling: () => (handler.bus as unknown as { listenerCount: number }).listenerCount,
    restart() {
      void handler.close();
      handler = create();
    },
    async send({ method, url, headers = {}, body, signal }) {
      const text = body === undefined ? undefined : String(body);
      const message = JSON.parse(text ?? '{}') as { method?: string; params?: { notifications?: { resourceSubscriptions?: string[] } } };
      if (message.method === 'subscriptions/listen') peer.wanted.push(message.params?.notifications?.resourceSubscriptions);
      const answer = await handler.fetch(new Request(url, { method, headers, signal, ...(text !== undefined && { body: text }) }));
      return {
        status: answer.status,
        headers: Object.fromEntries(answer.headers),
        body: outboundBody(answer.body ?? (async function* () {})()),
      };
    },
  };
  return peer;
}

interface Door {
  url: string;
  peer: Peer;
  change: (method: 'POST' | 'PATCH' | 'DELETE', path: string, payload?: object) => Promise<{ id: string; key: string }>;
  /** Has the server say that a resource has changed. */
  update: (uri: string) => void;
}

async function door(): Promise<Door> {
  const peer = changingPeer();
  const app = await testApp({ TOOLWHARF_DEMO: 'false', TOOLWHARF_ADMIN_KEY: adminKey }, { send: peer.send });
  onTestFinished(() => app.close());
  const url = `${await listen(app)}/mcp`;
  const change: Door['change'] = async (method, path, payload) => {
    const answer = await app.server.inject({ method, url: path, headers: admin, ...(payload && { payload }) });
    expect(answer.statusCode).toBeLessThan(300);
    return answer.body === '' ? { id: '', key: '' } : answer.json();
  };
  await change('POST', '/api/tool-servers', connection);
  return { url, peer, change, update: (uri) => peer.bus.publish({ kind: 'resource_updated', uri }) };
}

interface Subscriber {
  client: Client;
  /** The resources that it was told of, in order. */
  told: string[];
  subscribe: (uri: string) => Promise<void>;
  unsubscribe: (uri: string) => Promise<void>;
}

const refused = /not honored|not found|There is no resource|100 subscriptions/;

const eras = ['legacy', 'auto'] as const;

/** A client of the official SDK. `legacy`: of the versions of 2025, with a session; `auto`: of 2026. */
async function subscriber(url: string, era: (typeof eras)[number], key = adminKey): Promise<Subscriber> {
  const told: string[] = [];
  const client = new Client({ name: 'tester', version: '1' }, { versionNegotiation: { mode: era }, capabilities: { elicitation: {} } });
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => void told.push(params.uri));
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  onTestFinished(() => client.close());
  const streams = new Map<string, { close: () => Promise<void> }>();
  return {
    client,
    told,
    async subscribe(uri) {
      if (era === 'legacy') return void (await client.subscribeResource({ uri }));
      const stream = await client.listen({ resourceSubscriptions: [uri] });
      if (!(stream.honoredFilter.resourceSubscriptions ?? []).includes(uri)) throw new Error('not honored');
      streams.set(uri, stream);
    },
    async unsubscribe(uri) {
      if (era === 'legacy') await client.unsubscribeResource({ uri });
      else await streams.get(uri)?.close();
    },
  };
}

describe.each(eras)('subscriptions to resources on /mcp, of a client of %s', (era) => {
  it('are announced, and told to exactly those who have them', async () => {
    const { url, peer, update } = await door();
    const [ada, bob] = [await subscriber(url, era), await subscriber(url, era)];
    expect(ada.client.getServerCapabilities()?.resources?.subscribe).toBe(true);
    await ada.subscribe(one);
    await bob.subscribe(two);
    update('notes://1');
    await expect.poll(() => ada.told).toEqual([one]);
    update('notes://2');
    await expect.poll(() => bob.told).toEqual([two]);
    expect(ada.told).toEqual([one]);
    expect(peer.telling()).toBe(1);
  });

  it('are one at the server for all clients, and none when the last has left', async () => {
    const { url, peer, update } = await door();
    const [ada, bob] = [await subscriber(url, era), await subscriber(url, 'auto')];
    await ada.subscribe(one);
    await bob.subscribe(one);
    expect(peer.wanted).toEqual([['notes://1']]);
    await ada.unsubscribe(one);
    update('notes://1');
    await expect.poll(() => bob.told).toEqual([one]);
    expect(ada.told).toEqual([]);
    await bob.unsubscribe(one);
    await expect.poll(() => peer.telling()).toBe(0);
  });

  it('are refused for what the key may not read', async () => {
    const { url, change } = await door();
    await change('PATCH', '/api/tool-servers/notes', { config: { function_name_filter_list: '!notes://1' } });
    const { key } = await change('POST', '/api/keys', { name: 'ada', role: 'user', tools: [] });
    const blocked = await subscriber(url, era);
    await expect(blocked.subscribe(one)).rejects.toThrow(refused);
    await blocked.subscribe(two);
    const stranger = await subscriber(url, era, key);
    await expect(stranger.subscribe(two)).rejects.toThrow(refused);
    await expect(blocked.subscribe('toolwharf://none/notes://2')).rejects.toThrow(refused);
  });

  it('end when the key gets other tools, and when the server is deleted', async () => {
    const { url, peer, change } = await door();
    const { id, key } = await change('POST', '/api/keys', { name: 'ada', role: 'user' });
    const ada = await subscriber(url, era, key);
    await ada.subscribe(one);
    expect(peer.telling()).toBe(1);
    await change('PATCH', `/api/keys/${id}`, { tools: [] });
    await expect.poll(() => peer.telling()).toBe(0);
    const admins = await subscriber(url, era);
    await admins.subscribe(one);
    expect(peer.telling()).toBe(1);
    await change('DELETE', '/api/tool-servers/notes');
    await admins.client.listTools();
    await expect.poll(() => peer.telling()).toBe(0);
    await expect(admins.subscribe(two)).rejects.toThrow(refused);
  });

  it('end with the key', async () => {
    const { url, peer, change } = await door();
    const { id, key } = await change('POST', '/api/keys', { name: 'ada', role: 'user' });
    await (await subscriber(url, era, key)).subscribe(one);
    expect(peer.telling()).toBe(1);
    await change('DELETE', `/api/keys/${id}`);
    await expect.poll(() => peer.telling()).toBe(0);
  });

  it('continue after the server has ended them, and are told once: what was missed is not known', async () => {
    const { url, peer, update } = await door();
    const ada = await subscriber(url, era);
    await ada.subscribe(one);
    peer.restart();
    await expect.poll(() => ada.told).toEqual([one]);
    update('notes://1');
    await expect.poll(() => ada.told).toEqual([one, one]);
  });

  it('are at most a hundred of a caller', async () => {
    const { url } = await door();
    const ada = await subscriber(url, 'legacy');
    for (let index = 0; index < 100; index += 1) await ada.subscribe(`toolwharf://notes/notes://${index}`);
    const further = await subscriber(url, era);
    await expect(further.subscribe('toolwharf://notes/notes://100')).rejects.toThrow(refused);
    await ada.unsubscribe(one);
    await further.subscribe('toolwharf://notes/notes://100');
  });
});

/** The same for the versions of 2025: requests subscribe, and a stream beside them tells. */
function olderPeer(): { subscribed: Set<string>; update: (uri: string) => Promise<void>; send: SendOutbound } {
  const subscribed = new Set<string>();
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const servers = new Set<Server>();
  return {
    subscribed,
    async update(uri) {
      for (const server of servers) await server.sendResourceUpdated({ uri });
    },
    async send({ method, url, headers = {}, body, signal }) {
      const request = new Request(url, { method, headers, signal, ...(body !== undefined && { body: String(body) }) });
      let transport = sessions.get(request.headers.get('mcp-session-id') ?? '');
      if (transport === undefined) {
        const created = new WebStandardStreamableHTTPServerTransport({
          sessionIdGenerator: () => crypto.randomUUID(),
          onsessioninitialized: (id) => void sessions.set(id, created),
        });
        const server = new Server({ name: 'notes', version: '1' }, { capabilities: { tools: {}, resources: { subscribe: true } } });
        server.setRequestHandler('tools/list', () => ({ tools: [] }));
        server.setRequestHandler('resources/subscribe', ({ params }) => {
          subscribed.add(params.uri);
          return {};
        });
        server.setRequestHandler('resources/unsubscribe', ({ params }) => {
          subscribed.delete(params.uri);
          return {};
        });
        await server.connect(created);
        servers.add(server);
        transport = created;
      }
      const answer = await transport.handleRequest(request);
      return {
        status: answer.status,
        headers: Object.fromEntries(answer.headers),
        body: outboundBody(answer.body ?? (async function* () {})()),
      };
    },
  };
}

describe('subscriptions to resources on /mcp', () => {
  it('reach servers of 2025, whose word of a part of a resource counts for all of it', async () => {
    const peer = olderPeer();
    const app = await testApp({ TOOLWHARF_DEMO: 'false', TOOLWHARF_ADMIN_KEY: adminKey }, { send: peer.send });
    onTestFinished(() => app.close());
    const url = `${await listen(app)}/mcp`;
    await app.server.inject({ method: 'POST', url: '/api/tool-servers', headers: admin, payload: connection });
    const ada = await subscriber(url, 'legacy');
    await ada.subscribe(one);
    await ada.subscribe(two);
    expect([...peer.subscribed]).toEqual(['notes://1', 'notes://2']);
    await peer.update('notes://2/first');
    await expect.poll(() => ada.told).toEqual([two]);
    await ada.unsubscribe(one);
    await expect.poll(() => [...peer.subscribed]).toEqual(['notes://2']);
    await ada.client.close();
  });

  it('end with the session', async () => {
    const { url, peer } = await door();
    const ada = await subscriber(url, 'legacy');
    await ada.subscribe(one);
    expect(peer.telling()).toBe(1);
    await (ada.client.transport as StreamableHTTPClientTransport).terminateSession();
    await expect.poll(() => peer.telling()).toBe(0);
  });

  it('are not offered to clients of 2025 without a session, which could not be told apart', async () => {
    const { url } = await door();
    const client = new Client({ name: 'tester', version: '1' }, { versionNegotiation: { mode: 'legacy' } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: admin } }));
    onTestFinished(() => client.close());
    expect(client.getServerCapabilities()?.resources).toEqual({ listChanged: true });
  });
});
