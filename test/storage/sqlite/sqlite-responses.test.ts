import { selectFirst } from '../../../src/storage/sql/database.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { openSqlite } from '../../../src/storage/sqlite/sqlite-database.ts';
import type { SqliteDatabase } from '../../../src/storage/sqlite/sqlite-database.ts';
import { createResponseStore } from '../../../src/storage/sql/responses.ts';
import { describeResponseStore, storedResponse } from '../response-store-contract.ts';
import { temporaryFolders } from '../temporary-folder.ts';

const newFolder = temporaryFolders();
const open: SqliteDatabase[] = [];
afterEach(async () => {
  for (const connection of open.splice(0)) await connection.close();
});

function connect(file: string): SqliteDatabase {
  const connection = openSqlite({ file, now: Date.now });
  open.push(connection);
  return connection;
}

const now = () => 10_000;
const secret = 'a secret';

describeResponseStore('a file', (options) => createResponseStore(connect(join(newFolder(), 'toolwharf.db')), { secret, ...options }));
describeResponseStore('memory', (options) => createResponseStore(connect(':memory:'), { secret, ...options }));

describe('responses in SQLite', () => {
  it('are there after a restart with the same secret, and not with another one', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const before = connect(file);
    await createResponseStore(before, { secret, now }).add(storedResponse());
    await before.close();
    expect(await createResponseStore(connect(file), { secret, now }).find('ada', 'resp_a')).toEqual(storedResponse());
    const other = createResponseStore(connect(file), { secret: 'another one', now });
    expect(await other.find('ada', 'resp_a')).toBeUndefined();
    expect(await other.findHistory('ada', 'resp_a', { responses: 5, characters: 5_000 })).toEqual({ type: 'missing', id: 'resp_a' });
  });

  it('are encrypted, and leave nothing behind when they are deleted', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const connection = connect(file);
    const store = createResponseStore(connection, { secret, now });
    await store.add(storedResponse({ answer: 'zeppelin', isRunning: true }));
    await store.replaceRunning(storedResponse({ answer: 'zeppelin' }));
    expect(readFileSync(file).includes('zeppelin')).toBe(false);
    await store.delete('ada', 'resp_a');
    const rowsIn = async (table: string): Promise<number | undefined> =>
      (await connection.read(() => selectFirst<{ rows: number }>(`SELECT count(*) AS rows FROM ${table}`)))?.rows;
    const count = [await rowsIn('response_values'), await rowsIn('response_items')];
    expect(count).toEqual([0, 0]);
  });
});
