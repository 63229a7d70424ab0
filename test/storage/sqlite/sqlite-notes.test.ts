import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createDatabaseConnection } from '../../../src/storage/sqlite/connection/database-connection.ts';
import type { DatabaseConnection } from '../../../src/storage/sqlite/connection/database-connection.ts';
import { createSqliteNotes } from '../../../src/storage/sqlite/sqlite-notes.ts';
import { testNote, describeNoteStore, noBounds } from '../note-store-contract.ts';
import { temporaryFolders } from '../temporary-folder.ts';

const newFolder = temporaryFolders();
const open: DatabaseConnection[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()));
});

function connect(file: string): DatabaseConnection {
  const connection = createDatabaseConnection({ file, now: Date.now });
  open.push(connection);
  return connection;
}

describeNoteStore('a file', () => createSqliteNotes(connect(join(newFolder(), 'toolwharf.db')), 'secret', 'state'));
describeNoteStore('memory', () => createSqliteNotes(connect(':memory:'), 'secret', 'state'));

describe('notes in SQLite', () => {
  it('is there after a restart, each kind for itself', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const before = connect(file);
    await createSqliteNotes(before, 'secret', 'state').save(testNote(), noBounds);
    await createSqliteNotes(before, 'secret', 'approval').save(testNote({ value: 'approve' }), { ...noBounds, maxNotes: 1 });
    await before.close();
    const after = connect(file);
    expect(await createSqliteNotes(after, 'secret', 'state').find('ada one', 1)).toBe(testNote().value);
    expect(await createSqliteNotes(after, 'secret', 'approval').find('ada one', 1)).toBe('approve');
  });

  it('stands in no file as text, and cannot be read with another secret', async () => {
    const folder = newFolder();
    const connection = connect(join(folder, 'toolwharf.db'));
    await createSqliteNotes(connection, 'secret', 'state').save(testNote({ value: 'CANARY-NOTE' }), noBounds);
    const contents = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'));
    expect([contents.length > 0, contents.filter((content) => content.includes('CANARY'))]).toEqual([true, []]);
    expect(await createSqliteNotes(connection, 'another', 'state').find('ada one', 1)).toBeUndefined();
  });
});
