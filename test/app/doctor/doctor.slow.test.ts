import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readConfigFile } from '../../../src/app/config/config.ts';
import { listSettings } from '../../../src/app/config/read-settings.ts';
import type { Registry, ToolServerRecord } from '../../../src/core/stores/registry.ts';
import { startTimeServer } from '../../../src/demo/time-server.ts';
import { examineInstallation } from '../../../src/cli/doctor.ts';
import type { DoctorParts } from '../../../src/cli/doctor.ts';
import { examineFolder, examineNode } from '../../../src/app/doctor/examine-machine.ts';
import { countBroken, toReport } from '../../../src/app/doctor/finding.ts';
import type { Finding, Section } from '../../../src/core/finding.ts';
import { localUrl } from '../../../src/app/config/local-url.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { listen, testApp } from '../../_support/build-app.ts';
import { startOllamaServer } from '../../_support/ollama-server.ts';
import { respond, startUpstream } from '../../_support/upstream-server.ts';

/** Ends what a test started, the last first. */
let cleanups: (() => unknown)[] = [];
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolwharf-doctor-'));
  cleanups = [() => rmSync(folder, { recursive: true, force: true })];
});
afterEach(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup();
});

/** Nothing listens there: a port that was free a moment ago. */
async function deadUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

async function ollama(...models: string[]): Promise<string> {
  const server = await startOllamaServer(models.map((name) => ({ name })));
  cleanups.push(() => server.close());
  return server.url;
}

async function peer(status: number, body: unknown): Promise<string> {
  const server = await startUpstream(respond(status, body));
  cleanups.push(() => server.close());
  return server.origin;
}

/** Examines a gateway with a free port and an empty data folder, and no Ollama unless one is named. */
async function examine(environment: NodeJS.ProcessEnv, parts: Partial<DoctorParts> = {}): Promise<Section[]> {
  const quiet = { PORT: '0', TOOLWHARF_DATA_DIR: folder, OLLAMA_BASE_URLS: ';', ...environment };
  return examineInstallation(quiet, { readFile: () => undefined, isContainer: false, ...parts });
}

function findingsOf(sections: readonly Section[], title: string): Finding[] {
  return sections.find((section) => section.title.startsWith(title))?.findings ?? [];
}

const connections = (...entries: object[]): string => JSON.stringify(entries);

