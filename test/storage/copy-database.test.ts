import { expect, it, onTestFinished } from 'vitest';
import { copiedTables, copyDatabase, requireComplete } from '../../src/storage/copy-database.ts';
import { createStores } from '../../src/storage/open-stores.ts';
import { selectAll } from '../../src/storage/sql/database.ts';
import { openSqlite, type SqliteDatabase } from '../../src/storage/sqlite/sqlite-database.ts';

const noteOf = (id: string) => ({ id, callerId: 'ada', value: `value of ${id}`, expires: 9e15 });

function open(): SqliteDatabase {
  const database = openSqlite({ file: ':memory:', now: Date.now });
  onTestFinished(() => database.close());
  return database;
}

it('every table is copied, but for those of running gateways and the words of chats', async () => {
  const sql = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'chat_words%' ORDER BY name`;
  const tables = await open().read(() => selectAll<{ name: string }>(sql));
  expect(copiedTables.map(({ name }) => name).toSorted()).toEqual(tables.map(({ name }) => name).filter((name) => name !== 'replicas'));
});

it('a copy that was interrupted begins anew, and one into a database with data is refused', async () => {
  const [source, target] = [open(), open()];
  const secret = 'a secret of tests';
  const stores = createStores(source, { secret });
  await stores.registry.writeFact('bundled', 'yes');
  for (let index = 0; index < 120; index += 1)
    await stores.noteStores.state.save(noteOf(`note ${index}`), { maxNotes: 1_000, maxCharacters: 1e6, time: 0 });
  let left = 27;
  const cut: SqliteDatabase = {
    ...target,
    write(store, script, queued) {
      left -= 1;
      return left > 0 ? target.write(store, script, queued) : Promise.reject(new Error('killed'));
    },
  };
  await expect(copyDatabase(source, cut, () => undefined)).rejects.toThrow('killed');
  await expect(requireComplete(target)).rejects.toThrow('copy that was interrupted');
  await copyDatabase(source, target, () => undefined);
  await requireComplete(target);
  const copied = createStores(target, { secret });
  expect(await copied.noteStores.state.find('note 119', 1)).toBe('value of note 119');
  expect(await copied.registry.readFact('bundled')).toBe('yes');
  await expect(copyDatabase(source, target, () => undefined)).rejects.toMatchObject({ code: 'conflict' });
  // What comes after the copy has numbers of its own.
  await copied.noteStores.state.save(noteOf('new'), { maxNotes: 1_000, maxCharacters: 1e6, time: 0 });
  expect(await copied.noteStores.state.find('new', 1)).toBe('value of new');
});
