import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { program } from '../../_support/program.ts';
import { functionModule, toolsFolder } from '../../_support/tools-folder.ts';

const typed = `import { defineTool } from 'toolwharf';
import type { FunctionContext } from 'toolwharf';
import { z } from 'zod';
const greeting: string = 'Hello';
export const greet = defineTool({
  name: 'greet', description: 'Greets', parameters: z.object({ who: z.string() }),
  execute: ({ who }, { runId }: FunctionContext) => \`\${greeting} \${who} \${runId.length}\`,
});`;

/** What the program says until it has said this. */
async function said(output: NodeJS.ReadableStream, words: RegExp): Promise<string> {
  let text = '';
  for await (const chunk of output) {
    text += String(chunk);
    if (words.test(text)) return text;
  }
  throw new Error(`It ended without a word of ${String(words)}: ${text}`);
}

it('functions and hooks in a folder anywhere are there from the start of the program, in TypeScript and in threads', async () => {
  using folder = toolsFolder({
    'toolwharf.yaml': 'tools_dir: ./own\nhooks: [./hooks/mark.mjs]\n',
    'own/greet.ts': typed,
    'own/roll.js': functionModule('roll', {
      execute: '({ sides }) => sides',
      parameters: 'z.object({ sides: z.int().default(6) })',
      more: 'worker: true',
    }),
    'hooks/mark.mjs': `import { ToolError } from 'toolwharf'; export const afterTool = ({ result }) => ({ result, knows: typeof ToolError });`,
  });
  const environment = { PATH: process.env['PATH'], PORT: '0', OLLAMA_BASE_URLS: ';', LOG_FORMAT: 'json' };
  const child = spawn(process.execPath, [program], { cwd: folder.path, env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  try {
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(await said(child.stdout, /listens on/))?.[0] ?? '';
    const invoke = async (name: string, args: object): Promise<unknown> => {
      const answer = await fetch(`${url}/api/tools/${name}/invoke`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ arguments: args }),
      });
      return ((await answer.json()) as { result: unknown }).result;
    };
    expect(await invoke('greet', { who: 'Ada' })).toEqual({ result: 'Hello Ada 32', knows: 'function' });
    expect(await invoke('roll', {})).toEqual({ result: 6, knows: 'function' });
  } finally {
    child.kill();
    await ended;
  }
});

const careless = `import { defineTool } from 'toolwharf';
import { z } from 'zod';
import { connect } from 'node:net';
import { Duplex } from 'node:stream';
const make = (name, execute) => defineTool({ name, description: 'Leaves something behind', parameters: z.object({}), execute });
export default [
  make('promise', () => { void Promise.reject(new Error('left behind')); return 'done'; }),
  make('timer', () => { setTimeout(() => { throw new Error('left behind'); }, 1); return 'done'; }),
  make('word', () => { setTimeout(() => { throw 'left behind'; }, 1); return 'done'; }),
  make('connection', () => { connect(1, '127.0.0.1'); return 'done'; }),
  make('unreadable', () => {
    setTimeout(() => { throw Object.defineProperty(new Error('left behind'), 'stack', { get() { throw new Error('in the stack'); } }); }, 1);
    return 'done';
  }),
  defineTool({
    name: 'ended', description: 'Leaves a connection behind', parameters: z.object({}), timeoutMs: 200,
    execute: (_, { signal }) => new Promise(() => {
      const socket = new Duplex({ read() {}, write() {} });
      signal.addEventListener('abort', () => socket.destroy(signal.reason));
    }),
  }),
];`;

it('what a function has left behind and fails outside of every call is told in the log, and ends nothing', async () => {
  using folder = toolsFolder({ 'toolwharf.yaml': 'tools_dir: ./own\n', 'own/careless.mjs': careless });
  const environment = { PATH: process.env['PATH'], PORT: '0', OLLAMA_BASE_URLS: ';', LOG_FORMAT: 'json' };
  const child = spawn(process.execPath, [program], { cwd: folder.path, env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const lines = child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false }) as AsyncIterableIterator<string>;
  const heard = async (words: RegExp): Promise<string> => {
    for (let text = ''; ;) {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`It ended without a word of ${String(words)}: ${text}`);
      text += value;
      if (words.test(text)) return text;
    }
  };
  try {
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(await heard(/listens on/))?.[0] ?? '';
    const invoke = (name: string) =>
      fetch(`${url}/api/tools/${name}/invoke`, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } });
    expect((await invoke('promise')).status).toBe(200);
    expect(await heard(/left behind[^\n]*\n/)).toMatch(/careless\.mjs:7:\d+[^\n]*a promise failed without a handler/);
    for (const [name, words] of [
      ['timer', 'left behind'],
      ['word', 'left behind'],
      ['connection', 'ECONNREFUSED'],
      ['unreadable', '"module"'],
      ['ended', 'The tool took too long'],
    ] as const) {
      expect((await invoke(name)).status).toBe(200);
      const line = await heard(/the gateway continues[^\n]*\n/);
      expect(line).toContain(words);
      expect(line).toMatch(/"fault_id":"[^"]+","module":"[^"]*careless\.mjs"/);
    }
    expect((await invoke('timer')).status).toBe(200);
  } finally {
    child.kill();
    expect((await ended)[0]).toBe(0);
  }
});

it('the doctor reports to its end, whatever a module leaves behind when it is loaded', async () => {
  const more = `Promise.reject(new Error('left behind')); process.nextTick(() => { throw new Error('thrown later'); });`;
  using folder = toolsFolder({ 'toolwharf.yaml': 'tools_dir: ./own\n', 'own/hasty.mjs': `${more}\n${careless}` });
  const environment = { PATH: process.env['PATH'], PORT: '0', OLLAMA_BASE_URLS: ';' };
  const child = spawn(process.execPath, [program, 'doctor'], { cwd: folder.path, env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
  const report = await said(child.stdout, /broken[^\n]*\n$/);
  expect(report).toMatch(/Code of your own\n.*leaves behind: Error: left behind/s);
  expect(report).toMatch(/hasty\.mjs leaves behind: Error: thrown later/);
});

it('a folder that is not there stops the start with one line', async () => {
  using folder = toolsFolder({ 'toolwharf.yaml': 'tools_dir: ./gone\n' });
  const environment = { PATH: process.env['PATH'], PORT: '0', OLLAMA_BASE_URLS: ';' };
  const child = spawn(process.execPath, [program], { cwd: folder.path, env: environment, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(child, 'exit');
  expect(await said(child.stderr, /\n/)).toMatch(
    /^toolwharf: tools_dir: the folder .*gone does not exist; create it, or correct the path\.\n$/,
  );
  expect((await ended)[0]).toBe(1);
});
