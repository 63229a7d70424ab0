import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { openSqlite } from '../../../src/storage/sqlite/sqlite-database.ts';
import type { SqliteDatabase } from '../../../src/storage/sqlite/sqlite-database.ts';
import { createNoteStore } from '../../../src/storage/sql/notes.ts';
import { testNote, describeNoteStore, noBounds } from '../note-store-contract.ts';
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

describeNoteStore('a file', () => createNoteStore(connect(join(newFolder(), 'toolwharf.db')), 'secret', 'state'));
describeNoteStore('memory', () => createNoteStore(connect(':memory:'), 'secret', 'state'));

describe('notes in SQLite', () => {
  it('is there after a restart, each kind for itself', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const before = connect(file);
    await createNoteStore(before, 'secret', 'state').save(testNote(), noBounds);
    await createNoteStore(before, 'secret', 'approval').save(testNote({ value: 'approve' }), { ...noBounds, maxNotes: 1 });
    await before.close();
    const after = connect(file);
    expect(await createNoteStore(after, 'secret', 'state').find('ada one', 1)).toBe(testNote().value);
    expect(await createNoteStore(after, 'secret', 'approval').find('ada one', 1)).toBe('approve');
  });

  it('stands in no file as text, and cannot be read with another secret', async () => {
    const folder = newFolder();
    const connection = connect(join(folder, 'toolwharf.db'));
    await createNoteStore(connection, 'secret', 'state').save(testNote({ value: 'CANARY-NOTE' }), noBounds);
    const contents = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'));
    expect([contents.length > 0, contents.filter((content) => content.includes('CANARY'))]).toEqual([true, []]);
    expect(await createNoteStore(connection, 'another', 'state').find('ada one', 1)).toBeUndefined();
  });
});
