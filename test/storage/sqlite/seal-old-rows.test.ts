import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import type { Registry, ToolServerRecord } from '../../../src/core/registry.ts';
import { createSqliteRegistry } from '../../../src/storage/sqlite/sqlite-registry.ts';
import { toolServerRecord } from '../records.ts';
import { temporaryFolders } from '../temporary-folder.ts';

const newFolder = temporaryFolders();

function openRegistry(file: string, secret = 'right'): Registry {
  const registry = createSqliteRegistry({ file, secret });
  onTestFinished(() => registry.close());
  return registry;
}

/** A database in which the first release wrote these in the clear, each of them more than once. */
async function oldDatabase(records: readonly ToolServerRecord[]): Promise<string> {
  const file = join(newFolder(), 'toolwharf.db');
  const registry = createSqliteRegistry({ file, secret: 'right' });
  await registry.replaceToolServers(records.map((record) => ({ ...record, extra: {} })));
  await registry.close();
  const database = new DatabaseSync(file);
  const update = database.prepare('UPDATE tool_servers SET record = ? WHERE id = ?');
  for (const length of [1, 3_000, 20_000, 2]) {
    for (const { headers: _headers, key: _key, ...rest } of records) {
      update.run(JSON.stringify({ ...rest, extra: { filler: 'x'.repeat(length), ...rest.extra } }), rest.id);
    }
  }
  database.close();
  expect(isClear(file)).toBe(true);
  return file;
}

const isClear = (file: string): boolean => readFileSync(file, 'latin1').includes('CANARY');

const secretive = ['a', 'b', 'c'].map((id) => toolServerRecord({ id, extra: { token: `CANARY-${id}` } }));

test('what is sealed later is nowhere in the file any more, older states included', async () => {
  const file = await oldDatabase(secretive);
  expect(await openRegistry(file).listToolServers()).toMatchObject(secretive);
  expect(isClear(file)).toBe(false);
});

test('a file that was sealed and could not be written anew is written anew at the next start', async () => {
  const file = await oldDatabase(secretive);
  const blocker = new DatabaseSync(file);
  onTestFinished(() => blocker.close());
  blocker.exec('BEGIN');
  const reading = blocker.prepare('SELECT id FROM tool_servers').iterate();
  reading.next();
  // Who reads an older state lets others write, and leaves it in the file.
  await openRegistry(file).listToolServers();
  expect(isClear(file)).toBe(true);
  reading.return?.();
  blocker.exec('COMMIT');
  await openRegistry(file).listToolServers();
  expect(isClear(file)).toBe(false);
});

test('nothing is sealed with a secret under which others cannot be read', async () => {
  const file = await oldDatabase([...secretive, toolServerRecord({ id: 'keyed', key: 'k' })]);
  const wrong = openRegistry(file, 'wrong');
  expect(await wrong.listToolServers()).toMatchObject([...secretive, { extra: { unreadable_secrets: ['key'] } }]);
  await wrong.close();
  expect(await openRegistry(file).listToolServers()).toMatchObject([...secretive, { key: 'k' }]);
  expect(isClear(file)).toBe(false);
});

/** `{name, value}` says at the top, too, what the value is. */
const labelled = { header: 'x-api-key', value: 'CANARY-value' };

test.each([
  ['at the top', { ...labelled, token: 'CANARY-token' }],
  ['alone', labelled],
  ['within config', { config: { ...labelled, password: 'CANARY-password' }, info: labelled }],
])('a value that its label makes a secret is sealed and read again: %s', async (_where, extra) => {
  const file = join(newFolder(), 'toolwharf.db');
  const record = toolServerRecord({ id: 'labelled', extra });
  await openRegistry(file).createToolServer(record);
  expect(isClear(file)).toBe(false);
  expect(await openRegistry(file).listToolServers()).toEqual([record]);
});
