import { execFile } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { program } from '../_support/program.ts';
import { linksIn } from '../_support/read-docs.ts';

const docs = fileURLToPath(new URL('../../docs/', import.meta.url));
const read = (page: string): string => readFileSync(join(docs, `${page}.md`), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'toolwharf-docs-'));
const environment = { PATH: process.env['PATH'], HOST: '127.0.0.1', PORT: '0', TOOLWHARF_DATA_DIR: join(folder, 'data') };
const running: ChildProcess[] = [];
let gateway: Started;
let tasks: Started;

interface Started {
  port: string;
  key: string;
}

/** Resolves once the program says where it listens. */
async function start(args: readonly string[], settings: Record<string, string> = {}): Promise<Started> {
  const child = execFile(process.execPath, [...args], { cwd: folder, env: { ...environment, ...settings } });
  running.push(child);
  const shown = Promise.withResolvers<Started>();
  let text = '';
  const listen = (chunk: string): void => {
    text += chunk;
    const port = /listens on http:\/\/[^:]+:(\d+)/.exec(text)?.[1];
    if (port !== undefined) shown.resolve({ port, key: /sk-tw-[\w-]{43}/.exec(text)?.[0] ?? '' });
  };
  child.stdout?.on('data', listen);
  child.stderr?.on('data', listen);
  child.once('exit', () => shown.reject(new Error(text)));
  return shown.promise;
}

/** The blocks of one language, in their order. */
function blocks(markdown: string, language: string): string[] {
  return [...markdown.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, block = '']) => block);
}

/** The commands that ask the gateway. Others install it or need Docker. */
const commandsOf = (page: string): string[] =>
  blocks(read(page), 'sh').filter((block) => block.includes('curl') && block.includes('127.0.0.1:8080'));

/** Every page with commands, in the order in which the index lists them; it begins with the README. The page on Docker needs containers. */
const pages = linksIn(read('README'))
  .flatMap((link) => /^((?:\.\.\/)?[\w-]+)\.md$/.exec(link)?.[1] ?? [])
  .filter((page) => page !== 'docker' && commandsOf(page).length > 0);

beforeAll(async () => {
  writeFileSync(join(folder, 'toolwharf.yaml'), 'tools_dir: ./tools\n');
  // Modules as the pages show them, under the names in their first lines.
  for (const module of ['functions-and-hooks', 'approvals'].flatMap((page) => blocks(read(page), 'js'))) {
    const name = /^\/\/ (tools\/[\w-]+\.js)\n/.exec(module)?.[1];
    if (name === undefined) continue;
    mkdirSync(join(folder, dirname(name)), { recursive: true });
    writeFileSync(join(folder, name), module);
  }
  tasks = await start([join(docs, 'examples/task-list.js'), '0']);
  gateway = await start([program, 'serve'], { TOOLWHARF_DEMO: 'true', OLLAMA_BASE_URLS: ';' });
});
afterAll(async () => {
  for (const child of running) {
    const exit = once(child, 'exit');
    if (child.kill('SIGTERM')) await exit;
  }
  rmSync(folder, { recursive: true, force: true });
});

