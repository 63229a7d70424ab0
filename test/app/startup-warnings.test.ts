import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { OutboundError } from '../../src/core/errors.ts';
import type { JsonObject } from '../../src/shared/json/json.ts';
import { parseToolServerConnections } from '../../src/storage/tool-server-connection.ts';
import { findUnknownVariables } from '../../src/app/config/unknown-variables.ts';
import { openStores } from '../_support/memory-stores.ts';
import { temporaryFolders } from '../storage/temporary-folder.ts';
import { memoryRegistry } from '../_support/memory-stores.ts';
import { backendOf, listen, testApp } from '../_support/build-app.ts';
import type { TestApp } from '../_support/build-app.ts';
import { ScriptedModel } from '../_support/scripted-model.ts';
import { documentWith, jsonResponse, neverAnswers, scriptedSend } from '../tools/scripted-send.ts';

const newFolder = temporaryFolders();

async function start(environment: NodeJS.ProcessEnv, connections: object[]): Promise<TestApp> {
  const listening = Promise.withResolvers<void>();
  const script = scriptedSend({
    'http://up.test/openapi.json': documentWith('now'),
    'http://empty.test/openapi.json': documentWith(),
    // A start that waited for it would see it fail.
    'http://slow.test/openapi.json': async (request) => {
      await Promise.race([listening.promise, neverAnswers(request)]);
      return jsonResponse(documentWith('late'));
    },
  });
  const registry = memoryRegistry(parseToolServerConnections(connections, 'database'));
  const backends = [backendOf(new ScriptedModel(), ['model', 'small:latest'])];
  const app = await testApp(environment, { registry, backends, send: script.send });
  onTestFinished(() => app.close());
  await listen(app);
  listening.resolve();
  return app;
}

const warnings = ({ logLines }: TestApp): JsonObject[] =>
  logLines.map((line) => JSON.parse(line) as JsonObject).filter(({ level }) => level === 'warn' || level === 40);

it('a start tells once of tool servers that cannot be used or have another id, and waits for none', async () => {
  const app = await start({}, [
    { url: 'http://up.test', info: { id: 'up' } },
    { url: 'http://down.test', info: { id: 'down' } },
    { url: 'http://slow.test', info: { id: 'slow' } },
    { url: 'http://up.test', info: { id: 'a b' } },
    { url: 'http://up.test', info: { id: 'up' } },
    { url: 'http://mcp.test', type: 'mcp', info: { id: 'other' } },
    { url: 'http://empty.test', info: { id: 'empty' } },
    { url: 'http://off.test', info: { id: 'off' }, config: { enable: false } },
  ]);
  await expect.poll(() => warnings(app).length).toBe(5);
  expect(warnings(app)).toMatchObject([
    { tool_server: 'down', reason: expect.stringContaining('http://down.test/openapi.json') },
    { tool_server: 'a-b', wanted_id: 'a b' },
    { tool_server: 'up-2', wanted_id: 'up' },
    { tool_server: 'other', reason: expect.stringContaining('MCP') },
    { tool_server: 'empty', reason: expect.stringContaining('no usable function') },
  ]);
});

it('the report of a server says that its id is another one', async () => {
  const app = await start({}, [{ url: 'http://up.test', info: { id: 'a b' } }]);
  const headers = { host: '127.0.0.1:8080' };
  const answer = await app.server.inject({ url: '/api/tool-servers/a-b', headers });
  expect(answer.json()).toMatchObject({
    report: { ok: true, warnings: ['The id "a b" was changed to "a-b", because it was not legal or already taken.'] },
  });
});

it.each([
  [{ TASK_MODEL: 'model', TASK_MODEL_EXTERNAL: 'small' }, []],
  [{ TASK_MODEL: 'gone', TASK_MODEL_EXTERNAL: 'model' }, [{ setting: 'TASK_MODEL', model: 'gone' }]],
])('a start with %j tells of the task models that nobody lists', async (environment, expected) => {
  const app = await start(environment, []);
  await expect.poll(() => warnings(app).length).toBe(expected.length);
  expect(warnings(app)).toMatchObject(expected);
});

