import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { acceptedContent, inputRequired } from '@modelcontextprotocol/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLayeredRegistry } from '../../../src/storage/layered-registry.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { parseToolServerConnections } from '../../../src/storage/tool-server-connection.ts';
import { backendOf, listen, testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import type { FakeBrowser } from '../../_support/fake-browser.ts';
import { calls, says, ScriptedModel } from '../../_support/scripted-model.ts';
import { httpPeer, toolOf } from '../../tools/mcp/scripted-peer.ts';
import type { HttpPeer } from '../../tools/mcp/scripted-peer.ts';

const connection = { id: 'peer', type: 'mcp', url: 'http://peer.test/mcp', auth_type: 'bearer', key: 'top-secret-key' };

async function gateway(peer: HttpPeer): Promise<TestApp> {
  const app = await testApp({ TOOLWHARF_DEMO: 'false' }, { send: peer.send });
  onTestFinished(() => app.close());
  return app;
}

interface Answer {
  status: number;
  body: { error?: { code: string; message: string; param: string }; report?: Report } & Report & Record<string, unknown>;
}

interface Report {
  ok: boolean;
  functions: { name: string; operation: string }[];
  held?: { name: string; fingerprint: string; changed: string[] }[];
}

async function call(app: TestApp, method: 'GET' | 'POST' | 'PUT', url: string, payload?: object): Promise<Answer> {
  const answer = await app.server.inject({ method, url, ...(payload && { payload }) });
  return { status: answer.statusCode, body: answer.json() };
}

describe('an MCP server among the tool servers', () => {
  it('is registered like any other, reported, and its tools are invoked with the checks of a chat [S3-19]', async () => {
    const parameters = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] };
    const peer = httpPeer([toolOf('weather', { inputSchema: parameters })]);
    const app = await gateway(peer);
    const { status, body } = await call(app, 'POST', '/api/tool-servers', connection);
    expect(status).toBe(201);
    expect(body).toMatchObject({ id: 'peer', type: 'mcp', has_key: true, report: { ok: true } });
    expect(body.report?.functions).toMatchObject([{ name: 'weather', operation: 'tools/call weather' }]);
    expect(JSON.stringify(body)).not.toContain('top-secret');
    const listed = await call(app, 'GET', '/api/tools');
    expect(listed.body['data']).toMatchObject([{ id: 'peer/weather', kind: 'mcp', server: 'peer' }]);

    const url = '/api/tools/server:mcp:peer/weather/invoke';
    expect((await call(app, 'POST', url, { arguments: { city: 'Osaka' } })).body).toMatchObject({ result: 'weather done' });
    expect((await call(app, 'POST', url, { arguments: {} })).body.error).toMatchObject({ code: 'args_invalid' });
    expect(peer.calls).toEqual(['weather']);
  });

  it('gives MCP clients of the gateway what it gave the gateway, in the same order and form', async () => {
    const content = [
      { type: 'text' as const, text: 'Two files:' },
      { type: 'image' as const, data: 'AAAA', mimeType: 'image/png' },
      { type: 'resource' as const, resource: { uri: 'notes://1', mimeType: 'text/markdown', text: '# Title' } },
      { type: 'resource' as const, resource: { uri: 'notes://2', mimeType: 'application/zip', blob: 'BBBB' } },
      { type: 'text' as const, text: 'For people.', annotations: { audience: ['user' as const], priority: 1 } },
      { type: 'image' as const, data: 'CCCC', mimeType: 'image/png', annotations: { priority: 0.5 } },
      { type: 'resource_link' as const, uri: 'notes://3', name: 'third', title: 'Third', mimeType: 'text/plain', size: 3 },
      { type: 'text' as const, text: 'That is all.' },
    ];
    const app = await gateway(httpPeer([toolOf('fetch', { annotations: { readOnlyHint: true } })], () => ({ content })));
    await call(app, 'POST', '/api/tool-servers', connection);
    const client = new Client({ name: 'tester', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${await listen(app)}/mcp`)));
    onTestFinished(() => client.close());
    expect(await client.callTool({ name: 'fetch', arguments: {} })).toEqual({ content });
    expect((await client.listTools()).tools[0]?.annotations).toMatchObject({ readOnlyHint: true });
  });

  it('lists its title, hints and result schema to MCP clients, which accept its results', async () => {
    const outputSchema = { type: 'object' as const, properties: { n: { type: 'number' } }, required: ['n'] };
    const annotations = { title: 'Shown', destructiveHint: false, openWorldHint: false };
    const inputSchema = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' as const, properties: {} };
    const tools = [toolOf('count', { title: 'Count', annotations, inputSchema, outputSchema }), toolOf('fail', { outputSchema })];
    const app = await gateway(
      httpPeer(tools, (name) => ({ content: [{ type: 'text', text: 'one' }], ...(name === 'count' && { structuredContent: { n: 1 } }) })),
    );
    await call(app, 'POST', '/api/tool-servers', connection);
    const client = new Client({ name: 'tester', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${await listen(app)}/mcp`)));
    onTestFinished(() => client.close());
    expect((await client.listTools()).tools[0]).toMatchObject({ name: 'count', title: 'Count', annotations, inputSchema, outputSchema });
    expect(await client.callTool({ name: 'count', arguments: {} })).toMatchObject({ structuredContent: { n: 1 } });
    expect(await client.callTool({ name: 'fail', arguments: {} })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^\[The call has run\. .*no structured result/) }, { text: 'one' }],
    });
  });

  it.each([
    ['legacy', {}],
    ['modern', { versionNegotiation: { mode: 'auto' as const } }],
  ])('logs to MCP clients, which may want warnings only, and to the run: %s era', async (_era, options) => {
    const peer = httpPeer([toolOf('work')], async (_name, _args, { mcpReq }) => {
      await mcpReq.log('info', 'begun', 'engine');
      await mcpReq.log('debug', 'for its developers');
      await mcpReq.log('warning', { full: connection.key });
      return { content: [] };
    });
    const model = new ScriptedModel([...calls(['work', {}])], [...says('Done.')]);
    const app = await testApp({ TOOLWHARF_DEMO: 'false' }, { send: peer.send, backends: [backendOf(model)] });
    onTestFinished(() => app.close());
    await call(app, 'POST', '/api/tool-servers', connection);
    const client = new Client({ name: 'tester', version: '1' }, options);
    await client.connect(new StreamableHTTPClientTransport(new URL(`${await listen(app)}/mcp`)));
    onTestFinished(() => client.close());
    const heard: unknown[] = [];
    client.setNotificationHandler('notifications/message', ({ params: { level, logger, data } }) => void heard.push([level, logger, data]));
    const callWith = (level: 'info' | 'warning'): Promise<unknown> => {
      const meta = _era === 'modern' && { _meta: { 'io.modelcontextprotocol/logLevel': level } };
      return client.callTool({ name: 'work', arguments: {}, ...meta }, { onprogress: () => undefined });
    };
    await callWith('info');
    const warning = ['warning', 'work', '{"full":"[secret]"}'];
    expect(heard).toEqual([['info', 'engine', 'begun'], warning]);
    if (_era === 'legacy') await client.setLoggingLevel('warning');
    await callWith('warning');
    expect(heard.slice(2)).toEqual([warning]);

    const chat = { model: 'model', messages: [{ role: 'user', content: 'Work.' }] };
    const answer = await app.server.inject({ method: 'POST', url: '/v1/chat/completions', payload: chat });
    const { body } = await call(app, 'GET', `/api/runs/${String(answer.headers['x-toolwharf-run-id'])}`);
    const events = body['events'] as { type: string; data: object }[];
    expect(events.flatMap(({ type, data }) => (type === 'tool.progress' ? [data] : []))).toMatchObject([
      { status: 'begun', level: 'info', logger: 'engine' },
      { status: '{"full":"[secret]"}', level: 'warning' },
    ]);
  });

  it.each([undefined, '2026-07-28', '2025-06-18'])(
    'is spoken to in the version of the protocol that its connection names: %s',
    async (version) => {
      const peer = httpPeer([toolOf('weather')]);
      const app = await gateway(peer);
      const { body } = await call(app, 'POST', '/api/tool-servers', { ...connection, ...(version && { protocol_version: version }) });
      expect(body.report).toMatchObject({ ok: true, version: `MCP ${version ?? '2026-07-28'}` });
      expect(body['protocol_version']).toBe(version);
      expect((await call(app, 'POST', '/api/tools/peer/weather/invoke', { arguments: {} })).body).toMatchObject({ result: 'weather done' });
    },
  );

  it('answers in a chat, where its result is a source [S3-19]', async () => {
    const { send } = httpPeer([toolOf('weather')]);
    const model = new ScriptedModel([...calls(['weather', {}])], [...says('Sunny.')]);
    const app = await testApp({ TOOLWHARF_DEMO: 'false' }, { send, backends: [backendOf(model)] });
    onTestFinished(() => app.close());
    await call(app, 'POST', '/api/tool-servers', connection);
    const chat = { model: 'model', messages: [{ role: 'user', content: 'How is the weather?' }] };
    expect((await call(app, 'POST', '/v1/chat/completions', chat)).body).toMatchObject({
      choices: [{ message: { content: 'Sunny.' } }],
      sources: [{ source: { name: 'TOOL:peer/weather' }, document: ['weather done'] }],
    });
    expect(model.requests[0]?.tools).toMatchObject([{ name: 'weather', description: 'Does weather' }]);
  });

  it('whose definition has changed waits for an administrator to agree', async () => {
    const tools = [toolOf('echo')];
    const app = await gateway(httpPeer(tools));
    await call(app, 'POST', '/api/tool-servers', connection);
    tools[0] = toolOf('echo', { description: 'Something else' });
    const report = await call(app, 'POST', '/api/tool-servers/peer/refresh');
    expect(report.body).toMatchObject({ ok: true, functions: [], held: [{ name: 'echo', changed: ['description'] }] });
    const invoked = await call(app, 'POST', '/api/tools/peer/echo/invoke', { arguments: {} });
    expect(invoked.body.error).toMatchObject({ code: 'definition_changed' });

    const accept = (functions: unknown): Promise<Answer> => call(app, 'POST', '/api/tool-servers/peer/accept', { functions });
    expect(await accept(undefined)).toMatchObject({ status: 400 });
    expect(await accept({ echo: 'not the fingerprint' })).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
    const accepted = await accept({ echo: report.body.held?.[0]?.fingerprint });
    expect(accepted).toMatchObject({ status: 200, body: { functions: [{ name: 'echo' }] } });
    expect((await call(app, 'POST', '/api/tools/peer/echo/invoke', { arguments: {} })).body).toMatchObject({ result: 'echo done' });
  });
});

