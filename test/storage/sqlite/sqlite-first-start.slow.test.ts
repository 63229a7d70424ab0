import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { loadSecret } from '../../../src/storage/secrets/secret-file.ts';
import { openStores } from '../../_support/memory-stores.ts';

const starter = fileURLToPath(new URL('../start-first.ts', import.meta.url));
const run = promisify(execFile);

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolwharf-first-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('processes that start at the same time in an empty folder end with one secret and one database', async () => {
  const data = join(folder, 'data');
  const ids = Array.from({ length: 8 }, (_, index) => `s${index}`);
  // Late enough that all of them run by then.
  const beginning = String(Date.now() + 2_000);
  const ended = await Promise.all(ids.map((id) => run(process.execPath, [starter, data, id, beginning])));
  const secrets = new Set(ended.map(({ stdout }) => stdout));
  expect([...secrets]).toEqual([loadSecret(data, undefined)]);
  const registry = openStores({ file: join(data, 'toolwharf.db'), secret: [...secrets][0] ?? '' }).registry;
  const stored = await registry.listToolServers();
  expect(new Set(stored.map(({ key }) => key))).toEqual(new Set(ids.map((id) => `key of ${id}`)));
  await registry.close();
  expect(readdirSync(data).sort()).toEqual(['secret', 'toolwharf.db']);
});
