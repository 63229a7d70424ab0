import { expect, it, onTestFinished } from 'vitest';
import { openSqlite } from '../../../src/storage/sqlite/sqlite-database.ts';
import type { Database, Script } from '../../../src/storage/sql/database.ts';
import { createNoteStore } from '../../../src/storage/sql/notes.ts';

const note = (index: number): Parameters<ReturnType<typeof createNoteStore>['save']>[0] => ({
  id: `note-${index}`,
  callerId: `key/p${index}`,
  value: 'x',
  expires: 1_000,
});

/** A database that notes which statements are run. */
function watched(database: Database, statements: string[]): Database {
  function* watch<Value>(script: () => Script<Value>): Script<Value> {
    const steps = script();
    let step = steps.next();
    while (step.done !== true) {
      statements.push(step.value.sql);
      step = steps.next(yield step.value);
    }
    return step.value;
  }
  return {
    ...database,
    read: (script) => database.read(() => watch(script)),
    write: (store, script) => database.write(store, () => watch(script)),
  };
}

it('the shares of all callers are computed only for a store that is full', async () => {
  const connection = openSqlite({ file: ':memory:', now: Date.now });
  onTestFinished(() => connection.close());
  const statements: string[] = [];
  const notes = createNoteStore(watched(connection, statements), 'a secret of tests', 'conversation');
  const bounds = { maxNotes: 3, maxCharacters: 1_000_000, time: 0 };
  const computed = (): boolean => statements.some((sql) => sql.includes('GROUP BY caller_id'));
  for (let index = 0; index < 3; index += 1) await notes.save(note(index), bounds);
  expect(computed()).toBe(false);
  await notes.save(note(3), bounds);
  expect(computed()).toBe(true);
  expect(await notes.find('note-0', 1)).toBeUndefined();
  expect(await notes.find('note-3', 1)).toBe('x');
});