describe('models', () => {
  it('says how many models each backend lists', async () => {
    const url = await ollama('qwen3:4b', 'llama3.2:latest');
    const other = await peer(200, { object: 'list', data: [{ id: 'gpt-x', object: 'model' }] });
    const sections = await examine({ OLLAMA_BASE_URLS: url, OPENAI_API_BASE_URLS: `${other}/v1`, OPENAI_API_KEYS: 'sk-hidden' });
    expect(findingsOf(sections, 'Models')).toEqual([
      { level: 'ok', text: `ollama (${url}): 2 models` },
      { level: 'ok', text: `openai (${other}/v1): 1 model` },
    ]);
    expect(countBroken(sections)).toBe(0);
  });

  it('gives the line that pulls a model when an Ollama has none, and says that nothing can answer', async () => {
    const sections = await examine({ OLLAMA_BASE_URLS: await ollama() });
    expect(findingsOf(sections, 'Models')).toEqual([
      {
        level: 'warning',
        text: expect.stringContaining('answers, but has no models'),
        cure: expect.stringContaining('ollama pull qwen3:4b'),
      },
      { level: 'broken', text: 'No model can answer a chat', cure: expect.stringContaining('TOOLWHARF_DEMO=true') },
    ]);
  });

  it('names a configured backend that nothing listens for, with its address', async () => {
    const dead = await deadUrl();
    const sections = await examine({ OLLAMA_BASE_URLS: dead, TOOLWHARF_DEMO: 'true' });
    expect(findingsOf(sections, 'Models')).toEqual([
      {
        level: 'broken',
        text: `ollama (${dead}): Nothing listens at ${dead}. Is it running, and is the port right?`,
        cure: expect.stringContaining('Start Ollama'),
      },
      { level: 'ok', text: expect.stringContaining('not a language model') },
    ]);
    expect(countBroken(sections)).toBe(1);
  });

  it('takes an Ollama that is only tried at its usual address for no fault', async () => {
    const [found] = findingsOf(await examine({ OLLAMA_BASE_URLS: undefined }), 'Models');
    expect(found?.text).toContain('ollama (http://127.0.0.1:11434)');
    expect(found?.level).not.toBe('broken');
  });

  it('says what the container itself is, when a backend is looked for in it', async () => {
    const dead = await deadUrl();
    const { port } = new URL(dead);
    const [found] = findingsOf(await examine({ OLLAMA_BASE_URLS: dead }, { isContainer: true }), 'Models');
    expect(found?.cure).toContain(`use http://host.docker.internal:${port}`);
  });

  it('gives the cure of what answers there, in a container as elsewhere', async () => {
    const url = await peer(401, { error: { message: 'bad key' } });
    const connection = JSON.stringify([{ url, info: { id: 'maps' } }]);
    const environment = { OPENAI_API_BASE_URLS: `${url}/v1`, OPENAI_API_KEYS: 'sk-wrong', TOOL_SERVER_CONNECTIONS: connection };
    const sections = await examine(environment, { isContainer: true });
    expect(findingsOf(sections, 'Models')[0]?.cure).toContain('check its key');
    expect(findingsOf(sections, 'Tool servers')).toMatchObject([
      { level: 'broken', cure: expect.stringContaining('correct `url`, `path`, `key`') },
    ]);
    const lost = await examine(
      { TOOL_SERVER_CONNECTIONS: JSON.stringify([{ url: await deadUrl(), info: { id: 'maps' } }]) },
      { isContainer: true },
    );
    expect(findingsOf(lost, 'Tool servers')[0]?.cure).toContain('host.docker.internal');
  });

  it.each([
    ['OLLAMA_BASE_URLS', '/api', 'Set the address without this ending'],
    ['OPENAI_API_BASE_URLS', '', 'end the address with /v1'],
  ])('has a cure for an address of %s that ends with "%s"', async (setting, end, cure) => {
    const url = await peer(404, 'page not found');
    const [found] = findingsOf(await examine({ [setting]: `${url}${end}` }), 'Models');
    expect(found).toMatchObject({ level: 'broken', cure: expect.stringContaining(cure) });
  });

  it('tells a refused key from a server that is down', async () => {
    const url = await peer(401, { error: { message: 'bad key' } });
    const [found] = findingsOf(await examine({ OPENAI_API_BASE_URLS: `${url}/v1`, OPENAI_API_KEYS: 'sk-wrong' }), 'Models');
    expect(found).toMatchObject({
      level: 'broken',
      text: expect.stringMatching(/refuses|key/i),
      cure: expect.stringContaining('check its key'),
    });
    expect(JSON.stringify(found)).not.toContain('sk-wrong');
  });

  it('warns of a task model that no backend lists', async () => {
    const url = await ollama('qwen3:4b', 'small:latest');
    const sections = await examine({ OLLAMA_BASE_URLS: url, TASK_MODEL: 'small', TASK_MODEL_EXTERNAL: 'gone' });
    const warnings = findingsOf(sections, 'Models').filter(({ level }) => level === 'warning');
    expect(warnings).toMatchObject([{ text: expect.stringContaining('TASK_MODEL_EXTERNAL: no backend lists "gone"') }]);
    expect(countBroken(sections)).toBe(0);
  });
});

