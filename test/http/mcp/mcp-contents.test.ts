import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseToolServerConnections } from '../../../src/storage/tool-server-connection.ts';
import type { SendOutbound } from '../../../src/core/outbound.ts';
import { listen, testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { directSend } from '../../_support/direct-send.ts';
import { contentsPeers, manyResources } from './contents-peer.ts';
import type { ContentsPeer, ContentsPeers } from './contents-peer.ts';

const adminKey = 'sk-tw-admin-admin-admin';

interface Door {
  peers: ContentsPeers;
  /** A client with a key that may use these tools; all by default. */
  connect: (key?: { tools?: string[]; limits?: object }) => Promise<Client>;
  /** Stores the credential of the client's key for a server. */
  connectTo: (client: Client, server: string, secret: string) => Promise<void>;
}

async function doorTo(servers: Record<string, ContentsPeer>, connections: Record<string, object> = {}): Promise<Door> {
  const peers = contentsPeers(Object.fromEntries(Object.entries(servers).map(([id, peer]) => [`${id}.test`, peer])));
  const toolServers = parseToolServerConnections(
    Object.keys(servers).map((id) => ({ id, type: 'mcp', url: `http://${id}.test/mcp`, ...connections[id] })),
    'file',
  );
  const app = await testApp({ TOOLWHARF_DEMO: 'false', TOOLWHARF_ADMIN_KEY: adminKey }, { send: peers.send, config: { toolServers } });
  onTestFinished(() => app.close());
  const url = new URL(`${await listen(app)}/mcp`);
  const keys = new Map<Client, string>();
  return {
    peers,
    async connectTo(client, server, secret) {
      const headers = { authorization: keys.get(client) ?? '' };
      const answer = await app.server.inject({ method: 'PUT', url: `/api/credentials/${server}`, headers, payload: { key: secret } });
      expect(answer.statusCode).toBe(200);
    },
    async connect(key = {}) {
      const headers = { authorization: `Bearer ${adminKey}` };
      const payload = { name: 'ada', role: 'user', ...key };
      const made = await app.server.inject({ method: 'POST', url: '/api/keys', headers, payload });
      const client = new Client({ name: 'tester', version: '1' });
      const authorization = `Bearer ${made.json<{ key: string }>().key}`;
      await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization } } }));
      onTestFinished(() => client.close());
      keys.set(client, authorization);
      return client;
    },
  };
}

const text = (uri: string): { contents: { uri: string; text: string }[] } => ({ contents: [{ uri, text: `This is ${uri}.` }] });

