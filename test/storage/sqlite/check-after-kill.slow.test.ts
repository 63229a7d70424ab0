import { copyFileSync, openSync, readFileSync, renameSync, statSync, writeSync, closeSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { checkDatabase } from '../../../src/app/check-database.ts';
import { createStores, type Stores } from '../../../src/storage/open-stores.ts';
import { openSqlite, type SqliteDatabase } from '../../../src/storage/sqlite/sqlite-database.ts';
import { openStores } from '../../_support/memory-stores.ts';
import { toolServerRecord } from '../registry-contract.ts';
import { temporaryFolders } from '../temporary-folder.ts';

const newFolder = temporaryFolders();
const open: Stores[] = [];
afterEach(async () => {
  for (const stores of open.splice(0)) await stores.registry.close();
});

let clock = 0;
const damaged = { code: 'storage_unavailable', message: expect.stringContaining('is damaged') };
/** No file is small, so none is read whole when it is opened. */
function openLarge(file: string): Stores & { database: SqliteDatabase } {
  const database = openSqlite({ file, checkBytes: 0, now: () => (clock += 2_000) });
  const stores = createStores(database, { secret: 's' });
  open.push(stores);
  return { ...stores, database };
}

/** A large value, whose pages nothing else is on, and which nothing reads. */
async function fill({ registry }: Stores): Promise<void> {
  await registry.createToolServer(toolServerRecord());
  await registry.writeFact('large', 'x'.repeat(400_000));
}

/** What a process that was killed leaves: the file as it was, and changes in the log. */
async function killedFile(): Promise<string> {
  const file = join(newFolder(), 'toolwharf.db');
  const first = openStores({ file, secret: 's' });
  await fill(first);
  await first.registry.close();
  const second = openStores({ file, secret: 's' });
  await second.registry.writeFact('seen', 'yes');
  const killed = join(newFolder(), 'toolwharf.db');
  for (const end of ['', '-wal']) copyFileSync(`${file}${end}`, `${killed}${end}`);
  await second.registry.close();
  expect(statSync(`${killed}-wal`).size).toBeGreaterThan(0);
  return killed;
}

/** Overwrites the links between the pages of the large value. */
function damage(file: string): void {
  const page = 4_096;
  const bytes = readFileSync(file);
  const handle = openSync(file, 'r+');
  const isFull = (offset: number): boolean => bytes.subarray(offset + 4, offset + page).every((byte) => byte === 0x78);
  for (let offset = 0; offset < bytes.length; offset += page) if (isFull(offset)) writeSync(handle, Buffer.alloc(4, 0xff), 0, 4, offset);
  closeSync(handle);
}

describe('a large database', () => {
  it('of a process that was killed is used at once, and refused once damage is found', async () => {
    const file = await killedFile();
    copyFileSync(file, `${file}.backup`);
    copyFileSync(`${file}-wal`, `${file}.backup-wal`);
    damage(file);
    const { registry, database } = openLarge(file);
    expect(await registry.readFact('seen')).toBe('yes');
    await expect(database.checkAfterKill(checkDatabase)).rejects.toMatchObject(damaged);
    await expect(registry.readFact('seen')).rejects.toMatchObject(damaged);
    await expect(database.requireWritable()).rejects.toMatchObject(damaged);
    renameSync(`${file}.backup`, file);
    renameSync(`${file}.backup-wal`, `${file}-wal`);
    expect(await registry.readFact('seen')).toBe('yes');
    await database.requireWritable();
  });

  it('of a process that was killed stays in use when all of it can be read', async () => {
    const { registry, database } = openLarge(await killedFile());
    await database.checkAfterKill(checkDatabase);
    expect(await registry.readFact('seen')).toBe('yes');
  });

  it('is read as a whole after damage was met, as a small one is', async () => {
    const file = await killedFile();
    const { registry } = openLarge(file);
    await registry.readFact('seen');
    await registry.close();
    damage(file);
    const again = openLarge(file);
    expect(await again.registry.readFact('seen')).toBe('yes');
    await expect(again.registry.readFact('large')).rejects.toMatchObject(damaged);
    await expect(again.registry.readFact('seen')).rejects.toMatchObject(damaged);
  });
});
