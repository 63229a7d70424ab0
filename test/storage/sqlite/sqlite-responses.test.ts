import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createDatabaseConnection } from '../../../src/storage/sqlite/connection/database-connection.ts';
import type { DatabaseConnection } from '../../../src/storage/sqlite/connection/database-connection.ts';
import { createSqliteResponses } from '../../../src/storage/sqlite/sqlite-responses.ts';
import { describeResponseStore, storedResponse } from '../response-store-contract.ts';
import { temporaryFolders } from '../temporary-folder.ts';

const newFolder = temporaryFolders();
const open: DatabaseConnection[] = [];
afterEach(async () => {
  for (const connection of open.splice(0)) await connection.close();
});

function connect(file: string): DatabaseConnection {
  const connection = createDatabaseConnection({ file, now: Date.now });
  open.push(connection);
  return connection;
}

const now = () => 10_000;
const secret = 'a secret';

describeResponseStore('a file', (options) => createSqliteResponses(connect(join(newFolder(), 'toolwharf.db')), { secret, ...options }));
describeResponseStore('memory', (options) => createSqliteResponses(connect(':memory:'), { secret, ...options }));

describe('responses in SQLite', () => {
  it('are there after a restart with the same secret, and not with another one', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const before = connect(file);
    await createSqliteResponses(before, { secret, now }).add(storedResponse());
    await before.close();
    expect(await createSqliteResponses(connect(file), { secret, now }).find('ada', 'resp_a')).toEqual(storedResponse());
    const other = createSqliteResponses(connect(file), { secret: 'another one', now });
    expect(await other.find('ada', 'resp_a')).toBeUndefined();
    expect(await other.findHistory('ada', 'resp_a', { responses: 5, characters: 5_000 })).toEqual({ type: 'missing', id: 'resp_a' });
  });

  it('are encrypted, and leave nothing behind when they are deleted', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const connection = connect(file);
    const store = createSqliteResponses(connection, { secret, now });
    await store.add(storedResponse({ answer: 'zeppelin', isRunning: true }));
    await store.replaceRunning(storedResponse({ answer: 'zeppelin' }));
    expect(readFileSync(file).includes('zeppelin')).toBe(false);
    await store.delete('ada', 'resp_a');
    const count = await connection.read((database) =>
      ['response_values', 'response_items'].map((table) => database.prepare(`SELECT count(*) AS rows FROM ${table}`).get()?.['rows']),
    );
    expect(count).toEqual([0, 0]);
  });
});
