import { execute } from '../../../src/storage/sql/database.ts';
import { execFile } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { openSqlite } from '../../../src/storage/sqlite/sqlite-database.ts';
import type { SqliteDatabase } from '../../../src/storage/sqlite/sqlite-database.ts';
import { createSignInStore } from '../../../src/storage/sql/sign-ins.ts';
import { begunSignIn, describeSignInStore, signInBounds, testSignIn } from '../sign-in-store-contract.ts';
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

describeSignInStore('a file', () => createSignInStore(connect(join(newFolder(), 'toolwharf.db')), 'secret'));
describeSignInStore('memory', () => createSignInStore(connect(':memory:'), 'secret'));

describe('sign-ins in SQLite', () => {
  it('are there after a restart, hold nothing secret as text, and cannot be read with another secret', async () => {
    const folder = newFolder();
    const file = join(folder, 'toolwharf.db');
    const before = connect(file);
    const store = createSignInStore(before, 'secret');
    await store.add(testSignIn({ person: { name: 'CANARY-name' } }), signInBounds);
    await store.use('link', 2, begunSignIn);
    const contents = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'));
    expect([contents.some((content) => content.includes('mail')), contents.filter((content) => content.includes('CANARY'))]).toEqual([
      true,
      [],
    ]);
    await before.close();
    const after = connect(file);
    expect(await createSignInStore(after, 'secret').findBegun('state', 2)).toMatchObject({ begun: begunSignIn });
    expect(await createSignInStore(after, 'another').findBegun('state', 2)).toBeUndefined();
    expect(await createSignInStore(after, 'another').find('link', 2)).toBeUndefined();
  });

  it.each(['caller_id', 'server_id'])('cannot be read with another %s in its row', async (column) => {
    const connection = connect(':memory:');
    const store = createSignInStore(connection, 'secret');
    await store.add(testSignIn(), signInBounds);
    await store.use('link', 2, begunSignIn);
    await connection.write('sign_ins', () => execute(`UPDATE sign_ins SET ${column} = 'key/eve'`));
    expect([await store.find('link', 2), await store.findBegun('state', 2)]).toEqual([undefined, undefined]);
  });

  it('have a link and a state used once by two processes together', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const store = createSignInStore(connect(file), 'secret');
    const [count, bounds] = [20, { ...signInBounds, maxOfCaller: 100 }];
    for (let number = 0; number < count; number += 1) {
      await store.add(testSignIn({ id: `link ${number}` }), bounds);
      await store.add(testSignIn({ id: `used ${number}` }), bounds);
      await store.use(`used ${number}`, 2, { ...begunSignIn, state: `begun ${number}` });
    }
    const script = fileURLToPath(new URL('../use-sign-in.ts', import.meta.url));
    const run = async (): Promise<{ links: string[]; states: string[] }> =>
      JSON.parse((await promisify(execFile)(process.execPath, [script, file, String(count), String(Date.now() + 1_000)])).stdout) as never;
    const [one, other] = await Promise.all([run(), run()]);
    const all = Array.from({ length: count }, (_, number) => String(number)).toSorted();
    expect([...one.links, ...other.links].toSorted()).toEqual(all);
    expect([...one.states, ...other.states].toSorted()).toEqual(all);
  });
});
