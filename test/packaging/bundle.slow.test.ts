import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConsole } from '../_support/load-console.ts';
import { program } from '../_support/program.ts';
import { toolsFolder } from '../_support/tools-folder.ts';
import type { ToolsFolder } from '../_support/tools-folder.ts';

const key = 'key-of-the-bundle';
const memoryServer = fileURLToPath(new URL('../../node_modules/@modelcontextprotocol/server-memory/dist/index.js', import.meta.url));
/** With a reference that leads nowhere, which is remarked on; YAML is read in a thread. */
const document = `openapi: 3.1.0
info: { title: Lamps, version: '1' }
paths:
  /lamps:
    get: { operationId: list_lamps, responses: { '200': { $ref: '#/components/responses/gone' } } }
`;
const copies = `import { defineTool, ToolError } from 'toolwharf';
import { z } from 'zod';
import { z as mini } from 'zod/mini';
import * as core from 'zod/v4/core';
const parameters = z.object({ when: z.iso.date().optional() });
const execute = () => ({
  isOne: parameters instanceof z.ZodObject && parameters instanceof core.$ZodType && mini.object({}) instanceof core.$ZodType,
  isToolError: new ToolError('x') instanceof ToolError,
});
export const here = defineTool({ name: 'here', description: 'Looks here', parameters, execute });
export const aside = defineTool({ name: 'aside', description: 'Looks in a thread', parameters, execute, worker: true });
export const broken = defineTool({ name: 'broken', description: 'Breaks', parameters, execute: () => { throw new TypeError('broken'); } });
`;

let folder: ToolsFolder;
let url = '';
let output = '';
let end: () => Promise<unknown>;

beforeAll(async () => {
  const settings = `tools_dir: ./own\ntool_servers:\n  - { id: memory, type: mcp, command: node, args: [${JSON.stringify(memoryServer)}] }\n`;
  folder = toolsFolder({ 'toolwharf.yaml': settings, 'own/copies.ts': copies });
  const env = {
    PATH: process.env['PATH'],
    PORT: '0',
    OLLAMA_BASE_URLS: ';',
    LOG_FORMAT: 'pretty',
    TOOLWHARF_ADMIN_KEY: key,
    TOOLWHARF_DEMO: 'true',
  };
  const child = execFile(process.execPath, [program], { cwd: folder.path, env });
  end = async () => {
    const exit = once(child, 'exit');
    child.kill();
    return exit;
  };
  const listens = Promise.withResolvers<string>();
  const read = (piece: string): void => {
    output += piece;
    const found = /listens on (\S+)/.exec(output)?.[1];
    if (found !== undefined) listens.resolve(found);
  };
  child.stdout?.on('data', read);
  child.stderr?.on('data', read);
  child.once('exit', () => listens.reject(new Error(output)));
  url = await listens.promise;
});
afterAll(async () => {
  const [code] = (await end()) as [number];
  folder[Symbol.dispose]();
  expect(code).toBe(0);
});

async function ask(path: string, body?: unknown): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  return fetch(`${url}${path}`, { headers, ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }) });
}

const invoke = async (name: string): Promise<unknown> => (await ask(`/api/tools/${name}/invoke`, {})).json();

