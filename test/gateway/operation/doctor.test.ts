import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { examineGateway } from '../../../src/app/doctor/examine-gateway.ts';
import type { ExaminedParts } from '../../../src/app/doctor/examine-gateway.ts';
import { readConfig } from '../../../src/app/config/config.ts';
import { testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { functionModule, importNatively, toolsFolder } from '../../_support/tools-folder.ts';
import { toolServerRecord } from '../../storage/records.ts';
import { respond, startUpstream } from '../../_support/upstream-server.ts';
import type { Script, UpstreamServer } from '../../_support/upstream-server.ts';

const adminKey = 'sk-tw-fixed-administrator';

interface Finding {
  about: string;
  level: string;
  message: string;
  cure?: string;
}

async function gateway(environment: NodeJS.ProcessEnv, parts: Parameters<typeof testApp>[1] = {}): Promise<TestApp> {
  const app = await testApp({ TOOLWHARF_ADMIN_KEY: adminKey, OLLAMA_BASE_URLS: ';', ...environment }, parts);
  onTestFinished(() => app.close());
  return app;
}

async function peer(script: Script): Promise<UpstreamServer> {
  const server = await startUpstream(script);
  onTestFinished(() => server.close());
  return server;
}

async function examine(app: TestApp): Promise<{ status: number; raw: string; broken: number; data: Finding[] }> {
  const answer = await app.server.inject({ url: '/api/doctor', headers: { authorization: `Bearer ${adminKey}` } });
  return { status: answer.statusCode, raw: answer.body, ...answer.json<{ broken: number; data: Finding[] }>() };
}

it('names what is broken with its cure, and no secret, even where a peer repeats one', async () => {
  const echo = await peer(({ headers }) => respond(401, { error: { message: `bad key: ${headers['authorization']}` } }));
  const app = await gateway({
    OPENAI_API_BASE_URLS: `${echo.origin}/v1`,
    OPENAI_API_KEYS: 'CANARY-backend-key',
    TOOL_SERVER_CONNECTIONS: JSON.stringify([{ url: echo.origin, auth_type: 'bearer', key: 'CANARY-server-key', info: { id: 'maps' } }]),
  });
  const { status, raw, broken, data } = await examine(app);
  expect(status).toBe(200);
  expect(data.filter(({ level }) => level === 'broken')).toEqual([
    { about: 'Models', level: 'broken', message: expect.stringContaining(echo.origin), cure: expect.stringContaining('check its key') },
    { about: 'Models', level: 'broken', message: 'No model can answer a chat', cure: expect.any(String) },
    { about: 'Tool servers', level: 'broken', message: expect.stringContaining('maps'), cure: expect.stringContaining('`key`') },
  ]);
  expect(broken).toBe(3);
  const carried = echo.requests.map(({ headers }) => headers['authorization']);
  expect(carried).toEqual(expect.arrayContaining(['Bearer CANARY-backend-key', 'Bearer CANARY-server-key']));
  expect(raw).not.toContain('CANARY');
});

it('says what is fine, where the gateway serves, and which variables mean nothing', async () => {
  const app = await gateway(
    { TOOLWHARF_DEMO: 'true' },
    { variables: [{ level: 'warning', text: 'TOOLWHARF_ADMINKEY is not a setting', cure: 'Did you mean TOOLWHARF_ADMIN_KEY?' }] },
  );
  const url = await app.server.listen({ host: '127.0.0.1', port: 0 });
  const { broken, data } = await examine(app);
  expect(broken).toBe(0);
  expect(data).toContainEqual({ about: 'This machine', level: 'ok', message: `Serves at ${url}` });
  expect(data).toContainEqual({ about: 'Access', level: 'ok', message: expect.stringContaining('TOOLWHARF_ADMIN_KEY is set') });
  expect(data).toContainEqual(expect.objectContaining({ about: 'Settings', level: 'warning', cure: expect.any(String) }));
});

it('says which lines a proxy lacks that passes no websockets on, until one arrives', async () => {
  const app = await gateway({ TOOLWHARF_DEMO: 'true' });
  const url = await app.server.listen({ host: '127.0.0.1', port: 0 });
  const finding = expect.objectContaining({
    about: 'This machine',
    level: 'warning',
    cure: expect.stringContaining('proxy_set_header Upgrade'),
  });
  expect((await examine(app)).data).not.toContainEqual(finding);
  // As nginx sends it on without these lines.
  const headers = { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-version': '13', 'x-api-key': adminKey };
  const answer = await fetch(`${url}/ws`, { headers });
  expect(answer.status).toBe(426);
  expect(await answer.text()).toContain('proxy_http_version 1.1');
  expect((await examine(app)).data).toContainEqual(finding);
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, ['toolwharf.v1', `bearer.${adminKey}`]);
  await new Promise((resolve) => socket.addEventListener('message', resolve));
  socket.close();
  expect((await examine(app)).data).not.toContainEqual(finding);
});

it('says that the data folder is gone, which only a start makes anew', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolwharf-doctor-'));
  const app = await gateway({ TOOLWHARF_DEMO: 'true', TOOLWHARF_DATA_DIR: folder });
  expect((await examine(app)).data).toContainEqual({
    about: 'This machine',
    level: 'ok',
    message: `Data folder ${folder} can be written`,
  });
  rmSync(folder, { recursive: true });
  const { broken, data } = await examine(app);
  expect(broken).toBe(1);
  expect(data).toContainEqual({
    about: 'This machine',
    level: 'broken',
    message: expect.stringContaining(`Data folder ${folder} is gone`),
    cure: expect.stringContaining('backup'),
  });
});