describe('a call that asks the user', () => {
  const requestedSchema = { type: 'object' as const, properties: { city: { type: 'string' as const } }, required: ['city'] };

  async function deskWith(needsApproval: boolean): Promise<{ browser: FakeBrowser; model: ScriptedModel; peer: HttpPeer }> {
    const peer = httpPeer([toolOf('weather')], (_name, _args, { mcpReq }) => {
      const given = acceptedContent(mcpReq.inputResponses, 'place');
      if (given !== undefined) return { content: [{ type: 'text', text: `Sunny in ${String(given['city'])}` }] };
      return inputRequired({ inputRequests: { place: inputRequired.elicit({ message: 'Which city?', requestedSchema }) } });
    });
    const model = new ScriptedModel([...calls(['weather', {}])], [...says('There it is.')]);
    const app = await testApp({ TOOLWHARF_DEMO: 'false' }, { send: peer.send, backends: [backendOf(model)] });
    onTestFinished(() => app.close());
    await call(app, 'POST', '/api/tool-servers', { ...connection, config: { needs_approval: needsApproval } });
    const browser = await connectFakeBrowser({ url: await listen(app) });
    onTestFinished(() => browser.terminate());
    browser.send({ type: 'message', data: { content: 'How is the weather?', model: 'model' } });
    return { browser, model, peer };
  }

  it('reaches the page of this chat, and goes on with what it gives', async () => {
    const { browser, model } = await deskWith(false);
    const asked = await browser.next('input');
    expect(asked.data).toMatchObject({ title: 'The tool server "peer" asks', message: 'Which city?', schema: requestedSchema });
    browser.send({ type: 'input:result', data: { id: asked.data['id'] ?? null, value: { city: 'Osaka' } } });
    await browser.next('assistant_end');
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'Sunny in Osaka' });
  });

  it('is approved before it is made, like any other', async () => {
    const { browser, peer } = await deskWith(true);
    const asked = await browser.next('confirmation');
    expect(asked.data).toMatchObject({ tool: 'weather' });
    browser.send({ type: 'confirmation:result', data: { id: asked.data['id'] ?? null, decision: 'reject' } });
    await browser.next('assistant_end');
    expect(peer.calls).toEqual([]);
  });
});