/** With the addresses and the key of this test in place of those in the text. */
function here(text: string): string {
  return text
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${gateway.port}`)
    .replaceAll('127.0.0.1:8000', `127.0.0.1:${tasks.port}`)
    .replaceAll('KEY=sk-tw-…', `KEY=${gateway.key}`);
}

/** Runs commands as one script in a shell of its own, in which every HTTP status from 400 on is an error. Resolves to what they print. */
async function run(commands: readonly string[]): Promise<string> {
  const strict = 'curl() { command curl --fail-with-body "$@"; }';
  const script = [strict, ...commands.map(here)].join('\n');
  const { stdout } = await promisify(execFile)('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
    cwd: folder,
    env: { PATH: process.env['PATH'] },
    maxBuffer: 10_000_000,
  });
  return stdout;
}

/** The only block of JavaScript on a page that contains this text, as a module in the folder. Packages are those of the gateway. */
function moduleOf(page: string, part: string): string {
  const [block = ''] = blocks(read(page), 'js').filter((text) => text.includes(part));
  const path = join(folder, `${page}.mjs`);
  writeFileSync(path, here(block).replace(`'jose'`, JSON.stringify(import.meta.resolve('jose'))));
  return path;
}

it('answers the socket of the page on browsers in Node too', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [moduleOf('browser-tools', 'new WebSocket')]);
  expect(stdout).toContain('time');
});

it('lets a tool server verify a session token as the page says', async () => {
  const { promise: seen, resolve } = Promise.withResolvers<IncomingMessage>();
  const document = { openapi: '3.1.0', info: { title: 'Who', version: '1' }, paths: { '/who': { get: { operationId: 'who' } } } };
  const server = createServer((request, response) => {
    if (request.url === '/who') resolve(request);
    response.setHeader('content-type', 'application/json').end(JSON.stringify(request.url === '/who' ? {} : document));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const json = `-H 'content-type: application/json'`;
  await run([
    'KEY=sk-tw-…',
    `curl -s http://127.0.0.1:8080/api/tool-servers ${json} -H "x-api-key: $KEY" -d '{"url": "http://${address}", "auth_type": "session", "config": {"default": false}}'`,
    `curl -s http://127.0.0.1:8080/api/tools/who/invoke ${json} -d '{"arguments": {}}'`,
  ]);
  const path = moduleOf('tool-credentials', 'jwtVerify');
  writeFileSync(path, readFileSync(path, 'utf8').replace('127.0.0.1:9000', address));
  const { findUser } = (await import(path)) as { findUser: (request: IncomingMessage) => Promise<string> };
  expect(await findUser(await seen)).toBe('local');
  server.close();
});

/** What the commands of some pages print, in this order. */
const answers: Record<string, RegExp> = {
  '../README': /Asia\/Tokyo[\s\S]*"id":"tasks"/,
  'openapi-tools': /"id":"chores"[\s\S]*TOOL:chores\/list_tasks[\s\S]*"sources"[\s\S]*"utc"/,
  mcp: /"name":"roll_dice"/,
  'functions-and-hooks': /TOOL:roll_dice[\s\S]*"result":\[/,
  'tool-credentials': /"id":"mail"[\s\S]*"state":"connected"[\s\S]*"id":"notes"/,
  presets: /"id":"clerk"[\s\S]*"model":"clerk"[\s\S]*"sources"[\s\S]*"id":"titles"/,
  approvals: /"approval":[\s\S]*A small pizza is on its way/,
  people:
    /"tokens_per_day":200000[\s\S]*"chat\.completion"[\s\S]*\{"data":\[\],"next":null\}[\s\S]*"state":"connected"[\s\S]*"id":"ada","deleted":true/,
  api: /"sources":[\s\S]*"result":[\s\S]*"requests":[\s\S]*"object":"list"[\s\S]*administrator key: sk-tw-/,
  dialects: /"object":"response"[\s\S]*"type":"message"[\s\S]*"input_tokens":[\s\S]*"done":true[\s\S]*"text_completion"/,
  modes: /(?:"sources":[\s\S]*){4}/,
  configuration: /"id":"lab"[\s\S]*"has_key":true[\s\S]*"ok":false/,
  'runs-and-events': /"type":"run\.end"[\s\S]*"next":/,
};

// One gateway for all pages: a reader follows them in this order too, and one page must not break the next.
describe('the commands of the pages, one page after the other', () => {
  it('are on these pages', () => {
    expect(pages.toSorted()).toEqual(Object.keys(answers).toSorted());
  });

  it.each(pages)('are answered as docs/%s.md says', async (page) => {
    expect(await run(commandsOf(page))).toMatch(answers[page] ?? /never/);
  });
});

it.each(pages)('docs/%s.md sets every variable that its commands use', (page) => {
  const script = commandsOf(page).join('\n');
  const used = [...script.matchAll(/\$([A-Z_]+)/g)].map(([, name = '']) => name);
  const known = new Set([...script.matchAll(/(?:^|\s)(?:export |for )?([A-Z_]+)(?:=| in )/gm)].map(([, name = '']) => name));
  expect(used.filter((name) => !known.has(name))).toEqual([]);
});
