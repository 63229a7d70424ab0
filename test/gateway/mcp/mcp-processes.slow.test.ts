import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { parseToolServerConnections } from '../../../src/storage/tool-server-connection.ts';
import { backendOf, listen, testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { says, ScriptedModel } from '../../_support/scripted-model.ts';

const everything = fileURLToPath(new URL('../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url));
const host = '127.0.0.1:8080';

/** A gateway with one MCP server: a process that runs `script`. */
async function gatewayWith(script: string, connection: JsonObject = {}): Promise<TestApp> {
  const process_ = { id: 'peer', type: 'mcp', command: process.execPath, args: ['--input-type=module', '-e', script], ...connection };
  const app = await testApp(
    { TOOLWHARF_DEMO: 'false' },
    {
      config: { toolServers: parseToolServerConnections([process_], 'file') },
      backends: [backendOf(new ScriptedModel(says('Hello.'), says('Hello.')), ['model'])],
    },
  );
  onTestFinished(() => app.close());
  return app;
}

async function chat(app: TestApp): Promise<string> {
  const answer = await app.server.inject({
    method: 'POST',
    url: '/v1/chat/completions',
    headers: { host },
    payload: { model: 'model', messages: [{ role: 'user', content: 'Hi' }] },
  });
  expect(answer.statusCode).toBe(200);
  const run = await app.server.inject({ url: `/api/runs/${String(answer.headers['x-toolwharf-run-id'])}`, headers: { host } });
  return run.body;
}

const refresh = async (app: TestApp): Promise<string> =>
  (await app.server.inject({ method: 'POST', url: '/api/tool-servers/peer/refresh', headers: { host } })).body;

it('the last words of a process that ends at its start are told, without its credentials', { timeout: 60_000 }, async () => {
  const script = `console.error('\\u001b[31mno database, and the key ' + process.env.API_KEY + ' is old'); process.exitCode = 3`;
  const app = await gatewayWith(script, { env: { API_KEY: 'correct-horse-battery' } });
  const words = /On stderr it wrote: no database, and the key \[secret\] is old/;
  expect(await refresh(app)).toMatch(words);
  expect(await chat(app)).toMatch(words);
  await listen(app);
  await expect.poll(() => app.logLines.join('')).toMatch(words);
  expect(app.logLines.join('')).not.toContain('horse');
});

it.each([
  ['of its own', undefined],
  ['that the file names', realpathSync(tmpdir())],
])('a process runs in the folder %s', { timeout: 60_000 }, async (_which, cwd) => {
  const script = `console.error('in ' + process.cwd()); process.argv[2] = 'stdio'; await import(${JSON.stringify(everything)})`;
  const app = await gatewayWith(script, cwd === undefined ? {} : { cwd });
  const { stderr = [] } = JSON.parse(await refresh(app)) as { stderr?: string[] };
  const [folder = ''] = stderr.flatMap((line) => /^in (.*)/.exec(line)?.[1] ?? []);
  expect(folder).toMatch(cwd === undefined ? /\/mcp\/peer$/ : new RegExp(`^${cwd}$`));
});

it('a file that the arguments name is found though the process runs elsewhere', { timeout: 60_000 }, async () => {
  const app = await gatewayWith('', { args: [relative(process.cwd(), everything), 'stdio'] });
  expect(await refresh(app)).toContain('"ok":true');
});

it('the report of a process that answers shows what it wrote', { timeout: 60_000 }, async () => {
  const app = await gatewayWith(
    `console.error('read-only: no token'); process.argv[2] = 'stdio'; await import(${JSON.stringify(everything)})`,
  );
  const report = JSON.parse(await refresh(app)) as { report?: JsonObject };
  expect(report).toMatchObject({ ok: true, stderr: expect.arrayContaining(['read-only: no token']) });
});

it('a process that hangs at its start holds up no chat until it gives up, is told, and joins later', { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-hangs-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const go = join(folder, 'go');
  const app = await gatewayWith(
    `import { existsSync } from 'node:fs';
     while (!existsSync(${JSON.stringify(go)})) await new Promise((resolve) => setTimeout(resolve, 20));
     process.argv[2] = 'stdio'; await import(${JSON.stringify(everything)})`,
  );
  await listen(app);
  expect(await chat(app)).toContain('still being opened');
  await expect.poll(() => app.logLines.join('')).toContain('is slow to open: chats run without its functions');
  writeFileSync(go, '');
  const isReady = async (): Promise<string> => (await app.server.inject({ url: '/ready', headers: { host } })).body;
  await expect.poll(isReady).toContain('{"id":"peer","state":"ok"');
  expect(await chat(app)).not.toContain('still being opened');
  await expect.poll(() => app.logLines.join('')).toContain('is open now: chats can use its functions');
});

it('a process that ends by itself later is told with its last words', { timeout: 60_000 }, async () => {
  const app = await gatewayWith(
    `setTimeout(() => { console.error('out of paper'); process.exit(1); }, 4_000); process.argv[2] = 'stdio'; await import(${JSON.stringify(everything)})`,
  );
  expect(await refresh(app)).toContain('"ok":true');
  await expect.poll(() => app.logLines.find((line) => line.includes('has exited'))).toContain('out of paper');
});

describe('a process that sends more notifications than are read', () => {
  const hostile = new URL('../../bench/stops/hostile-process.js', import.meta.url).href;
  const speak = async (app: TestApp, what: string): Promise<JsonObject> =>
    (
      await app.server.inject({ method: 'POST', url: '/api/tools/speak/invoke', headers: { host }, payload: { arguments: { what } } })
    ).json<JsonObject>();
  const warnings = (app: TestApp): string[] =>
    app.logLines.filter((line) => line.includes('notifications a second: those beyond it are dropped'));

  it('is warned of once, and its answer is read', async () => {
    const app = await gatewayWith(`await import(${JSON.stringify(hostile)})`);
    await listen(app);
    expect(await speak(app, 'words')).toMatchObject({ result: 'Done.' });
    expect(warnings(app)).toEqual([]);
    expect(await speak(app, 'chatter')).toMatchObject({ result: 'Done.' });
    expect(warnings(app)).toHaveLength(1);
  });

  it('is ended where it does not stop, and started anew for the next call', async () => {
    const app = await gatewayWith(`await import(${JSON.stringify(hostile)})`);
    await listen(app);
    expect(await speak(app, 'flood')).toMatchObject({ error: { code: 'outcome_unknown' } });
    expect(warnings(app)).toHaveLength(1);
    expect(app.logLines.join('')).toContain('the process of the tool server \\"peer\\" has exited');
    expect(await speak(app, 'words')).toMatchObject({ result: 'Done.' });
  });
});
