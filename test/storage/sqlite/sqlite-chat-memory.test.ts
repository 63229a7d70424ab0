import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createDatabaseConnection } from '../../../src/storage/sqlite/database-connection.ts';
import type { DatabaseConnection } from '../../../src/storage/sqlite/database-connection.ts';
import { createSqliteChatMemory } from '../../../src/storage/sqlite/sqlite-chat-memory.ts';
import { chatNote, describeChatMemory, noBounds } from '../chat-memory-contract.ts';
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

describeChatMemory('a file', () => createSqliteChatMemory(connect(join(newFolder(), 'toolwharf.db')), 'secret', 'state'));
describeChatMemory('memory', () => createSqliteChatMemory(connect(':memory:'), 'secret', 'state'));

describe('the memory of chats in SQLite', () => {
  it('is there after a restart, each kind for itself', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const before = connect(file);
    await createSqliteChatMemory(before, 'secret', 'state').keep(chatNote(), noBounds);
    await createSqliteChatMemory(before, 'secret', 'approval').keep(chatNote({ value: 'approve' }), { ...noBounds, maxNotes: 1 });
    await before.close();
    const after = connect(file);
    expect(await createSqliteChatMemory(after, 'secret', 'state').find('ada one', 1)).toBe(chatNote().value);
    expect(await createSqliteChatMemory(after, 'secret', 'approval').find('ada one', 1)).toBe('approve');
  });

  it('stands in no file as text, and cannot be read with another secret', async () => {
    const folder = newFolder();
    const connection = connect(join(folder, 'toolwharf.db'));
    await createSqliteChatMemory(connection, 'secret', 'state').keep(chatNote({ value: 'CANARY-NOTE' }), noBounds);
    const contents = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'));
    expect([contents.length > 0, contents.filter((content) => content.includes('CANARY'))]).toEqual([true, []]);
    expect(await createSqliteChatMemory(connection, 'another', 'state').find('ada one', 1)).toBeUndefined();
  });
});
