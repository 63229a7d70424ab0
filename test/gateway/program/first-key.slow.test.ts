import { execFile } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { program } from '../../_support/program.ts';
import { openStores } from '../../_support/memory-stores.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolwharf-first-key-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const environment = () => ({ PATH: process.env['PATH'], HOST: '0.0.0.0', TOOLWHARF_DATA_DIR: folder, OLLAMA_BASE_URLS: ';' });

async function countKeys(): Promise<number> {
  const registry = openStores({
    file: join(folder, 'toolwharf.db'),
    secret: readFileSync(join(folder, 'secret'), 'utf8').trim(),
  }).registry;
  const keys = await registry.listKeys();
  await registry.close();
  return keys.length;
}

it('a start that cannot listen neither shows nor makes the first key', async () => {
  const holder = createServer().listen(0, '0.0.0.0');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  const start = promisify(execFile)(process.execPath, [program], { cwd: folder, env: { ...environment(), PORT: String(port) } });
  const { code, stdout, stderr } = await start.then(
    () => ({ code: 0, stdout: '', stderr: '' }),
    (error: { code: unknown; stdout: string; stderr: string }) => error,
  );
  holder.close();
  expect([code, stderr]).toEqual([1, expect.stringContaining(`port ${port} is taken`)]);
  expect(stdout).not.toContain('sk-tw-');
  expect(await countKeys()).toBe(0);
});

interface Started {
  child: ChildProcess;
  /** Everything that the start has said. */
  output: () => string;
  port: string;
  key: string;
}

/** Until it has said where it listens, and shown a key. */
async function startGateway(settings: Record<string, string>): Promise<Started> {
  const child = execFile(process.execPath, [program], { cwd: folder, env: { ...environment(), PORT: '0', ...settings } });
  const shown = Promise.withResolvers<{ port: string; key: string }>();
  let text = '';
  child.stdout?.on('data', (piece: string) => {
    text += piece;
    const key = /sk-tw-[\w-]{43}/.exec(text)?.[0];
    const port = /listens on http:\/\/[^:]+:(\d+)/.exec(text)?.[1];
    if (key !== undefined && port !== undefined) shown.resolve({ key, port });
  });
  child.once('exit', () => shown.reject(new Error(text)));
  return { child, output: () => text, ...(await shown.promise) };
}

it('a start that listens shows the first key once, and it works', async () => {
  const { child, port, key } = await startGateway({});
  try {
    const ask = (headers: Record<string, string>) => fetch(`http://127.0.0.1:${port}/api/keys`, { headers });
    expect((await ask({})).status).toBe(401);
    expect((await ask({ 'x-api-key': key })).status).toBe(200);
  } finally {
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  expect(await countKeys()).toBe(1);
});

const page = readFileSync(new URL('../../../docs/api.md', import.meta.url), 'utf8');
/** The commands of the page on the API that lead from an open gateway to a key of a user. */
const outsidersPath = /^ADMIN=[\s\S]*?(?=^```)/m.exec(page)?.[0] ?? '';

it('an open gateway shows the key of this start as a link, again when its last key is deleted, and the commands of the documentation work with it', async () => {
  const { child, output, port, key } = await startGateway({ HOST: '127.0.0.1', TOOLWHARF_DEMO: 'false' });
  try {
    const link = `http://127.0.0.1:${port}/#key=${key}`;
    expect(output().split(link)).toHaveLength(2);
    const script = `${outsidersPath.replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)}\necho " $ADMIN $ADA"`;
    const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { env: { ...process.env, KEY: key } });
    const [admin = '', user = ''] = stdout.trim().split(' ').slice(-2);
    const ask = (path: string, sent: string, method = 'GET') =>
      fetch(`http://127.0.0.1:${port}${path}`, { method, headers: { 'x-api-key': sent } });
    const { data } = (await (await ask('/api/keys', admin)).json()) as { data: { id: string; role: string }[] };
    expect(data.map(({ role }) => role).toSorted()).toEqual(['admin', 'user']);
    expect((await ask('/api/keys', user)).status).toBe(403);
    for (const { id } of data.toSorted((a) => (a.role === 'user' ? -1 : 1))) await ask(`/api/keys/${id}`, admin, 'DELETE');
    await expect.poll(() => output().split(link).length).toBe(3);
  } finally {
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
});