describe('resources of MCP servers through /mcp', () => {
  it('two servers with the same URIs and names do not clash, and each is asked for its own with its own credential', async () => {
    const peer = (): ContentsPeer => ({ resources: [{ uri: 'notes://1', name: 'First' }], prompts: [{ name: 'ask' }], read: text });
    const auth = (key: string): object => ({ auth_type: 'bearer', key });
    const { peers, connect } = await doorTo({ one: peer(), two: peer() }, { one: auth('key-of-one'), two: auth('key-of-two') });
    const client = await connect();
    expect((await client.listResources()).resources).toEqual([
      { uri: 'toolwharf://one/notes://1', name: 'First' },
      { uri: 'toolwharf://two/notes://1', name: 'First' },
    ]);
    expect((await client.listPrompts()).prompts).toEqual([{ name: 'one/ask' }, { name: 'two/ask' }]);
    peers.requests.length = 0;
    expect((await client.readResource({ uri: 'toolwharf://two/notes://1' })).contents).toEqual([
      { uri: 'toolwharf://two/notes://1', text: 'This is notes://1.' },
    ]);
    expect(peers.asked).toEqual(['two.test resources/read']);
    expect(peers.requests.map(({ headers }) => headers?.['authorization'])).toEqual(['Bearer key-of-two']);
  });

  it('of a server that each person uses with their own key, everybody gets their own', async () => {
    let last = '';
    const read = (uri: string): ReturnType<typeof text> => ({ contents: [{ uri, text: `${last} has sent ${last}.` }] });
    const resources = [{ uri: 'notes://1', name: 'First' }];
    const own = { auth_type: 'bearer', per_user: true };
    const { peers, connect, connectTo } = await doorTo({ one: { resources, read } }, { one: own });
    const [ada, bob, eve] = [await connect(), await connect(), await connect()];
    await connectTo(ada, 'one', 'key-of-ada');
    await connectTo(bob, 'one', 'key-of-bob');
    for (const [client, key] of [
      [ada, 'key-of-ada'],
      [bob, 'key-of-bob'],
      [ada, 'key-of-ada'],
    ] as const) {
      peers.requests.length = 0;
      last = key;
      expect((await client.listResources()).resources).toHaveLength(1);
      const { contents } = await client.readResource({ uri: 'toolwharf://one/notes://1' });
      expect(contents).toMatchObject([{ text: '[secret] has sent [secret].' }]);
      expect(new Set(peers.requests.map(({ headers }) => headers?.['authorization']))).toEqual(new Set([`Bearer ${key}`]));
    }
    peers.requests.length = 0;
    expect((await eve.listResources()).resources).toEqual([]);
    await expect(eve.readResource({ uri: 'toolwharf://one/notes://1' })).rejects.toThrow(/PUT \/api\/credentials\/one/);
    expect(peers.requests).toEqual([]);
  });

  it('what a server was sent does not come back in what it gives', async () => {
    const read = (uri: string): ReturnType<typeof text> => ({ contents: [{ uri, text: 'You sent key-of-one.' }] });
    const { connect } = await doorTo({ one: { resources: [], read } }, { one: { auth_type: 'bearer', key: 'key-of-one' } });
    const { contents } = await (await connect()).readResource({ uri: 'toolwharf://one/notes://1' });
    expect(contents).toMatchObject([{ text: 'You sent [secret].' }]);
  });

  it('a list of ten thousand comes whole, in pages', async () => {
    const { connect } = await doorTo({ many: { resources: manyResources(10_000), perPage: 300 }, few: { resources: manyResources(2) } });
    const { resources } = await (await connect()).listResources();
    expect(new Set(resources.map(({ uri }) => uri)).size).toBe(10_002);
    expect(resources.at(-1)?.uri).toBe('toolwharf://few/files://1');
  });

  it('a page of a server that is larger than one of the gateway is divided', async () => {
    const { connect } = await doorTo({ many: { resources: manyResources(1_200) } });
    const client = await connect();
    const first = await client.listResources({ cursor: undefined });
    expect(first.resources).toHaveLength(1_200);
    await expect(client.listResources({ cursor: 'nowhere' })).rejects.toMatchObject({ code: -32602 });
  });

  it('a list without end ends', async () => {
    const endless: ContentsPeer = { resources: [], perPage: 1 };
    Object.defineProperty(endless, 'resources', { get: () => ({ length: Number.MAX_SAFE_INTEGER, slice: () => [] }) });
    const { connect } = await doorTo({ endless, few: { resources: manyResources(1) } });
    const client = await connect();
    const uris: string[] = [];
    for (let cursor: string | undefined, pages = 0; pages === 0 || cursor !== undefined; pages += 1) {
      expect(pages).toBeLessThan(200);
      const page = await client.request({ method: 'resources/list', params: cursor === undefined ? {} : { cursor } });
      uris.push(...page.resources.map(({ uri }) => uri));
      cursor = page.nextCursor;
    }
    expect(uris).toEqual(['toolwharf://few/files://0']);
  });

  it('a server that is gone costs its own part alone, and reading from it says so', async () => {
    const gone: ContentsPeer = { resources: manyResources(1) };
    const { connect } = await doorTo({ gone, there: { resources: manyResources(1) } });
    const client = await connect();
    expect((await client.listResources()).resources).toHaveLength(2);
    gone.isDown = true;
    expect((await client.listResources()).resources).toMatchObject([{ uri: 'toolwharf://there/files://0' }]);
    await expect(client.readResource({ uri: 'toolwharf://gone/files://0' })).rejects.toMatchObject({
      code: -32603,
      message: expect.stringContaining('The MCP server "gone" cannot be reached'),
    });
  });

  it('a resource that its server does not have is not found, under the URI that was asked for', async () => {
    const { connect } = await doorTo({ one: { resources: manyResources(1) } });
    await expect((await connect()).readResource({ uri: 'toolwharf://one/files://9' })).rejects.toMatchObject({
      message: expect.stringMatching(/not found/i),
      data: { uri: 'toolwharf://one/files://9' },
    });
  });

  it('a resource of megabytes is refused with its reason', async () => {
    const read = (uri: string): ReturnType<typeof text> => ({ contents: [{ uri, text: 'x'.repeat(5_000_000) }] });
    const { connect } = await doorTo({ large: { resources: [], read } });
    await expect((await connect()).readResource({ uri: 'toolwharf://large/files://0' })).rejects.toMatchObject({
      message: expect.stringContaining('more than 4194304 bytes'),
    });
  });

  it('what is malformed, unspeakable or twice there is left out, and affects nothing else', async () => {
    const resources = [
      { uri: 'files://1', name: 'One\u202e\u0007', description: 'x'.repeat(10_000), icons: [{ src: 'http://tracker.test/1.png' }] },
      { uri: 'files://1', name: 'The same' },
      { uri: 'files://\n2', name: 'A line break' },
      { uri: `files://${'x'.repeat(5_000)}`, name: 'Long' },
      { uri: 'files://3' },
      { name: 'No URI' },
      'none',
      null,
    ];
    const prompts = [
      { name: 'ask\u001b[2J' },
      { name: '' },
      { name: 'ask', arguments: [{ name: 'a', description: '\u0007d' }] },
      { name: 'ask' },
      7,
    ];
    const { connect } = await doorTo({ hostile: { resources, prompts } });
    const client = await connect();
    const listed = await client.listResources();
    expect(listed.resources).toEqual([
      { uri: 'toolwharf://hostile/files://1', name: 'One', description: expect.any(String) },
      { uri: 'toolwharf://hostile/files://3', name: '3' },
    ]);
    expect(listed.resources[0]?.description?.length).toBeLessThan(5_000);
    expect((await client.listPrompts()).prompts).toEqual([{ name: 'hostile/ask', arguments: [{ name: 'a', description: 'd' }] }]);
  });

  it('a key has the contents of those servers that it may use as a whole', async () => {
    const peer = (): ContentsPeer => ({ resources: manyResources(1), prompts: [{ name: 'ask' }], read: text });
    const { peers, connect } = await doorTo({ one: peer(), two: peer(), off: peer() }, { off: { config: { enable: false } } });
    const client = await connect({ tools: ['server:mcp:one', 'server:two/weather'] });
    expect((await client.listResources()).resources).toMatchObject([{ uri: 'toolwharf://one/files://0' }]);
    expect((await client.listPrompts()).prompts).toMatchObject([{ name: 'one/ask' }]);
    await expect(client.readResource({ uri: 'toolwharf://two/files://0' })).rejects.toMatchObject({
      message: expect.stringMatching(/not found/i),
    });
    await expect(client.getPrompt({ name: 'two/ask' })).rejects.toMatchObject({ code: -32602 });
    await expect((await connect()).readResource({ uri: 'toolwharf://off/files://0' })).rejects.toThrow(/not found/i);
    expect(peers.asked).toEqual([]);
  });

  it('what is named by megabytes is not found, and not repeated', async () => {
    const { peers, connect } = await doorTo({ one: { resources: manyResources(1), prompts: [{ name: 'ask' }], read: text } });
    const client = await connect();
    const long = 'a'.repeat(200_000);
    const refusals = await Promise.all([
      client.readResource({ uri: `toolwharf://one/${long}` }).catch((error: unknown) => error),
      client.getPrompt({ name: `one/${long}` }).catch((error: unknown) => error),
      client
        .complete({ ref: { type: 'ref/prompt', name: `one/${long}` }, argument: { name: 'a', value: '' } })
        .catch((error: unknown) => error),
    ]);
    for (const refusal of refusals) {
      expect(refusal).toMatchObject({ code: -32602 });
      expect(JSON.stringify(refusal).length + String(refusal).length).toBeLessThan(10_000);
    }
    expect(peers.asked).toEqual([]);
  });

  it('the filter of a server holds for its contents: prompts by name, resources by URI or template', async () => {
    const peer = (): ContentsPeer => ({
      resources: [...manyResources(2), { uri: 'secret://1', name: 'Secret' }],
      resourceTemplates: [
        { uriTemplate: 'files://{number}', name: 'Files' },
        { uriTemplate: 'secret://{number}', name: 'Secrets' },
      ],
      prompts: [{ name: 'ask' }, { name: 'answer' }],
      read: text,
    });
    const filtered = (list: string[]): object => ({ config: { function_name_filter_list: list } });
    const { connect } = await doorTo(
      { only: peer(), but: peer() },
      { only: filtered(['files://{number}', 'ask']), but: filtered(['!secret://{number}', '!answer']) },
    );
    const client = await connect();
    const shown = ['files://0', 'files://1'];
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual([
      ...shown.map((uri) => `toolwharf://only/${uri}`),
      ...shown.map((uri) => `toolwharf://but/${uri}`),
    ]);
    expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(2);
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['only/ask', 'but/ask']);
    for (const id of ['only', 'but']) {
      expect((await client.readResource({ uri: `toolwharf://${id}/files://9` })).contents).toHaveLength(1);
      await expect(client.readResource({ uri: `toolwharf://${id}/secret://9` })).rejects.toThrow(/not found/i);
      await expect(client.getPrompt({ name: `${id}/answer` })).rejects.toMatchObject({ code: -32602 });
    }
  });

  it('reading counts towards the limits of a key, listing does not', async () => {
    const { connect } = await doorTo({ one: { resources: manyResources(1), read: text } });
    const client = await connect({ limits: { requests_per_minute: 1 } });
    await client.listResources();
    await client.readResource({ uri: 'toolwharf://one/files://0' });
    await expect(client.readResource({ uri: 'toolwharf://one/files://0' })).rejects.toThrow(/429|limit/i);
    expect((await client.listPrompts()).prompts).toEqual([]);
  });

  it('a client that leaves ends what it asked for', async () => {
    const begun = Promise.withResolvers<AbortSignal>();
    const read = (_uri: string, signal: AbortSignal): Promise<never> => {
      begun.resolve(signal);
      return new Promise(() => undefined);
    };
    const { connect } = await doorTo({ slow: { resources: [], read } });
    const client = await connect();
    const reading = client.readResource({ uri: 'toolwharf://slow/files://0' }).catch(() => undefined);
    const signal = await begun.promise;
    const ended = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    await client.close();
    await ended;
    await reading;
  });
});