describe('tool servers', () => {
  const demo = { TOOLWHARF_DEMO: 'true' };

  it('says how many functions a server offers, and what its filter leaves of them', async () => {
    const time = await startTimeServer({ host: '127.0.0.1', port: 0 });
    cleanups.push(() => time.close());
    const name = 'get_current_local_time_get_current_local_time_get';
    const whole = {
      url: time.url,
      path: 'openapi.json',
      auth_type: 'none',
      config: { enable: true, default: false },
      info: { id: 'whole' },
    };
    const opened = findingsOf(await examine({ ...demo, TOOL_SERVER_CONNECTIONS: connections(whole) }), 'Tool servers');
    expect(opened).toEqual([
      { level: 'ok', text: expect.stringMatching(/^whole \(.*\): [2-9] functions, offered only where a request names it$/) },
    ]);

    const filtered = { ...whole, config: { enable: true, function_name_filter_list: `none_of_${name}` }, info: { id: 'part' } };
    const none = findingsOf(await examine({ ...demo, TOOL_SERVER_CONNECTIONS: connections(filtered) }), 'Tool servers');
    expect(none).toMatchObject([
      { level: 'warning', text: expect.stringContaining('offers no function'), cure: expect.stringContaining('filter') },
    ]);
  });

  it('names each operation that is left out, and counts the rest', async () => {
    const odd = (index: number) => [`/odd/${index}`, { post: { parameters: [{ $ref: 'elsewhere.json#/one' }], responses: {} } }];
    const good = ['/good', { get: { operationId: 'good', responses: {} } }];
    const url = await peer(200, {
      openapi: '3.1.0',
      info: { title: 'Odd', version: '1' },
      paths: Object.fromEntries([good, ...Array.from({ length: 7 }, (_, index) => odd(index))]),
    });
    const found = findingsOf(
      await examine({ ...demo, TOOL_SERVER_CONNECTIONS: connections({ url, info: { id: 'odd' } }) }),
      'Tool servers',
    );
    expect(found[0]).toEqual({ level: 'ok', text: `odd (${url}): 1 function` });
    expect(found.filter(({ text }) => text.includes('is left out: '))).toHaveLength(5);
    expect(found).toContainEqual({ level: 'note', text: 'odd: 2 more left out' });
  });

  it('calls a server that cannot be reached broken, and a disabled one not', async () => {
    const dead = await deadUrl();
    const off = { url: dead, config: { enable: false }, info: { id: 'off' } };
    const sections = await examine({ ...demo, TOOL_SERVER_CONNECTIONS: connections({ url: dead, info: { id: 'down' } }, off) });
    expect(findingsOf(sections, 'Tool servers')).toEqual([
      { level: 'broken', text: expect.stringMatching(/^down .*Nothing listens at/), cure: expect.stringContaining('Start it') },
      { level: 'note', text: 'off: disabled' },
    ]);
    expect(countBroken(sections)).toBe(1);
  });

  it('reads what is registered, and leaves alone what runs with the gateway only', async () => {
    const record: ToolServerRecord = {
      id: 'time',
      origin: 'bundled',
      url: await deadUrl(),
      path: 'openapi.json',
      type: 'openapi',
      authType: 'none',
      headers: {},
      isEnabled: true,
      isDefault: true,
      functionFilter: [],
      tags: [],
      extra: {},
    };
    const openRegistry = async () => memoryRegistry([record]);
    expect(findingsOf(await examine(demo, { openRegistry }), 'Tool servers')).toEqual([
      { level: 'ok', text: 'time: bundled, runs with the gateway' },
    ]);
  });

  it('examines what is configured even when what is stored cannot be opened or read', async () => {
    const off = connections({ url: 'http://127.0.0.1:9', config: { enable: false }, info: { id: 'off' } });
    const damaged = (): Promise<never> => Promise.reject(new Error('the database is damaged'));
    const unreadable = async (): Promise<Registry> => ({ ...memoryRegistry([]), listKeys: damaged, listToolServers: damaged });
    for (const openRegistry of [damaged, unreadable]) {
      const sections = await examine({ ...demo, TOOL_SERVER_CONNECTIONS: off }, { openRegistry });
      expect(findingsOf(sections, 'Tool servers')).toMatchObject([
        { level: 'broken', text: expect.stringContaining('damaged') },
        { level: 'note', text: 'off: disabled' },
      ]);
    }
  });
});