it('a start warns of variables with the prefix that are no settings, which change nothing', async () => {
  const unknownVariables = findUnknownVariables({
    TOOLWHARF_TOOLS_DIR: './tools',
    TOOLWHARF_PORT: '80',
    TOOLWHARF_ADMINKEY: 'CANARY',
    PORT: '80',
  });
  const app = await testApp({}, { unknownVariables, backends: [] });
  onTestFinished(() => app.close());
  await listen(app);
  await expect
    .poll(() => warnings(app))
    .toMatchObject([
      { setting: 'TOOLWHARF_TOOLS_DIR', msg: expect.stringMatching(/no effect\. Put tools_dir into toolwharf\.yaml/) },
      { setting: 'TOOLWHARF_PORT', msg: expect.stringContaining('Did you mean PORT?') },
      { setting: 'TOOLWHARF_ADMINKEY', msg: expect.stringContaining('Did you mean TOOLWHARF_ADMIN_KEY?') },
    ]);
  expect(app.logLines.join('')).not.toContain('CANARY');
});

it.each([
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', OTEL_BSP_MAX_QUEUE_SIZE: '9' }, ['OTEL_BSP_MAX_QUEUE_SIZE']],
  [{ OTEL_BSP_MAX_QUEUE_SIZE: '9' }, []],
])('warns of variables of OpenTelemetry that have no effect only if there is a collector: %j', (environment, names) => {
  expect(findUnknownVariables(environment)).toEqual(names);
});

it('a start says of each backend in one line what came of it', async () => {
  const list = { object: 'list', data: [{ id: 'one' }, { id: 'two' }] };
  const { send } = scriptedSend({
    'http://good.test/v1/models': list,
    'http://empty.test/v1/models': { ...list, data: [] },
    'http://locked.test/v1/models': async () =>
      jsonResponse({ error: { message: 'Incorrect API key provided: sk-CANARY-0123456789' } }, 401),
    'http://gone.test/v1/models': new OutboundError('unreachable', 'connect ECONNREFUSED'),
    'http://127.0.0.1:11434/api/tags': new OutboundError('unreachable', 'connect ECONNREFUSED'),
  });
  const urls = ['good', 'locked', 'gone', 'empty'].map((name) => `http://${name}.test/v1`).join(';');
  const app = await testApp({ OPENAI_API_BASE_URLS: urls, OPENAI_API_KEYS: 'a;sk-CANARY-0123456789;c;d' }, { send });
  onTestFinished(() => app.close());
  await listen(app);
  const lines = (): JsonObject[] => app.logLines.map((line) => JSON.parse(line) as JsonObject).filter((line) => 'backend' in line);
  await expect.poll(() => lines().length).toBe(app.config.backends.length);
  const told = lines().map(({ level, msg, models }) => [level, msg, models]);
  expect(told).toEqual(
    expect.arrayContaining([
      ['info', expect.stringMatching(/"openai".* answers: 2 models/), 2],
      ['warn', expect.stringMatching(/"openai-2".* rejects the configured key \(401\)/), undefined],
      ['warn', expect.stringMatching(/"openai-3".* cannot be reached/), undefined],
      ['warn', expect.stringMatching(/"openai-4".* answers, but lists no model/), 0],
      // It is only tried, and nobody asked for it.
      ['info', expect.stringMatching(/"ollama" cannot be reached/), undefined],
    ]),
  );
  expect(app.logLines.join('')).not.toContain('CANARY');
});

it('a start warns of an administrator key that can be guessed, without showing it', async () => {
  const app = await start({ TOOLWHARF_ADMIN_KEY: 'changeme' }, []);
  expect(warnings(app)).toMatchObject([{ setting: 'TOOLWHARF_ADMIN_KEY', cure: expect.stringContaining('openssl') }]);
  expect(app.logLines.join('')).not.toContain('changeme');
  expect(warnings(await start({ TOOLWHARF_ADMIN_KEY: 'sk-tw-long-enough' }, []))).toEqual([]);
});

it('a start warns of keys that were made with another secret', async () => {
  const file = join(newFolder(), 'toolwharf.db');
  const open = (secret: string) => openStores({ file, secret }).registry;
  const config = (secret: string) => ({ config: { secret }, registry: open(secret), backends: [] });
  await using before = await testApp({}, config('the secret as it was'));
  await before.createFirstKey();
  await using app = await testApp({}, config('another secret here'));
  await listen(app);
  await expect
    .poll(() => warnings(app))
    .toMatchObject([{ setting: 'TOOLWHARF_SECRET', msg: expect.stringMatching(/^1 of 1 .*TOOLWHARF_ADMIN_KEY/) }]);
  await using same = await testApp({}, config('the secret as it was'));
  await listen(same);
  expect(warnings(same)).toEqual([]);
});
