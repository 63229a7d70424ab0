import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { program } from '../../_support/program.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolwharf-key-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const options = (settings: Record<string, string> = {}) => ({
  cwd: folder,
  env: { PATH: process.env['PATH'], PORT: '0', TOOLWHARF_DATA_DIR: folder, OLLAMA_BASE_URLS: ';', ...settings },
});

const makeKey = () => promisify(execFile)(process.execPath, [program, 'key'], options());

/** Until it listens. The caller ends it. */
async function startGateway(): Promise<{ url: string; end: () => Promise<void> }> {
  const child = execFile(process.execPath, [program], options());
  const listening = Promise.withResolvers<string>();
  let text = '';
  child.stdout?.on('data', (piece: string) => {
    text += piece;
    const [, url] = /listens on (http:[^\s"]+)/.exec(text) ?? [];
    if (url !== undefined) listening.resolve(url);
  });
  child.once('exit', () => listening.reject(new Error(text)));
  return {
    url: await listening.promise,
    async end() {
      child.kill();
      await once(child, 'exit');
    },
  };
}

async function listsKeys(url: string, key: string): Promise<number> {
  const { status } = await fetch(`${url}/api/keys`, { headers: { 'x-api-key': key } });
  return status;
}

it('prints only an administrator key to stdout, which the next start accepts', async () => {
  const { stdout, stderr } = await makeKey();
  expect(stdout).toMatch(/^sk-tw-[\w-]{43}\n$/);
  expect(stderr).toMatch(/shown only this once.*\/#key=sk-tw-/);
  expect(stderr).toContain('From now on every request needs a key');
  const gateway = await startGateway();
  try {
    expect(await listsKeys(gateway.url, stdout.trim())).toBe(200);
    expect(await listsKeys(gateway.url, 'sk-tw-other')).toBe(401);
  } finally {
    await gateway.end();
  }
});

it('makes a key that a running gateway accepts at once', async () => {
  const first = (await makeKey()).stdout.trim();
  const gateway = await startGateway();
  try {
    const { stdout, stderr } = await makeKey();
    expect(stderr).not.toContain('From now on');
    expect(await listsKeys(gateway.url, stdout.trim())).toBe(200);
    expect(await listsKeys(gateway.url, first)).toBe(200);
  } finally {
    await gateway.end();
  }
});
