import { execute } from '../../../src/storage/sql/database.ts';
import { execFile } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { limits } from '../../../src/core/limits.ts';
import { openSqlite } from '../../../src/storage/sqlite/sqlite-database.ts';
import type { SqliteDatabase } from '../../../src/storage/sqlite/sqlite-database.ts';
import { createCredentialStore } from '../../../src/storage/sql/credentials.ts';
import { describeCredentialStore, secretOf, testCredential, testSignIn } from '../credential-store-contract.ts';
import { temporaryFolders } from '../temporary-folder.ts';

const newFolder = temporaryFolders();
const open: SqliteDatabase[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()));
});

function connect(file: string): SqliteDatabase {
  const connection = openSqlite({ file, now: Date.now });
  open.push(connection);
  return connection;
}

describeCredentialStore('a file', () => createCredentialStore(connect(join(newFolder(), 'toolwharf.db')), 'secret'));
describeCredentialStore('memory', () => createCredentialStore(connect(':memory:'), 'secret'));

describe('credentials in SQLite', () => {
  it('are there after a restart, stand in no file as text, and cannot be read with another secret', async () => {
    const folder = newFolder();
    const file = join(folder, 'toolwharf.db');
    const before = connect(file);
    await createCredentialStore(before, 'secret').save('key/ada', 'mail', testCredential('CANARY-KEY'));
    const contents = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'));
    expect([contents.length > 0, contents.filter((content) => content.includes('CANARY'))]).toEqual([true, []]);
    await before.close();
    const after = connect(file);
    expect((await createCredentialStore(after, 'secret').find('key/ada', 'mail'))?.credential).toEqual(testCredential('CANARY-KEY'));
    expect(await createCredentialStore(after, 'another').find('key/ada', 'mail')).toBeUndefined();
    expect(await createCredentialStore(after, 'another').listOf('key/ada')).toEqual(new Map());
  });

  it('cannot be read in the row of another caller or server', async () => {
    const connection = connect(':memory:');
    const store = createCredentialStore(connection, 'secret');
    await store.save('key/ada', 'mail', testCredential('a'));
    const copy = `INSERT INTO credentials (caller_id, server_id, value) SELECT ?, ?, value FROM credentials WHERE caller_id = 'key/ada' AND server_id = 'mail'`;
    for (const [caller, server] of [
      ['key/eve', 'mail'],
      ['key/ada', 'files'],
    ] as const) {
      await connection.write('credentials', () => execute(copy, caller, server));
      expect(await store.find(caller, server)).toBeUndefined();
    }
  });

  it('are refreshed by one of two processes alone', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const store = createCredentialStore(connect(file), 'secret');
    const servers = Array.from({ length: 20 }, (_, number) => `server ${number}`);
    for (const server of servers) await store.save('key/ada', server, testSignIn('old'));
    const script = fileURLToPath(new URL('../refresh-credentials.ts', import.meta.url));
    const beginning = String(Date.now() + 1_000);
    const run = async (name: string): Promise<string[]> =>
      JSON.parse((await promisify(execFile)(process.execPath, [script, file, name, String(servers.length), beginning])).stdout) as string[];
    const [one, other] = await Promise.all([run('one'), run('other')]);
    expect([...one, ...other].toSorted()).toEqual(servers.toSorted());
    for (const server of servers)
      expect(secretOf((await store.find('key/ada', server))?.credential)).toBe(`new from ${one.includes(server) ? 'one' : 'other'}`);
  });

  it('are bounded for a key with all its people; the one too many is refused, and nobody loses theirs', async () => {
    const connection = connect(':memory:');
    const store = createCredentialStore(connection, 'secret');
    const many = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
      INSERT INTO credentials (caller_id, server_id, value) SELECT 'key/' || i, 'mail', 'x' FROM n`;
    await connection.write('credentials', () => execute(many, limits.credentialsPerKey - 1));
    await store.save('key/ada', 'mail', testCredential('a'));
    await expect(store.save('key/eve', 'mail', testCredential('b'))).rejects.toMatchObject({ code: 'conflict' });
    await store.save('key/ada', 'mail', testCredential('c'));
    await store.save('key2/eve', 'mail', testCredential('d'));
    expect(secretOf((await store.find('key/ada', 'mail'))?.credential)).toBe('c');
    expect(await store.find('key/eve', 'mail')).toBeUndefined();
  });
});