describe('a process', () => {
  const started = { id: 'evil', type: 'mcp', command: 'touch', args: ['/tmp/never'] };

  it.each([
    ['created', 'POST', '/api/tool-servers', started],
    ['created with an address beside it', 'POST', '/api/tool-servers', { ...started, url: 'http://peer.test' }],
    ['tried', 'POST', '/api/tool-servers/verify', started],
    ['replaced', 'PUT', '/api/tool-servers', [started]],
    ['sent by a frontend', 'POST', '/api/v1/configs/tool_servers', { TOOL_SERVER_CONNECTIONS: [started] }],
    ['tried by a frontend', 'POST', '/api/v1/configs/tool_servers/verify', started],
  ] as const)('is never started for a server that is %s, not even by an administrator', async (_name, method, url, payload) => {
    const app = await gateway(httpPeer([]));
    const { status, body } = await call(app, method, url, payload);
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ param: expect.stringMatching(/command$/), message: expect.stringContaining('toolwharf.yaml') });
  });

  it('is never started by a word of the record that a request brings along', async () => {
    const peer = httpPeer([toolOf('echo')]);
    const app = await gateway(peer);
    const { body } = await call(app, 'POST', '/api/tool-servers', { ...connection, process: { command: 'touch', args: [], env: {} } });
    expect(body).toMatchObject({ url: connection.url, report: { ok: true } });
    expect(body).not.toHaveProperty('process');
    expect(peer.requests.length).toBeGreaterThan(0);
  });

  it('is started by the file alone, and its environment is shown to nobody', async () => {
    const entries = [{ ...started, env: { TOKEN: 'top-secret' }, config: { enable: false } }];
    expect(() => parseToolServerConnections(entries, 'environment')).toThrow('toolwharf.yaml');
    expect(() => parseToolServerConnections([{ ...started, id: undefined }], 'file')).toThrow('is required');
    const toolServers = parseToolServerConnections(entries, 'file');
    expect(toolServers[0]?.process).toEqual({ command: 'touch', args: ['/tmp/never'], environment: { TOKEN: 'top-secret' } });
    const registry = createLayeredRegistry({ fixed: toolServers, store: memoryRegistry() });
    const app = await testApp({ TOOLWHARF_DEMO: 'false' }, { registry });
    onTestFinished(() => app.close());
    const { body } = await call(app, 'GET', '/api/tool-servers/evil');
    expect(body).toMatchObject({ id: 'evil', url: 'stdio:touch', origin: 'file' });
    expect(JSON.stringify(body)).not.toContain('top-secret');
    // A frontend saves the whole list as it was shown.
    const shown = await call(app, 'GET', '/api/v1/configs/tool_servers');
    const saved = await call(app, 'POST', '/api/v1/configs/tool_servers', shown.body);
    expect(saved.status).toBe(200);
    expect((await call(app, 'GET', '/api/tool-servers')).body['data']).toMatchObject([{ id: 'evil', origin: 'file' }]);
  });
});
