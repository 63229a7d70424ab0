import { execute } from '../../../src/storage/sql/database.ts';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { RegisteredClient } from '../../../src/core/sign-in/oauth-clients.ts';
import { openSqlite } from '../../../src/storage/sqlite/sqlite-database.ts';
import type { SqliteDatabase } from '../../../src/storage/sqlite/sqlite-database.ts';
import { createOAuthClientStore, oauthClients } from '../../../src/storage/sql/oauth-clients.ts';
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

const place = { issuer: 'https://accounts.test', redirectUri: 'https://chat.test/oauth/callback' };
const client = (id: string): RegisteredClient => ({ id, secret: `CANARY of ${id}`, method: 'client_secret_basic', expires: 5 });

describe('registrations with authorization servers in SQLite', () => {
  it('are one for each issuer and redirect address: the first, for every process', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const [one, other] = [createOAuthClientStore(connect(file), 'secret'), createOAuthClientStore(connect(file), 'secret')];
    expect(await Promise.all([one.findOrAdd(place, client('a')), other.findOrAdd(place, client('b'))])).toEqual([client('a'), client('a')]);
    expect(await other.find(place)).toEqual(client('a'));
    expect(await one.find({ ...place, issuer: 'https://other.test' })).toBeUndefined();
    expect(await one.find({ ...place, redirectUri: 'https://other.test' })).toBeUndefined();
  });

  it('are forgotten unless there is another one by now', async () => {
    const store = createOAuthClientStore(connect(':memory:'), 'secret');
    await store.findOrAdd(place, client('a'));
    await store.delete(place, 'b');
    expect(await store.find(place)).toEqual(client('a'));
    await store.delete(place, 'a');
    expect([await store.find(place), await store.findOrAdd(place, client('b'))]).toEqual([undefined, client('b')]);
  });

  it('stand in no file as text, and give way to a new one where they cannot be decrypted', async () => {
    const folder = newFolder();
    const connection = connect(join(folder, 'toolwharf.db'));
    await createOAuthClientStore(connection, 'secret').findOrAdd(place, client('a'));
    const contents = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'));
    expect([
      contents.some((content) => content.includes('accounts.test')),
      contents.filter((content) => content.includes('CANARY')),
    ]).toEqual([true, []]);
    const another = createOAuthClientStore(connection, 'another');
    expect([await another.find(place), await another.findOrAdd(place, client('b'))]).toEqual([undefined, client('b')]);
    await connection.write('oauth_clients', () => execute(`UPDATE oauth_clients SET issuer = 'https://evil.test'`));
    expect(await another.find({ ...place, issuer: 'https://evil.test' })).toBeUndefined();
  });

  it('are bounded', async () => {
    const connection = connect(':memory:');
    const store = createOAuthClientStore(connection, 'secret');
    for (let number = 0; number <= oauthClients; number += 1)
      await store.findOrAdd({ ...place, issuer: `https://${number}.test` }, client(String(number)));
    expect(await store.find({ ...place, issuer: 'https://0.test' })).toBeUndefined();
    expect(await store.find({ ...place, issuer: `https://${oauthClients}.test` })).toEqual(client(String(oauthClients)));
  });
});
