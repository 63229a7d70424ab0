import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { GrantStore } from '../../../src/core/stores/grant-store.ts';
import { execute } from '../../../src/storage/sql/database.ts';
import { createGrantStore } from '../../../src/storage/sql/grants.ts';
import { openSqlite } from '../../../src/storage/sqlite/sqlite-database.ts';
import type { SqliteDatabase } from '../../../src/storage/sqlite/sqlite-database.ts';
import { describeGrantStore, grantBounds, testGrant } from '../grant-store-contract.ts';
import { temporaryFolders } from '../temporary-folder.ts';

const newFolder = temporaryFolders();
const open: SqliteDatabase[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((database) => database.close()));
});

function connect(file: string): SqliteDatabase {
  const database = openSqlite({ file, now: Date.now });
  open.push(database);
  return database;
}

const storeOf = (database: SqliteDatabase, secret = 'secret'): GrantStore => createGrantStore(database, { secret, now: Date.now });

describeGrantStore('a file', (now) => createGrantStore(connect(join(newFolder(), 'toolwharf.db')), { secret: 'secret', now }));
describeGrantStore('memory', (now) => createGrantStore(connect(':memory:'), { secret: 'secret', now }));

describe('grants in SQLite', () => {
  it('stand in no file as text, and cannot be read with another secret', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const before = connect(file);
    await storeOf(before).save(testGrant({ value: { client_name: 'CANARY-name', client_secret: 'CANARY-secret' } }), grantBounds);
    await before.close();
    expect(readFileSync(file).includes('CANARY')).toBe(false);
    expect(await storeOf(connect(file)).find('refresh', 'token', 2)).toMatchObject({ value: { client_name: 'CANARY-name' } });
    expect(await storeOf(connect(file), 'another secret').find('refresh', 'token', 2)).toBeUndefined();
  });

  it('give nothing of a row that was made another caller’s, client’s or grant’s', async () => {
    for (const column of ['caller_id', 'client_id', 'grant_id']) {
      const database = connect(':memory:');
      const store = storeOf(database);
      await store.save(testGrant(), grantBounds);
      expect(await store.find('refresh', 'token', 2)).toBeDefined();
      await database.write('grants', () => execute(`UPDATE grant_records SET ${column} = 'eve'`));
      expect(await store.find('refresh', 'token', 2)).toBeUndefined();
    }
  });
});