it('gateways that are each other’s servers list everything once, and end', async () => {
  const peers = contentsPeers({ 'notes.test': { resources: manyResources(1), read: text } });
  const send: SendOutbound = (request) => (request.url.includes('notes.test') ? peers.send(request) : directSend(request));
  const gateway = async (): Promise<{ app: TestApp; url: string }> => {
    const app = await testApp({ TOOLWHARF_DEMO: 'false' }, { send });
    onTestFinished(() => app.close());
    return { app, url: `${await listen(app)}/mcp` };
  };
  const register = ({ app }: { app: TestApp }, id: string, url: string): Promise<unknown> =>
    app.server.inject({ method: 'POST', url: '/api/tool-servers', payload: { id, type: 'mcp', url } });
  const [near, far] = [await gateway(), await gateway()];
  await register(far, 'notes', 'http://notes.test/mcp');
  await register(near, 'far', far.url);
  await register(far, 'near', near.url);
  const client = new Client({ name: 'tester', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(near.url)));
  onTestFinished(() => client.close());
  const { resources } = await client.listResources();
  expect(resources.map(({ uri }) => uri)).toEqual(['toolwharf://far/toolwharf://notes/files://0']);
  expect((await client.readResource({ uri: resources[0]?.uri ?? '' })).contents).toMatchObject([
    { uri: 'toolwharf://far/toolwharf://notes/files://0', text: 'This is files://0.' },
  ]);
});
