import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { functionModule, toolsFolder } from '../_support/tools-folder.ts';

const program = fileURLToPath(new URL('../../src/toolwharf.js', import.meta.url));

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

test('functions and hooks in a folder anywhere are there from the start of the program, in TypeScript and in threads', async () => {
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

test('a promise that a function has left behind is told in the log, and ends nothing', async () => {
  using folder = toolsFolder({
    'toolwharf.yaml': 'tools_dir: ./own\n',
    'own/careless.js': functionModule('careless', { execute: `() => { void Promise.reject(new Error('left behind')); return 'done'; }` }),
  });
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
    const invoke = () =>
      fetch(`${url}/api/tools/careless/invoke`, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } });
    expect((await invoke()).status).toBe(200);
    expect(await heard(/left behind[^\n]*\n/)).toMatch(/careless\.js:3:\d+[^\n]*a promise failed that nobody waited for/);
    expect((await invoke()).status).toBe(200);
  } finally {
    child.kill();
    await ended;
  }
});

test('a folder that is not there stops the start with one line', async () => {
  using folder = toolsFolder({ 'toolwharf.yaml': 'tools_dir: ./gone\n' });
  const environment = { PATH: process.env['PATH'], PORT: '0', OLLAMA_BASE_URLS: ';' };
  const child = spawn(process.execPath, [program], { cwd: folder.path, env: environment, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(child, 'exit');
  expect(await said(child.stderr, /\n/)).toMatch(/^toolwharf: tools_dir: there is no folder .*gone; create it, or correct the path\.\n$/);
  expect((await ended)[0]).toBe(1);
});