describe('the bundle', () => {
  it('is in characters that V8 keeps in one byte each, and loads at its start only what every gateway needs', () => {
    const folder = dirname(program);
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
      // What browsers load.
      (path) => path.endsWith('.js') && !path.startsWith('client/') && !path.startsWith('console/'),
    );
    const texts = new Map(files.map((path) => [join(folder, path), readFileSync(join(folder, path), 'utf8')]));
    expect([...texts].filter(([, text]) => /[^\0-\u00FF]/.test(text)).map(([path]) => path)).toEqual([]);

    const loaded = new Set<string>();
    const load = (path: string): void => {
      if (loaded.has(path)) return;
      loaded.add(path);
      for (const [, target = ''] of (texts.get(path) ?? '').matchAll(
        /(?:^|[;}\n])(?:import|export)(?:[\w*{}$, ]*?from)?["'`](\.[^"'`]+)["'`]/g,
      ))
        load(join(path, '..', target));
    };
    load(join(folder, 'cli/serve.js'));
    const nameOf = (path: string): string => basename(path).replace(/(?:-[\w-]{8})?\.js$/, '');
    const [all, atStart] = [[...texts.keys()].map(nameOf), [...loaded].map(nameOf)];
    expect(atStart).toEqual(expect.arrayContaining(['serve', 'small-modules']));
    // Each takes half a millisecond of a start.
    expect(atStart.length).toBeLessThan(45);
    const onDemand = ['reply', 'time-operations', 'pretty-lines', 'mcp-handler', 'mcp-session', 'webapi', 'lib', 'zod-exports'];
    expect(all).toEqual(expect.arrayContaining(onDemand));
    expect(onDemand.filter((name) => atStart.includes(name))).toEqual([]);
  });

  it('shows its log in lines for people', async () => {
    await expect.poll(() => output).toMatch(/INFO: toolwharf \d+\.\d+\.\d+ listens on/);
  });

  it('answers as the demo model, with the time of the bundled tool server', async () => {
    const question = { model: 'demo', messages: [{ role: 'user', content: 'How many hours from yesterday at noon until now?' }] };
    const { sources } = (await (await ask('/v1/chat/completions', question)).json()) as { sources: unknown[] };
    expect(sources).toHaveLength(1);
  });

  it('serves the client of browsers as it is', async () => {
    const written = readFileSync(new URL('../../src/client/toolwharf-client.js', import.meta.url), 'utf8');
    expect(await (await ask('/client.js')).text()).toBe(written);
  });

  it('serves the console, with all its files', async () => {
    const { page, files } = await loadConsole(url);
    expect(page).toEqual({ status: 200, type: 'text/html; charset=utf-8' });
    expect([...files.keys()].map((name) => name.replace(/-[\w-]{8}\./, '.'))).toEqual(
      expect.arrayContaining(['console.js', 'console.css', 'icon.svg', 'chat-page.js', 'runs-page.js', 'session-worker.js']),
    );
    expect([...files].filter(([, type]) => !/^(?:text\/(?:javascript|css); charset=utf-8|image\/svg\+xml)$/.test(type))).toEqual([]);
  });

  it('reads a large body in a thread', async () => {
    const messages = [{ role: 'user', content: Array.from({ length: 8_000 }, () => ({ type: 'text', text: 'a' })) }];
    expect((await ask('/v1/chat/completions', { model: 'demo', messages })).status).toBe(200);
  });

  it('reads a document in a thread, with remarks on it', async () => {
    const verified = await ask('/api/tool-servers/verify', { url: 'http://127.0.0.1:9', spec: document });
    expect(await verified.json()).toMatchObject({ functions: [{ name: 'list_lamps' }] });
  });

  it('is an MCP server, and a client of one', async () => {
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
    await expect.poll(async () => (await ask('/mcp', call)).text()).toContain('"name":"create_entities"');
  });

  it('publishes the keys of session tokens', async () => {
    expect(await (await ask('/.well-known/jwks.json')).json()).toMatchObject({ keys: [{ kty: expect.any(String) as string }] });
  });

  it.each(['here', 'aside'])('gives modules of operators its own zod and classes (%s)', async (name) => {
    expect(await invoke(name)).toMatchObject({ result: { isOne: true, isToolError: true } });
  });

  it('tells faults with their places in the sources', async () => {
    await invoke('broken');
    await expect.poll(() => output).toMatch(/copies\.ts:\d+:\d+/);
    expect(output).toMatch(/file:\/\/\S+\/src\/tools\/functions\/\S+\.ts:\d+:\d+/);
    expect(output).not.toContain('/chunks/');
  });

  it('tells where in the sources a start has broken', async () => {
    folder.write({ 'break.mjs': `Object.defineProperty(process.stdout, 'isTTY', { get() { throw new TypeError('broken'); } });` });
    const args = ['--import', join(folder.path, 'break.mjs'), program, 'serve'];
    const ended = await promisify(execFile)(process.execPath, args, { cwd: folder.path }).catch((error: unknown) => error);
    expect(ended).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/\n {4}at serve \(file:\/\/\S+\/src\/cli\/serve\.ts:\d+:\d+\)\n/),
    });
  });
});
