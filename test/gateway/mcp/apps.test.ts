import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ToolServerRecord } from '../../../src/core/stores/registry.ts';
import { parseToolServerConnection } from '../../../src/storage/tool-server-connection.ts';
import { listen } from '../../_support/build-app.ts';
import { outboundBody } from '../../_support/outbound-body.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { toolOf } from '../../tools/mcp/scripted-peer.ts';
import { gatewayOf } from '../gateway.ts';
import type { Gateway } from '../gateway.ts';

const view = 'ui://weather/view.html';
const appType = 'text/html;profile=mcp-app';
const csp = { connectDomains: ['https://tiles.example'] };
const adminKey = 'sk-tw-admin-admin-admin';

const tools = [
  toolOf('show', { _meta: { ui: { resourceUri: view }, 'example/tint': 'blue', 'io.modelcontextprotocol/related-task': { taskId: '1' } } }),
  toolOf('refresh', { _meta: { ui: { resourceUri: view, visibility: ['app'] } } }),
  toolOf('older', { _meta: { 'ui/resourceUri': view } }),
];

interface Apps extends Gateway {
  /** The client capabilities that servers have seen. */
  declared: unknown[];
  /** What was read, as `<host> <URI>`. */
  read: string[];
  client: (key?: string) => Promise<Client>;
}

/** The gateway before servers with interfaces, one for each host. */
async function appGateway(
  servers: ToolServerRecord[] = [server('weather')],
  turns: Parameters<typeof gatewayOf>[0]['turns'] = [],
): Promise<Apps> {
  const declared: unknown[] = [];
  const read: string[] = [];
  const handlerOf = (host: string) =>
    createMcpHandler(() => {
      const peer = new Server({ name: 'peer', version: '1' }, { capabilities: { tools: {}, resources: {} } });
      peer.setRequestHandler('tools/list', () => {
        declared.push(peer.getClientCapabilities());
        return { tools };
      });
      peer.setRequestHandler('tools/call', ({ params }) => ({
        content: [
          { type: 'text', text: `${params.name} of ${host}` },
          { type: 'resource', resource: { uri: 'ui://made/1', mimeType: appType, text: '<p>', _meta: { 'example/frame': 2 } } },
        ],
        _meta: { widget: { points: [1, null] }, 'io.modelcontextprotocol/related-task': { taskId: '1' } },
      }));
      peer.setRequestHandler('resources/list', () => ({
        resources: [
          { uri: view, name: 'view', mimeType: appType, _meta: { ui: { csp } } },
          { uri: 'notes://1', name: 'note', _meta: { 'example/pinned': true } },
        ],
      }));
      peer.setRequestHandler('resources/read', ({ params: { uri } }) => {
        read.push(`${host} ${uri}`);
        return { contents: [{ uri, mimeType: appType, text: `<title>${host}`, _meta: { ui: { csp } } }] };
      });
      return peer;
    });
  const handlers = new Map<string, ReturnType<typeof handlerOf>>();
  const gateway = await gatewayOf({
    servers,
    turns,
    environment: { TOOLWHARF_DEMO: 'false', TOOLWHARF_ADMIN_KEY: adminKey },
    async send({ method, url, headers = {}, body, signal }) {
      const { hostname } = new URL(url);
      const handler = handlers.get(hostname) ?? handlerOf(hostname);
      handlers.set(hostname, handler);
      const answer = await handler.fetch(new Request(url, { method, headers, signal, ...(body !== undefined && { body: String(body) }) }));
      const none = async function* (): AsyncGenerator<Uint8Array> {};
      return { status: answer.status, headers: Object.fromEntries(answer.headers), body: outboundBody(answer.body ?? none()) };
    },
  });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const url = new URL(`${await listen(gateway.app)}/mcp`);
  return {
    ...gateway,
    declared,
    read,
    async client(key = adminKey) {
      const client = new Client({ name: 'host', version: '1' });
      await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization: `Bearer ${key}` } } }));
      onTestFinished(() => client.close());
      return client;
    },
  };
}

function server(id: string, config: object = {}): ToolServerRecord {
  return parseToolServerConnection({ id, type: 'mcp', url: `http://${id}.test/mcp`, config }, 'file');
}

async function metaOf(client: Client): Promise<Record<string, Record<string, unknown>>> {
  const { tools: listed } = await client.listTools();
  return Object.fromEntries(listed.map(({ name, _meta: { 'toolwharf/gateways': _chain, ...meta } = {} }) => [name, meta]));
}