describe('this machine', () => {
  const demo = { TOOLWHARF_DEMO: 'true' };

  it('writes into the data folder and leaves nothing there', async () => {
    expect(await examineFolder(folder)).toEqual({ level: 'ok', text: `Data folder ${folder} can be written` });
    expect(readdirSync(folder)).toEqual([]);
    const deep = join(folder, 'not', 'yet');
    expect(await examineFolder(deep)).toMatchObject({ level: 'ok', text: expect.stringContaining('will be created') });
    expect(existsSync(deep)).toBe(false);
  });

  it('finds a file in the way of the data folder', async () => {
    writeFileSync(join(folder, 'data'), '');
    const expected = { level: 'broken', text: expect.stringContaining('ENOTDIR'), cure: expect.stringContaining('file blocks the path') };
    expect(await examineFolder(join(folder, 'data'))).toMatchObject(expected);
    expect(await examineFolder(join(folder, 'data', 'deeper'))).toMatchObject(expected);
  });

  it.skipIf(process.getuid?.() === 0)('finds a data folder without rights', async () => {
    chmodSync(folder, 0o500);
    cleanups.push(() => chmodSync(folder, 0o700));
    expect(await examineFolder(folder)).toMatchObject({ level: 'broken', text: expect.stringContaining('EACCES') });
    expect(await examineFolder(join(folder, 'new'))).toMatchObject({ level: 'broken' });
  });

  it.skipIf(process.platform !== 'linux')('finds a folder that takes no files, though its rights would allow them', async () => {
    expect(await examineFolder('/proc')).toMatchObject({ level: 'broken', cure: expect.any(String) });
  });

  it('tells a port that another program holds from one that a toolwharf holds', async () => {
    const { port } = new URL(await peer(200, { status: true }));
    const taken = findingsOf(await examine({ ...demo, PORT: port }), 'This machine');
    expect(taken).toContainEqual({
      level: 'broken',
      text: `127.0.0.1:${port} is taken by another program`,
      cure: expect.stringContaining('PORT'),
    });

    const app = await testApp({ TOOLWHARF_DEMO: 'true' });
    cleanups.push(() => app.close());
    const own = new URL(await listen(app)).port;
    const sections = await examine({ ...demo, PORT: own });
    expect(findingsOf(sections, 'This machine')).toContainEqual({ level: 'ok', text: `A toolwharf runs at 127.0.0.1:${own}` });
    expect(countBroken(sections)).toBe(0);
  });

  it('says that HOST is not an address of this machine', async () => {
    // Of the block for documentation (RFC 5737).
    const sections = await examine({ ...demo, HOST: '192.0.2.1', PORT: '8123' });
    expect(findingsOf(sections, 'This machine')).toContainEqual(
      expect.objectContaining({ level: 'broken', cure: expect.stringContaining('HOST') }),
    );
  });

  it.each([
    ['22.19.0', 'note'],
    ['24.21.0', 'ok'],
    ['26.0.0', 'ok'],
  ])('takes Node.js %s for %s', (version, level) => {
    expect(examineNode(version).level).toBe(level);
  });
});

describe('access', () => {
  const accessOf = async (environment: NodeJS.ProcessEnv, parts: Partial<DoctorParts> = {}): Promise<Finding | undefined> =>
    findingsOf(await examine({ TOOLWHARF_DEMO: 'true', ...environment }, parts), 'Access')[0];

  it('warns of an address that others reach while no key is configured', async () => {
    expect(await accessOf({ HOST: '0.0.0.0' })).toMatchObject({ level: 'warning', cure: expect.stringContaining('TOOLWHARF_ADMIN_KEY') });
  });

  it('warns of a configured key that can be guessed', async () => {
    expect(await accessOf({ TOOLWHARF_ADMIN_KEY: 'changeme' })).toMatchObject({
      level: 'warning',
      text: expect.stringContaining('TOOLWHARF_ADMIN_KEY has only 8 characters'),
      cure: expect.stringContaining('openssl'),
    });
  });

  it('is content with a loopback address, a configured key, or a stored one', async () => {
    expect(await accessOf({})).toMatchObject({ level: 'ok', text: expect.stringContaining('Open to this machine') });
    expect(await accessOf({ HOST: '0.0.0.0', TOOLWHARF_ADMIN_KEY: 'sk-tw-long-enough' })).toMatchObject({ level: 'ok' });
    const openRegistry = async () => {
      const registry = memoryRegistry([]);
      await registry.createKey({ id: 'first', name: 'first', role: 'admin', hash: 'f0', createdAt: 0 });
      return registry;
    };
    expect(await accessOf({ HOST: '0.0.0.0' }, { openRegistry })).toMatchObject({
      level: 'ok',
      text: expect.stringContaining('1 is stored'),
    });
  });
});

