import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseToolServerConnections } from '../../../src/storage/tool-server-connection.ts';
import { testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';

const entry = fileURLToPath(new URL('../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url));

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** The reference server as a process of its own, once it answers. */
async function startServer(kind: 'streamableHttp' | 'sse'): Promise<string> {
  const port = await freePort();
  const child = spawn(process.execPath, [entry, kind], { env: { ...process.env, PORT: String(port) }, stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill());
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => /port|listening/i.test(String(text)) && resolve());
  child.once('exit', () => reject(new Error('the reference server has ended')));
  await ready;
  return `http://127.0.0.1:${port}/${kind === 'sse' ? 'sse' : 'mcp'}`;
}

async function appWith(connection: object): Promise<TestApp> {
  const toolServers = parseToolServerConnections([{ id: 'everything', type: 'mcp', ...connection }], 'file');
  const app = await testApp({ TOOLWHARF_DEMO: 'false', OLLAMA_BASE_URLS: 'http://127.0.0.1:9' }, { config: { toolServers } });
  onTestFinished(() => app.close());
  return app;
}

async function invoke(app: TestApp, name: string, args: object, server = 'everything'): Promise<Record<string, unknown>> {
  const answer = await app.server.inject({ method: 'POST', url: `/api/tools/${server}/${name}/invoke`, payload: { arguments: args } });
  return answer.json<Record<string, unknown>>();
}

const ways: [name: string, connect: () => Promise<object>][] = [
  ['stdio', async () => ({ command: process.execPath, args: [entry, 'stdio'] })],
  ['Streamable HTTP', async () => ({ url: await startServer('streamableHttp') })],
  ['SSE', async () => ({ url: await startServer('sse') })],
];

describe.each(ways)('the reference server over %s', (_name, connect) => {
  it('lists its tools, and they answer with text, structure, files and errors', { timeout: 60_000 }, async () => {
    const app = await appWith(await connect());
    const listed = await app.server.inject({ method: 'GET', url: '/api/tools' });
    const names = listed.json<{ data: { name: string; kind: string }[] }>().data.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['echo', 'get-sum', 'get-tiny-image', 'get-structured-content']));

    expect(await invoke(app, 'echo', { message: 'hello' })).toMatchObject({ id: 'everything/echo', result: 'Echo: hello' });
    expect(await invoke(app, 'get-sum', { a: 2, b: 40 })).toMatchObject({ result: expect.stringContaining('42') });
    expect(await invoke(app, 'get-structured-content', { location: 'New York' })).toMatchObject({
      result: { temperature: expect.any(Number), conditions: expect.any(String) },
    });
    expect(await invoke(app, 'get-tiny-image', {})).toMatchObject({ result: expect.stringContaining('image/png') });
    expect(await invoke(app, 'echo', {})).toMatchObject({ error: { code: 'args_invalid' } });
  });

  it('reports progress and is cancelled by its time limit', { timeout: 60_000 }, async () => {
    const app = await appWith({ ...(await connect()), config: { timeout_ms: 1_000 } });
    expect(await invoke(app, 'trigger-long-running-operation', { duration: 2, steps: 8 })).toMatchObject({
      result: expect.stringContaining('completed'),
    });
    expect(await invoke(app, 'trigger-long-running-operation', { duration: 20, steps: 1 })).toMatchObject({
      error: { code: 'tool_timeout' },
    });
  });
});

/** A reference server of the given name as a process of the gateway's own. */
const overStdio = (name: string, ...args: string[]): object => ({
  id: name,
  command: process.execPath,
  args: [fileURLToPath(new URL(`../../../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`, import.meta.url)), ...args],
});

describe('other reference servers', () => {
  it('files are written, read and kept within the folder that was named', { timeout: 60_000 }, async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-files-')));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const app = await appWith(overStdio('filesystem', folder));
    const path = join(folder, 'note.txt');
    expect(await invoke(app, 'write_file', { path, content: 'Grüße' }, 'filesystem')).not.toHaveProperty('error');
    expect(readFileSync(path, 'utf8')).toBe('Grüße');
    const read = await invoke(app, 'read_text_file', { path }, 'filesystem');
    expect(JSON.stringify(read['result'])).toContain('Grüße');
    expect(await invoke(app, 'read_text_file', { path: '/etc/hostname' }, 'filesystem')).toMatchObject({ error: { code: 'tool_error' } });
  });

  it('what is remembered is found again', { timeout: 60_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-memory-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const app = await appWith({ ...overStdio('memory'), env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') } });
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['likes tea'] }];
    expect(await invoke(app, 'create_entities', { entities }, 'memory')).not.toHaveProperty('error');
    const found = await invoke(app, 'search_nodes', { query: 'tea' }, 'memory');
    expect(JSON.stringify(found['result'])).toContain('Ada');
  });
});
