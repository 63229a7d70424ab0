import type { DatabaseSync } from 'node:sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { createDatabaseConnection } from '../../../src/storage/sqlite/connection/database-connection.ts';
import type { DatabaseConnection } from '../../../src/storage/sqlite/connection/database-connection.ts';
import { createSqliteNotes } from '../../../src/storage/sqlite/sqlite-notes.ts';

const note = (index: number): Parameters<ReturnType<typeof createSqliteNotes>['save']>[0] => ({
  id: `note-${index}`,
  callerId: `key/p${index}`,
  value: 'x',
  expires: 1_000,
});

/** A connection that notes which statements are prepared. */
function watched(connection: DatabaseConnection, statements: string[]): DatabaseConnection {
  const watch = (database: DatabaseSync): DatabaseSync =>
    new Proxy(database, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          if (name === 'prepare') statements.push(String(args[0]));
          return Reflect.apply(value, target, args);
        };
      },
    });
  return {
    ...connection,
    read: (work) => connection.read((database) => work(watch(database))),
    write: (work) => connection.write((database) => work(watch(database))),
  };
}

it('the shares of all callers are computed only for a store that is full', async () => {
  const connection = createDatabaseConnection({ file: ':memory:', now: Date.now });
  onTestFinished(() => connection.close());
  const statements: string[] = [];
  const notes = createSqliteNotes(watched(connection, statements), 'a secret of tests', 'conversation');
  const bounds = { maxNotes: 3, maxCharacters: 1_000_000, time: 0 };
  const computed = (): boolean => statements.some((sql) => sql.includes('GROUP BY caller_id'));
  for (let index = 0; index < 3; index += 1) await notes.save(note(index), bounds);
  expect(computed()).toBe(false);
  await notes.save(note(3), bounds);
  expect(computed()).toBe(true);
  expect(await notes.find('note-0', 1)).toBeUndefined();
  expect(await notes.find('note-3', 1)).toBe('x');
});
