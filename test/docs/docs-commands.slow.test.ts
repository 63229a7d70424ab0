import { execFile } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { program } from '../_support/program.ts';

const read = (page: string): string => readFileSync(new URL(`../../docs/${page}.md`, import.meta.url), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'toolwharf-docs-'));
const environment = { PATH: process.env['PATH'], HOST: '127.0.0.1', PORT: '0', TOOLWHARF_DATA_DIR: join(folder, 'data') };
const running: ChildProcess[] = [];
let gateway: Started;
let clock: Started;

interface Started {
  port: string;
  key: string;
}

/** Until it says where it listens. */
async function start(command: string, settings: Record<string, string> = {}): Promise<Started> {
  const child = execFile(process.execPath, [program, command], { cwd: folder, env: { ...environment, ...settings } });
  running.push(child);
  const shown = Promise.withResolvers<Started>();
  let text = '';
  const listen = (piece: string): void => {
    text += piece;
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

beforeAll(async () => {
  writeFileSync(join(folder, 'toolwharf.yaml'), 'tools_dir: ./tools\n');
  // Modules as the pages show them, under the names in their first lines.
  for (const module of ['functions-and-hooks', 'approvals'].flatMap((page) => blocks(read(page), 'js'))) {
    const name = /^\/\/ (tools\/[\w-]+\.js)\n/.exec(module)?.[1];
    if (name === undefined) continue;
    mkdirSync(join(folder, dirname(name)), { recursive: true });
    writeFileSync(join(folder, name), module);
  }
  clock = await start('time-server');
  gateway = await start('serve', { TOOLWHARF_DEMO: 'true', OLLAMA_BASE_URLS: ';' });
});
afterAll(async () => {
  for (const child of running) {
    const exit = once(child, 'exit');
    if (child.kill('SIGTERM')) await exit;
  }
  rmSync(folder, { recursive: true, force: true });
});

/** With the addresses of this test in the place of those in the text. */
function here(text: string): string {
  return text.replaceAll('127.0.0.1:8080', `127.0.0.1:${gateway.port}`).replaceAll('127.0.0.1:8000', `127.0.0.1:${clock.port}`);
}

/** Runs commands as one script in which every HTTP status from 400 on is an error. What they print. */
async function run(commands: readonly string[]): Promise<string> {
  const [variables = ''] = blocks(read('api'), 'sh');
  const strict = 'curl() { command curl --fail-with-body "$@"; }';
  const script = [strict, here(variables), ...commands.map(here)].join('\n');
  const env = { ...process.env, KEY: gateway.key };
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder, env });
  return stdout;
}

const commandsOf = (page: string): string[] => blocks(read(page), 'sh').filter((block) => block.includes('$U'));

/** The only block of JavaScript on a page that holds this text, as a module in the folder. Packages are those of the gateway. */
function moduleOf(page: string, part: string): string {
  const [block = ''] = blocks(read(page), 'js').filter((text) => text.includes(part));
  const path = join(folder, `${page}.mjs`);
  writeFileSync(path, here(block).replace(`'jose'`, JSON.stringify(import.meta.resolve('jose'))));
  return path;
}

it('the socket of the page on browsers answers in Node too', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [moduleOf('browser-tools', 'new WebSocket')]);
  expect(stdout).toContain('time');
});

it('a tool server verifies a session token as the page says', async () => {
  const { promise: seen, resolve } = Promise.withResolvers<IncomingMessage>();
  const document = { openapi: '3.1.0', info: { title: 'Who', version: '1' }, paths: { '/who': { get: { operationId: 'who' } } } };
  const server = createServer((request, response) => {
    if (request.url === '/who') resolve(request);
    response.setHeader('content-type', 'application/json').end(JSON.stringify(request.url === '/who' ? {} : document));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  await run([
    `curl -s $U/api/tool-servers -H "$J" -H "x-api-key: $KEY" -d '{"url": "http://${address}", "auth_type": "session", "config": {"default": false}}'`,
    `curl -s $U/api/tools/who/invoke -H "$J" -d '{"arguments": {}}'`,
  ]);
  const path = moduleOf('openapi-tools', 'jwtVerify');
  writeFileSync(path, readFileSync(path, 'utf8').replace('127.0.0.1:9000', address));
  const { findUser } = (await import(path)) as { findUser: (request: IncomingMessage) => Promise<string> };
  expect(await findUser(await seen)).toBe('local');
  server.close();
});

it('the commands on the pages are answered as the pages say', async () => {
  expect(await run(commandsOf('openapi-tools'))).toMatch(/"id":"clock"[\s\S]*TOOL:clock\/[\s\S]*"sources"/);
  expect(await run(commandsOf('approvals'))).toMatch(/"approval":[\s\S]*A small pizza is on its way/);
  expect(await run(commandsOf('presets'))).toMatch(/"id":"clerk"[\s\S]*"model":"clerk"[\s\S]*"sources"[\s\S]*"id":"titles"/);
  expect((await run(commandsOf('modes'))).match(/"sources":/g)).toHaveLength(4);
  expect(await run(commandsOf('functions-and-hooks'))).toMatch(/TOOL:roll_dice[\s\S]*"result":\[/);
  expect(await run(commandsOf('mcp'))).toContain('"name":"roll_dice"');
  expect(await run(commandsOf('runs-and-events'))).toMatch(/"type":"run\.end"[\s\S]*"next":/);
  // The last one, because keys end the open gateway.
  expect(await run(commandsOf('api'))).toMatch(/"sources":[\s\S]*"result":[\s\S]*"object":"list"/);
});

it('the commands on the page about people are answered as it says', async () => {
  gateway = await start('serve', { TOOLWHARF_DEMO: 'true', OLLAMA_BASE_URLS: ';', TOOLWHARF_DATA_DIR: join(folder, 'people') });
  const administrator = `ADMIN=$KEY; curl -s $U/api/keys -H "$J" -H "x-api-key: $ADMIN" -d '{"name": "me", "role": "admin"}'`;
  expect(await run([administrator, ...commandsOf('people')])).toMatch(
    /"tokens_per_day":200000[\s\S]*"chat\.completion"[\s\S]*\{"data":\[\],"next":null\}[\s\S]*"state":"connected"[\s\S]*"id":"ada","deleted":true/,
  );
});
