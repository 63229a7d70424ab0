import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { skipWithout } from '../../_support/missing.ts';

const sources = fileURLToPath(new URL('../../../src', import.meta.url));
const program = join(sources, 'toolwharf.js');
// By a name that is no constant, because plain JavaScript has no types.
const { carrier, isNewEnough } = (await import(join(sources, 'needed-node.js'))) as {
  carrier: string;
  isNewEnough: (version: string) => boolean;
};

it.each([
  ['24.21.0', true],
  ['22.19.0', true],
  ['23.0.0', true],
  ['22.18.9', false],
  ['20.20.2', false],
  ['9.0.0', false],
])('Node %s is new enough: %s', (version, expected) => {
  expect(isNewEnough(version)).toBe(expected);
});

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolwharf-node-'));
  // Says that this Node is an old one. What it starts is none.
  writeFileSync(
    join(folder, 'old.mjs'),
    `if (process.env.IS_OLD) { delete process.env.IS_OLD; Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.1.0' } }); }`,
  );
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Nodes of this machine that are really too old. */
const oldNodes = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((path) => !path.includes('node_modules'))
  .map((path) => join(path, 'node'))
  .filter((path) => existsSync(path) && !isNewEnough(execFileSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim()))
  .slice(0, 1);

interface Host {
  name: string;
  node: string;
  flags: () => string[];
}

const hosts: Host[] = [
  { name: 'a Node that says it is old', node: process.execPath, flags: () => ['--import', join(folder, 'old.mjs')] },
  ...oldNodes.map((node) => ({ name: `the old ${node}`, node, flags: () => [] })),
];

const environment = (): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  IS_OLD: 'yes',
  PORT: '0',
  TOOLWHARF_DATA_DIR: join(folder, 'data'),
  OLLAMA_BASE_URLS: ';',
});

/** Needs the package that carries a Node, which is there on most machines. */
const missing = existsSync(join(sources, '..', 'node_modules', carrier)) ? undefined : `npm has not brought ${carrier}`;

describe.each(hosts)('$name', ({ node, flags }) => {
  const run = (args: string[], path = program): Promise<{ code: unknown; stdout: string; stderr: string }> =>
    new Promise((resolve) => {
      execFile(node, [...flags(), path, ...args], { cwd: folder, env: environment() }, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : (error.code ?? error.signal), stdout, stderr }),
      );
    });

  it('goes on with the Node that npm brought, with its arguments and exit code', async (context) => {
    skipWithout(missing, context);
    expect(await run(['version'])).toEqual({ code: 0, stdout: '0.1.0\n', stderr: '' });
    expect(await run(['nothing'])).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining('no command "nothing"') });
  });

  it('passes SIGTERM on, and ends as the gateway ends', async (context) => {
    skipWithout(missing, context);
    const child = spawn(node, [...flags(), program], { cwd: folder, env: environment(), stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    for await (const piece of child.stdout) {
      text += String(piece);
      if (text.includes('listens on')) break;
    }
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0] ?? '';
    expect((await fetch(`${url}/health`)).status).toBe(200);
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    await expect(fetch(`${url}/health`)).rejects.toThrow('fetch failed');
  });

  it('says in one line what is missing where no Node came along', async () => {
    cpSync(sources, join(folder, 'src'), { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    const { code, stdout, stderr } = await run(['version'], join(folder, 'src', 'toolwharf.js'));
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(new RegExp(`^toolwharf needs Node\\.js 24 [^\\n]*npm install ${carrier}@24[^\\n]*\\n$`));
  });

  it('passes over a Node beside it that is too old as well', async () => {
    cpSync(sources, join(folder, 'src'), { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    const beside = join(folder, 'node_modules', carrier);
    mkdirSync(join(beside, 'bin'), { recursive: true });
    writeFileSync(join(beside, 'package.json'), '{"version":"18.0.0"}');
    symlinkSync(process.execPath, join(beside, 'bin', 'node'));
    expect((await run(['version'], join(folder, 'src', 'toolwharf.js'))).code).toBe(1);
    writeFileSync(join(beside, 'package.json'), '{"version":"24.21.0"}');
    expect(await run(['version'], join(folder, 'src', 'toolwharf.js'))).toMatchObject({ code: 0, stdout: '0.1.0\n' });
  });
});