it('is for administrators', async () => {
  const app = await gateway({ TOOLWHARF_DEMO: 'true' });
  const headers = { authorization: `Bearer ${adminKey}` };
  const made = await app.server.inject({ method: 'POST', url: '/api/keys', headers, payload: { name: 'ada', role: 'user' } });
  const { key } = made.json<{ key: string }>();
  const asked = await app.server.inject({ url: '/api/doctor', headers: { authorization: `Bearer ${key}` } });
  expect(asked.statusCode).toBe(403);
  expect((await app.server.inject({ url: '/api/doctor' })).statusCode).toBe(401);
});

it('examines once for all who ask meanwhile, and anew afterwards', async () => {
  const backend = await peer(() => respond(200, { object: 'list', data: [{ id: 'm', object: 'model' }] }));
  const app = await gateway({ OPENAI_API_BASE_URLS: `${backend.origin}/v1` });
  const [first, second] = await Promise.all([examine(app), examine(app)]);
  expect(first.raw).toBe(second.raw);
  expect(backend.requests).toHaveLength(1);
  await examine(app);
  expect(backend.requests).toHaveLength(2);
});

it('leaves the store open, and sees what was just stored', async () => {
  const registry = memoryRegistry([]);
  const app = await gateway({ TOOLWHARF_DEMO: 'true' }, { registry });
  await examine(app);
  await registry.createToolServer(toolServerRecord({ id: 'off', isEnabled: false }));
  expect((await examine(app)).data).toContainEqual({ about: 'Tool servers', level: 'note', message: 'off: disabled' });
});

it('tells of functions as they are loaded, and loads none again', async () => {
  using folder = toolsFolder({
    'tools/counted.js': `globalThis.timesLoaded = (globalThis.timesLoaded ?? 0) + 1;\n${functionModule('get_a')}`,
    'tools/bad.js': 'export default 1;',
  });
  const config = { modules: { toolsDir: `${folder.path}/tools`, toolsets: [], hooks: [] } };
  const app = await gateway({ TOOLWHARF_DEMO: 'true' }, { config, importModule: importNatively });
  for (let times = 0; times < 2; times++) {
    const found = (await examine(app)).data.filter(({ about }) => about === 'Functions and hooks');
    expect(found).toEqual([
      { about: 'Functions and hooks', level: 'ok', message: 'counted.js: 1 function (get_a)' },
      expect.objectContaining({ level: 'broken', message: expect.stringContaining('bad.js'), cure: expect.any(String) }),
    ]);
  }
  expect((globalThis as { timesLoaded?: number }).timesLoaded).toBe(1);
});

it.each([
  ['true', 'ok'],
  ['false', 'warning'],
])('knows the search of stored chats as a tool of presets where chats are stored: %s', async (STORE_CHATS, level) => {
  const app = await gateway({ TOOLWHARF_DEMO: 'true', STORE_CHATS });
  const headers = { authorization: `Bearer ${adminKey}` };
  const payload = { id: 'clerk', base_model: 'demo', tools: ['function:search_chats'] };
  expect((await app.server.inject({ method: 'POST', url: '/api/presets', headers, payload })).statusCode).toBe(201);
  expect((await examine(app)).data.filter(({ about }) => about === 'Presets')).toMatchObject([{ level }]);
});

it('ends in time, with what has not answered among the findings', async () => {
  const late = new AbortController();
  const silent = await peer(() => [{ act: 'stall' }]);
  const config = readConfig({ OLLAMA_BASE_URLS: ';', TOOLWHARF_DEMO: 'true' }, () => undefined);
  const server = toolServerRecord({ id: 'silent', url: silent.origin });
  const parts: ExaminedParts = {
    config: { ...config, toolServers: [server] },
    openRegistry: async () => memoryRegistry([server]),
    send: () => new Promise(() => undefined),
    sendToServers: () => new Promise(() => undefined),
    isContainer: false,
    isServing: true,
    settings: { title: 'Settings', findings: [] },
    examineAddress: async () => [],
    examineFunctions() {
      // By now the database has answered.
      setImmediate(() => late.abort());
      return new Promise(() => undefined);
    },
    signal: late.signal,
  };
  const sections = await examineGateway(parts);
  const findings = sections.flatMap(({ title, findings }) => findings.map(({ level, text }) => `${title}: ${level}: ${text}`));
  expect(findings).toContain('Functions and hooks: warning: The functions: not examined, because the examination took too long');
  expect(findings.filter((line) => line.startsWith('Tool servers: '))).toHaveLength(1);
  expect(findings.filter((line) => line.startsWith('Models: '))).toHaveLength(1);
});
