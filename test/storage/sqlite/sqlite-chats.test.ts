import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, expect, it } from 'vitest';
import { openSqlite } from '../../../src/storage/sqlite/sqlite-database.ts';
import type { SqliteDatabase } from '../../../src/storage/sqlite/sqlite-database.ts';
import { searchSql } from '../../../src/storage/sql/chat-index.ts';
import { createChatStore } from '../../../src/storage/sql/chats.ts';
import { selectAll } from '../../../src/storage/sql/database.ts';
import { describeChatStore, firstPage, storedChat } from '../chat-store-contract.ts';
import { temporaryFolders } from '../temporary-folder.ts';

const newFolder = temporaryFolders();
const open: SqliteDatabase[] = [];
afterEach(async () => {
  for (const connection of open.splice(0)) await connection.close();
});

function connect(file: string): SqliteDatabase {
  const connection = openSqlite({ file, now: Date.now });
  open.push(connection);
  return connection;
}

const now = () => 10_000;

describeChatStore('a file', (options) => createChatStore(connect(join(newFolder(), 'toolwharf.db')), options));
describeChatStore('memory', (options) => createChatStore(connect(':memory:'), options));

describe('chats in SQLite', () => {
  it('are there after a restart, for a search too', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const before = connect(file);
    await createChatStore(before, { now }).save(storedChat());
    await before.close();
    const after = createChatStore(connect(file), { now });
    expect(await after.find('ada', 'chat-a')).toEqual(storedChat());
    expect(await after.search('ada', 'tall', 5)).toMatchObject([{ id: 'chat-a' }]);
  });

  it('are searched by the words first, once, and not anew for each chat of the caller', async () => {
    const explain = `EXPLAIN QUERY PLAN ${searchSql}`;
    const connection = connect(join(newFolder(), 'toolwharf.db'));
    const plan = await connection.read(() => selectAll<{ detail: string }>(explain, '"tall"', 'ada', 0, 5));
    const steps = plan.map(({ detail }) => detail);
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
    const chats = createChatStore(connection, { now });
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
    const chats = createChatStore(connect(join(newFolder(), 'toolwharf.db')), { now });
    await expect(chats.save(storedChat({ created: 0.5 }))).rejects.toThrow('cannot store REAL value in INTEGER column');
    expect(await chats.list('ada', firstPage)).toEqual({ chats: [], hasMore: false });
    expect(await chats.search('ada', 'tall', 5)).toEqual([]);
  });
});
