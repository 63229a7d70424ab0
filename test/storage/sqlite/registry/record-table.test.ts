import { afterEach, beforeEach, expect, it } from 'vitest';
import { execute, type Script } from '../../../../src/storage/sql/database.ts';
import { RecordTable } from '../../../../src/storage/sql/registry/record-table.ts';
import { openSqlite, type SqliteDatabase } from '../../../../src/storage/sqlite/sqlite-database.ts';

let database: SqliteDatabase;
let rowsRead: number;
let table: RecordTable<{ name: string }>;
const change = (sql: string, ...values: string[]): Promise<number> => database.write('registry', () => execute(sql, ...values));
const insert = (id: string, name: string): Promise<number> =>
  change(
    `INSERT INTO keys (id, position, hash, record) SELECT ?, coalesce(max(position), 0) + 1, ?, ? FROM keys`,
    id,
    id,
    JSON.stringify({ name }),
  );

/** Counts the rows that are read. */
function* counted(script: Script<void>): Script<void> {
  let step = script.next();
  while (step.done !== true) {
    const answer = yield step.value;
    if (step.value.sql.includes('FROM keys')) rowsRead += Array.isArray(answer) ? answer.length : 1;
    step = script.next(answer);
  }
}

const refresh = (): Promise<void> => database.read(() => counted(table.refresh(database)));
const namesIn = async (): Promise<string[]> => {
  await refresh();
  return table.list().map(({ name }) => name);
};

beforeEach(async () => {
  database = openSqlite({ file: ':memory:', now: Date.now });
  await Promise.all(Array.from({ length: 1_000 }, (_, index) => insert(`key-${index}`, `name ${index}`)));
  table = new RecordTable({
    table: 'keys',
    kind: 'key',
    columns: `id, position, record, '' AS secrets`,
    toValue: ({ record }) => ({ name: (JSON.parse(record) as { name: string }).name.trim() }),
    uniqueText: ({ name }) => name,
  });
  await refresh();
  rowsRead = 0;
});
afterEach(() => database.close());

it('reads one row after a change of one entry, however many there are', async () => {
  const [first] = table.list();
  await change('UPDATE keys SET record = ? WHERE id = ?', '{"name":"new"}', 'key-5');
  table.noteChange('key-5');
  expect(table.isCurrent).toBe(false);
  expect((await namesIn())[5]).toBe('new');
  expect(rowsRead).toBe(1);
  expect(table.list()[0]).toBe(first);
  expect(table.findByText('new')).toBe(table.get('key-5'));
  expect(table.findByText('name 5')).toBeUndefined();
});

it('lists a new entry at the end, and so one that was deleted and created again', async () => {
  await change(`DELETE FROM keys WHERE id = 'key-0'`);
  await insert('key-b', 'b');
  await insert('key-0', 'again');
  for (const id of ['key-0', 'key-b']) table.noteChange(id);
  expect((await namesIn()).slice(-2)).toEqual(['b', 'again']);
  expect((await namesIn())[0]).toBe('name 1');
  expect(rowsRead).toBe(2);
});

it('forgets a deleted entry', async () => {
  await change(`DELETE FROM keys WHERE id = 'key-7'`);
  table.noteChange('key-7');
  expect(await namesIn()).toHaveLength(999);
  expect(table.get('key-7')).toBeUndefined();
  expect(table.findByText('name 7')).toBeUndefined();
});

it('gives the same list while nothing has changed, even after everything was read again', async () => {
  const list = table.list();
  table.noteChange('key-1');
  table.noteChange();
  await refresh();
  expect(table.list()).toBe(list);
});

it('names a damaged entry, and reads it once it is repaired', async () => {
  await change(`UPDATE keys SET record = '1' WHERE id = 'key-3'`);
  table.noteChange('key-3');
  await expect(refresh()).rejects.toThrow('The stored key "key-3" is damaged');
  await change(`UPDATE keys SET record = '{"name":"mended"}' WHERE id = 'key-3'`);
  table.noteChange('key-3');
  expect((await namesIn())[3]).toBe('mended');
});

it('is not current while a change is read, and not after the reading has failed', async () => {
  table.noteChange('key-5');
  const reading = table.refresh(database);
  reading.next();
  expect(table.isCurrent).toBe(false);
  table.noteChange();
  expect(table.isCurrent).toBe(false);
  await refresh();
  expect(table.isCurrent).toBe(true);
});

it('drops a deleted entry before it is read again', () => {
  table.drop('key-7');
  expect(table.list()).toHaveLength(999);
  expect([table.get('key-7'), table.findByText('name 7')]).toEqual([undefined, undefined]);
});
