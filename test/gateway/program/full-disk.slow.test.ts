import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { appendFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { skipWithout } from '../../_support/missing.ts';
import { program } from '../../_support/program.ts';
import { missingForSmallDisk, onSmallDisk } from '../../_support/small-disk.ts';
import { waitFor } from '../../_support/wait-for.ts';
import { temporaryFolders } from '../../storage/temporary-folder.ts';

const newFolder = temporaryFolders();
const key = 'sk-tw-fixed-administrator';

async function startOn(folder: string): Promise<{ url: string; child: ChildProcessByStdio<null, Readable, null>; output: () => string }> {
  const [name = '', ...words] = onSmallDisk(folder, { kilobytes: 16 * 1024 });
  const env = {
    PATH: process.env['PATH'],
    PORT: '0',
    TOOLWHARF_DATA_DIR: folder,
    OLLAMA_BASE_URLS: ';',
    TOOLWHARF_DEMO: 'true',
    TOOLWHARF_ADMIN_KEY: key,
    STORE_CHATS: 'true',
    LOG_FORMAT: 'json',
  };
  const child = spawn(name, [...words, process.execPath, program, 'serve'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  child.stdout.on('data', (piece) => (output += String(piece)));
  await waitFor(() => expect(output).toMatch(/listens on http:[^ ]+/));
  return { url: /listens on (http:[^ ]+)/.exec(output)?.[1] ?? '', child, output: () => output };
}

/** Until nothing more fits on its disk. */
function fill(file: string): void {
  for (const bytes of [64 * 1024, 4 * 1024]) {
    for (let isFull = false; !isFull;) {
      try {
        appendFileSync(file, Buffer.alloc(bytes));
      } catch {
        isFull = true;
      }
    }
  }
}

it('a gateway whose disk becomes full goes on answering, says what it cannot store, and stores again when there is room', async (context) => {
  const folder = newFolder();
  skipWithout(missingForSmallDisk(folder), context);
  const { url, child, output } = await startOn(folder);
  const onDisk = join(`/proc/${child.pid}/root`, folder);
  async function ask(route: string, body?: object): Promise<{ status: number; body: JsonObject }> {
    const [method, path] = route.split(' ');
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const answer = await fetch(`${url}${path}`, { method: method ?? '', headers, ...(body && { body: JSON.stringify(body) }) });
    return { status: answer.status, body: (await answer.json()) as JsonObject };
  }
  const chat = { model: 'demo', messages: [{ role: 'user', content: 'hello' }], store: true, tool_ids: [] };
  expect((await ask('GET /ready')).status).toBe(200);
  const before = await ask('POST /v1/chat/completions', chat);
  expect(before.body).not.toHaveProperty('store');

  const filler = join(onDisk, 'filler');
  fill(filler);
  const unstored = { store: false, warnings: [{ code: 'not_stored', message: expect.stringContaining('the database cannot be written') }] };
  const large = 'x'.repeat(200_000);
  const messages = [{ role: 'user', content: `hello ${large}` }];
  expect(await ask('POST /v1/chat/completions', { ...chat, messages })).toMatchObject({ status: 200, body: unstored });
  expect(await ask('POST /v1/responses', { model: 'demo', input: `hello ${large}`, tool_ids: [] })).toMatchObject({
    status: 200,
    body: unstored,
  });
  const refused = await ask('POST /v1/responses', { model: 'demo', input: large, background: true, tool_ids: [] });
  expect(refused).toMatchObject({ status: 503, body: { error: { message: expect.stringContaining('toolwharf.db cannot grow') } } });
  expect(JSON.stringify(refused)).not.toContain(folder);
  expect(await ask('GET /ready')).toMatchObject({ status: 503, body: { ready: false, reason: 'storage' } });
  expect(output()).toContain('toolwharf.db cannot grow: the disk is full');
  expect(output()).not.toContain('locked by another process');

  rmSync(filler);
  expect((await ask('GET /ready')).status).toBe(200);
  const after = await ask('POST /v1/chat/completions', { ...chat, messages });
  expect(after.body).not.toHaveProperty('store');
  for (const { body } of [before, after]) expect((await ask(`GET /v1/chat/completions/${String(body['id'])}`)).status).toBe(200);
});
