import { DatabaseSync } from 'node:sqlite';
import { beforeEach, expect, it } from 'vitest';
import { RecordTable } from '../../../../src/storage/sqlite/registry/record-table.ts';

let database: DatabaseSync;
let rowsRead: number;
let table: RecordTable<{ name: string }>;
const insert = (id: string, name: string): void =>
  void database
    .prepare('INSERT INTO keys (id, position, record) SELECT ?, coalesce(max(position), 0) + 1, ? FROM keys')
    .run(id, JSON.stringify({ name }));
const namesIn = (): string[] => {
  table.refresh(database);
  return table.list().map(({ name }) => name);
};

beforeEach(() => {
  database = new DatabaseSync(':memory:');
  // Called for each row that is read.
  database.function('no_secrets', () => {
    rowsRead += 1;
    return '{}';
  });
  database.exec('CREATE TABLE keys (id TEXT PRIMARY KEY, position INTEGER, record TEXT)');
  for (let index = 0; index < 1_000; index += 1) insert(`key-${index}`, `name ${index}`);
  table = new RecordTable({
    table: 'keys',
    kind: 'key',
    columns: 'id, position, record, no_secrets() AS secrets',
    toValue: ({ record }) => JSON.parse(record) as { name: string },
    uniqueText: ({ name }) => name,
  });
  table.refresh(database);
  rowsRead = 0;
});

it('reads one row after a change of one entry, however many there are', () => {
  const [first] = table.list();
  database.prepare('UPDATE keys SET record = ? WHERE id = ?').run('{"name":"new"}', 'key-5');
  table.noteChange('key-5');
  expect(table.isCurrent).toBe(false);
  expect(namesIn()[5]).toBe('new');
  expect(rowsRead).toBe(1);
  expect(table.list()[0]).toBe(first);
  expect(table.findByText('new')).toBe(table.get('key-5'));
  expect(table.findByText('name 5')).toBeUndefined();
});

it('lists a new entry at the end, and so one that was deleted and created again', () => {
  database.exec(`DELETE FROM keys WHERE id = 'key-0'`);
  insert('key-b', 'b');
  insert('key-0', 'again');
  for (const id of ['key-0', 'key-b']) table.noteChange(id);
  expect(namesIn().slice(-2)).toEqual(['b', 'again']);
  expect(namesIn()[0]).toBe('name 1');
  expect(rowsRead).toBe(2);
});

it('forgets a deleted entry', () => {
  database.exec(`DELETE FROM keys WHERE id = 'key-7'`);
  table.noteChange('key-7');
  expect(namesIn()).toHaveLength(999);
  expect(table.get('key-7')).toBeUndefined();
  expect(table.findByText('name 7')).toBeUndefined();
});

it('gives the same list while nothing has changed, even after everything was read again', () => {
  const list = table.list();
  table.noteChange('key-1');
  table.noteChange();
  table.refresh(database);
  expect(table.list()).toBe(list);
});

it('names a damaged entry at each attempt until it is repaired', () => {
  database.exec(`UPDATE keys SET record = '{' WHERE id = 'key-3'`);
  table.noteChange('key-3');
  for (const _attempt of [1, 2]) expect(() => table.refresh(database)).toThrow('The stored key "key-3" is damaged');
  database.exec(`UPDATE keys SET record = '{"name":"mended"}' WHERE id = 'key-3'`);
  expect(namesIn()[3]).toBe('mended');
});
