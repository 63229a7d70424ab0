import { execFile } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { program } from '../_support/program.ts';

const projectRoot = fileURLToPath(new URL('../..', import.meta.url));
const readPage = (page: string): string => readFileSync(join(projectRoot, page), 'utf8');
const readme = readPage('README.md');
const run = promisify(execFile);

/** The only code block of this language that contains this text. */
function blockWith(language: string, part: string, page = 'README.md'): string {
  const blocks = Array.from(readPage(page).matchAll(/^```(\w+)\n([\s\S]*?)^```/gm), ([, found = '', text = '']) => ({ found, text }));
  const [block, other] = blocks.filter(({ found, text }) => found === language && text.includes(part));
  if (block === undefined || other !== undefined) throw new Error(`${page} does not have exactly one block with ${part}`);
  return block.text;
}

let folder = '';
let started: ChildProcess[] = [];
let gateway: Announced;
let taskList: Announced;

interface Announced {
  port: string;
  output: string;
}

/** Resolves once it says at which port it listens and, for the gateway, has shown its key. */
async function start(args: readonly string[], announcement: RegExp): Promise<Announced> {
  const environment = { PATH: process.env['PATH'], PORT: '0', OLLAMA_BASE_URLS: ';', TOOLWHARF_DATA_DIR: join(folder, 'data') };
  const child = execFile(process.execPath, [...args], { cwd: folder, env: environment });
  started.push(child);
  const announced = Promise.withResolvers<Announced>();
  let output = '';
  child.stdout?.on('data', (chunk: string) => {
    output += chunk;
    const port = announcement.exec(output)?.[1];
    if (port !== undefined) announced.resolve({ port, output });
  });
  child.once('exit', () => announced.reject(new Error(output)));
  return announced.promise;
}

/** With the addresses and the key of this test in place of those in the README. */
const here = (text: string): string =>
  text
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${gateway.port}`)
    .replaceAll('127.0.0.1:8000', `127.0.0.1:${taskList.port}`)
    .replaceAll('sk-tw-…', /sk-tw-[\w-]{43}/.exec(gateway.output)?.[0] ?? '');

async function inShell(script: string): Promise<Record<string, unknown>> {
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', here(script)]);
  return JSON.parse(stdout) as Record<string, unknown>;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'toolwharf-readme-'));
  mkdirSync(join(folder, 'tools'));
  writeFileSync(join(folder, 'toolwharf.yaml'), `${/`(tools_dir: [^`]+)`/.exec(readme)?.[1]}\n`);
  writeFileSync(join(folder, 'tools/roll-dice.js'), blockWith('js', 'defineTool'));
  started = [];
  // The link with the key is printed before the line of the log.
  gateway = await start([program, 'serve'], /#key=[\s\S]*listens on http:\/\/[^:]+:(\d+)/);
  taskList = await start([join(projectRoot, 'docs/examples/task-list.js'), '0'], /listens on http:\/\/[^:]+:(\d+)/);
});
afterAll(async () => {
  for (const child of started) {
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    await exit;
  }
  rmSync(folder, { recursive: true, force: true });
});

it('answers its first question with a source', async () => {
  const { sources, choices } = await inShell(blockWith('sh', '/v1/chat/completions'));
  expect(sources).toHaveLength(1);
  expect(JSON.stringify(choices)).toContain('Asia/Tokyo');
});

it('registers its tool server, and answers with it', async () => {
  const { report } = await inShell(blockWith('sh', '/api/tool-servers'));
  expect(report).toMatchObject({ ok: true, info: { title: 'Tasks' }, renamed: [], omitted: [], warnings: [] });

  const question = blockWith('sh', '/v1/chat/completions').replace(
    /"content": "[^"]*"/,
    `"content": "${/Ask "([^"]+)"/.exec(readme)?.[1]}"`,
  );
  const answer = await inShell(question);
  expect(JSON.stringify(answer['choices'])).toContain('Water the plants');
  expect(answer).not.toHaveProperty('warnings');
});

it('prints an answer with the lines for the SDK on the page about clients', async () => {
  const args = ['--input-type=module', '--eval', here(blockWith('js', 'new OpenAI', 'docs/clients.md'))];
  const { stdout } = await run(process.execPath, args, { cwd: projectRoot });
  expect(stdout).toContain('Asia/Tokyo');
});

it('calls its function', async () => {
  const question = blockWith('sh', '/v1/chat/completions').replace(/"content": "[^"]*"/, '"content": "roll dice"');
  expect(JSON.stringify(await inShell(question))).toContain('roll_dice says');
});