describe('settings in force', () => {
  it('shows what differs from the defaults, where it stands, and no secret', () => {
    const text = 'port: 9001\nlog_level: debug\nopenai_api_key: "${CLOUD_KEY}"\nbackends: []\n';
    const environment = {
      PORT: '9002',
      TOOL_TIMEOUT_MS: '30000',
      CLOUD_KEY: 'secret-1',
      TOOLWHARF_ADMIN_KEY: 'secret-2',
      CORS_ALLOW_ORIGIN: 'http://a.test;http://b.test',
    };
    const file = readConfigFile(environment, () => text);
    const shown = listSettings(environment, file).filter(({ origin }) => origin !== 'default');
    expect(shown).toEqual([
      { name: 'PORT', origin: 'environment', value: '9002' },
      { name: 'OPENAI_API_KEY', origin: 'file', value: 'set' },
      { name: 'TOOLWHARF_ADMIN_KEY', origin: 'environment', value: 'set' },
      { name: 'CORS_ALLOW_ORIGIN', origin: 'environment', value: 'http://a.test; http://b.test' },
      { name: 'LOG_LEVEL', origin: 'file', value: 'debug' },
    ]);
    expect(JSON.stringify(shown)).not.toContain('secret');
  });

  it('shortens what is long, and hides a key in the wrong place', () => {
    const listed = listSettings({ RAG_TEMPLATE: `{{CONTEXT}}\n${'word '.repeat(100)}`, TASK_MODEL: 'sk-live-123' }, undefined);
    const shown = listed.filter(({ origin }) => origin !== 'default');
    expect(shown).toMatchObject([{ value: 'set' }, { value: expect.stringMatching(/^\{\{CONTEXT\}\} word .*… \(\d+ characters\)$/) }]);
  });

  it('ends with the one line of a wrong value', async () => {
    await expect(examine({ PORT: 'eighty' })).rejects.toThrow(/^PORT: "eighty" is not a whole number/);
  });
});

describe('the report', () => {
  it('puts each cure below its finding and counts what is broken', () => {
    const findings: Finding[] = [
      { level: 'ok', text: 'one' },
      { level: 'broken', text: 'two', cure: 'fix it' },
    ];
    expect(toReport([{ title: 'Things', findings }])).toBe(
      'Things\n  ok      one\n  BROKEN  two\n          -> fix it\n\nOne problem; the fix is below it.\n',
    );
  });

  it.each([
    [{ host: '0.0.0.0', port: 1 }, 'http://127.0.0.1:1'],
    [{ host: '::', port: 2 }, 'http://[::1]:2'],
    [{ host: 'fd00::1', port: 3 }, 'http://[fd00::1]:3'],
    [{ host: 'localhost', port: 4 }, 'http://localhost:4'],
  ])('reaches a gateway that listens on %j', (address, url) => {
    expect(localUrl(address)).toBe(url);
  });
});

describe('the command', () => {
  const program = fileURLToPath(new URL('../../../src/toolwharf.js', import.meta.url));

  async function command(name: string, environment: NodeJS.ProcessEnv): Promise<{ code: unknown; stdout: string; stderr: string }> {
    const env = { PATH: process.env['PATH'], PORT: '0', TOOLWHARF_DATA_DIR: folder, OLLAMA_BASE_URLS: ';', ...environment };
    const done = promisify(execFile)(process.execPath, [program, name], { cwd: folder, env });
    return done.then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: { code: unknown; stdout: string; stderr: string }) => ({ code: error.code, stdout: error.stdout, stderr: error.stderr }),
    );
  }

  it('ends with 0 when nothing is broken, with 1 when something is, and with one line for a wrong setting', async () => {
    const [sound, broken, wrong] = await Promise.all([
      command('doctor', { TOOLWHARF_DEMO: 'true' }),
      command('doctor', { OLLAMA_BASE_URLS: await deadUrl() }),
      command('doctor', { LOG_LEVEL: 'loud' }),
    ]);
    expect(sound).toMatchObject({ code: 0, stdout: expect.stringContaining('Nothing is broken.'), stderr: '' });
    expect(broken).toMatchObject({ code: 1, stdout: expect.stringContaining('BROKEN  No model can answer a chat'), stderr: '' });
    expect(wrong).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^toolwharf: LOG_LEVEL: .*\n$/) });
  });

  it('healthcheck ends with 0 while the gateway lives, and with 1 and the reason otherwise', async () => {
    const alive = new URL(await peer(200, { status: true })).port;
    const ill = new URL(await peer(503, { status: false })).port;
    const dead = new URL(await deadUrl()).port;
    const outcomes = await Promise.all([alive, ill, dead].map((port) => command('healthcheck', { HOST: '0.0.0.0', PORT: port })));
    expect(outcomes).toMatchObject([
      { code: 0, stdout: '', stderr: '' },
      { code: 1, stderr: expect.stringContaining('status 503') },
      { code: 1, stderr: expect.stringContaining('Nothing listens') },
    ]);
  });
});