describe('an MCP App through the gateway', () => {
  it('keeps the metadata of its tools, and its interface can be read by the URI in them', async () => {
    const { client: connect, declared, read } = await appGateway();
    const client = await connect();
    expect(await metaOf(client)).toEqual({
      show: { ui: { resourceUri: view }, 'example/tint': 'blue' },
      refresh: { ui: { resourceUri: view, visibility: ['app'] } },
      older: { 'ui/resourceUri': view },
    });
    expect(declared[0]).toMatchObject({ extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [appType] } } });
    const contents = [{ uri: view, mimeType: appType, text: '<title>weather.test', _meta: { ui: { csp } } }];
    expect((await client.readResource({ uri: view })).contents).toEqual(contents);
    expect(read).toEqual([`weather.test ${view}`]);
    const { resources } = await client.listResources();
    expect(resources).toMatchObject([
      { uri: view, mimeType: appType, _meta: { ui: { csp } } },
      { uri: 'toolwharf://weather/notes://1', _meta: { 'example/pinned': true } },
    ]);
    await expect(client.readResource({ uri: 'ui://weather/other.html' })).rejects.toThrow('Resource not found');
  });

  it('gets the whole result of a tool, and can call a tool for apps only', async () => {
    const { client: connect } = await appGateway();
    const client = await connect();
    expect(await client.callTool({ name: 'refresh', arguments: {} })).toEqual({
      content: [
        { type: 'text', text: 'refresh of weather.test' },
        { type: 'resource', resource: { uri: 'ui://made/1', mimeType: appType, text: '<p>', _meta: { 'example/frame': 2 } } },
      ],
      _meta: { widget: { points: [1, null] } },
    });
  });

  it('does not offer tools for apps only to the model, nor show it any metadata', async () => {
    const { model, app } = await appGateway(undefined, [calls(['show', {}]), says('Sunny.')]);
    const headers = { authorization: `Bearer ${adminKey}` };
    const payload = { model: 'model', messages: [{ role: 'user', content: 'Weather?' }] };
    await app.server.inject({ method: 'POST', url: '/v1/chat/completions', headers, payload });
    const [first, second] = model.requests;
    expect(first?.tools?.map(({ name }) => name).toSorted()).toEqual(['older', 'show']);
    expect(JSON.stringify(second)).toContain('show of weather.test');
    expect(JSON.stringify(second)).not.toContain('points');
    const named = await app.server.inject({
      method: 'POST',
      url: '/v1/chat/completions',
      headers,
      payload: { ...payload, tool_ids: ['server:weather/refresh'] },
    });
    expect([named.statusCode, named.json().error.code]).toEqual([400, 'unknown_tool_id']);
    const described = await app.server.inject({ url: '/api/tools/openapi.json', headers });
    expect(Object.keys(described.json().paths)).not.toContain('/api/tools/refresh/call');
  });

  it('keeps interfaces apart if two servers give them the same URI', async () => {
    const { client: connect, read } = await appGateway([server('home'), server('office')]);
    const client = await connect();
    const meta = await metaOf(client);
    const uris = ['show', 'office_show'].map((name) => String((meta[name]?.['ui'] as { resourceUri?: string } | undefined)?.resourceUri));
    expect(uris).toEqual(['ui://toolwharf/home/weather/view.html', 'ui://toolwharf/office/weather/view.html']);
    for (const uri of uris) expect((await client.readResource({ uri })).contents).toMatchObject([{ uri }]);
    expect(read).toEqual([`home.test ${view}`, `office.test ${view}`]);
    await expect(client.readResource({ uri: view })).rejects.toThrow('Resource not found');
  });

  it('is available if the key and the filter allow its tool, unless its URI is blocked', async () => {
    const allowed = await appGateway([server('weather', { function_name_filter_list: ['show'] })]);
    const { key } = (
      await allowed.app.server.inject({
        method: 'POST',
        url: '/api/keys',
        headers: { authorization: `Bearer ${adminKey}` },
        payload: { name: 'ada', role: 'user', tools: ['server:weather/show'] },
      })
    ).json<{ key: string }>();
    const client = await allowed.client(key);
    expect(Object.keys(await metaOf(client))).toEqual(['show']);
    expect((await client.readResource({ uri: view })).contents).toHaveLength(1);

    const blocking = await appGateway([server('weather', { function_name_filter_list: ['!ui://WEATHER/view.html'] })]);
    await expect((await blocking.client()).readResource({ uri: view })).rejects.toThrow('Resource not found');
    const without = await appGateway([server('weather', { function_name_filter_list: ['!show', '!refresh', '!older'] })]);
    await expect((await without.client()).readResource({ uri: view })).rejects.toThrow('Resource not found');
    expect([...blocking.read, ...without.read]).toEqual([]);
  });
});
