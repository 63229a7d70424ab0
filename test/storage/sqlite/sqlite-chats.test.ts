import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, expect, it } from 'vitest';
import { createDatabaseConnection } from '../../../src/storage/sqlite/connection/database-connection.ts';
import type { DatabaseConnection } from '../../../src/storage/sqlite/connection/database-connection.ts';
import { createSqliteChats, searchSql } from '../../../src/storage/sqlite/sqlite-chats.ts';
import { describeChatStore, firstPage, storedChat } from '../chat-store-contract.ts';
import { temporaryFolders } from '../temporary-folder.ts';

const newFolder = temporaryFolders();
const open: DatabaseConnection[] = [];
afterEach(async () => {
  for (const connection of open.splice(0)) await connection.close();
});

function connect(file: string): DatabaseConnection {
  const connection = createDatabaseConnection({ file, now: Date.now });
  open.push(connection);
  return connection;
}

const now = () => 10_000;

describeChatStore('a file', (options) => createSqliteChats(connect(join(newFolder(), 'toolwharf.db')), options));
describeChatStore('memory', (options) => createSqliteChats(connect(':memory:'), options));

describe('chats in SQLite', () => {
  it('are there after a restart, for a search too', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const before = connect(file);
    await createSqliteChats(before, { now }).save(storedChat());
    await before.close();
    const after = createSqliteChats(connect(file), { now });
    expect(await after.find('ada', 'chat-a')).toEqual(storedChat());
    expect(await after.search('ada', 'tall', 5)).toMatchObject([{ id: 'chat-a' }]);
  });

  it('are searched by the words first, once, and not anew for each chat of the caller', async () => {
    const steps = await connect(join(newFolder(), 'toolwharf.db')).read((database) =>
      database
        .prepare(`EXPLAIN QUERY PLAN ${searchSql}`)
        .all('"tall"', 'ada', 0, 5)
        .map((step) => String(step['detail'])),
    );
    expect(steps.filter((step) => step.startsWith('SCAN') || step.startsWith('SEARCH'))).toEqual([
      expect.stringContaining('SCAN chat_words'),
      'SEARCH chats USING INTEGER PRIMARY KEY (rowid=?)',
      'SCAN best',
      'SEARCH chats USING INTEGER PRIMARY KEY (rowid=?)',
    ]);
  });

  it('leave none of their words behind', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const connection = connect(file);
    const chats = createSqliteChats(connection, { now });
    await chats.save(storedChat({ question: 'zeppelin' }));
    await chats.save(storedChat({ id: 'chat-b', callerId: 'bob', question: 'zeppelin' }));
    await chats.delete('ada', 'chat-a');
    await chats.deleteAllOf('bob');
    await connection.close();
    const database = new DatabaseSync(file);
    expect(database.prepare(`SELECT rowid FROM chat_words WHERE chat_words MATCH 'zeppelin'`).all()).toEqual([]);
    expect(database.prepare('SELECT count(*) AS n FROM chats').get()).toEqual({ n: 0 });
    database.close();
  });

  it('are saved all or none, with their words', async () => {
    const chats = createSqliteChats(connect(join(newFolder(), 'toolwharf.db')), { now });
    await expect(chats.save(storedChat({ created: 0.5 }))).rejects.toThrow('cannot store REAL value in INTEGER column');
    expect(await chats.list('ada', firstPage)).toEqual({ chats: [], hasMore: false });
    expect(await chats.search('ada', 'tall', 5)).toEqual([]);
  });
});
