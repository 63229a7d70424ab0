import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { ChatBounds, ChatHit, ChatPage, ChatPlace, ChatStore, ListedChat, StoredChat } from '../../core/stores/chat-store.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { queryWordsOf, wordsOf } from './chat-words.ts';
import { chooseLosses } from '../../shared/fairness/fair-shares.ts';
import type { DatabaseConnection } from './connection/database-connection.ts';
import { deleteInParts } from './connection/delete-in-parts.ts';
import { ownedBy } from './owned-by.ts';
import { execute, selectAll, selectEach, selectFirst } from './connection/select.ts';
import { sharesIn, surplusOf } from './sqlite-shares.ts';
import { parseExactly } from '../../shared/json/parse-exactly.ts';

/** How long a chat with `store: true` is stored: as long as OpenAI stores one. */
export const storedChatMs = 30 * 24 * 60 * 60 * 1000;
/** A quarter of the largest database, over all callers. */
export const storedChatsCharacters = 256 * 1024 * 1024;

/** A chat every nine minutes of that time; beyond it a caller's oldest are deleted. */
export const storedChatsPerCaller = 5_000;
/** Size of one caller's chats: one caller must not fill the store that all share. */
const storedCharactersPerCaller = 64 * 1024 * 1024;
/** Size of one page, which is shorter if its chats are large: parsing and writing a megabyte takes ten milliseconds. */
export const chatPageCharacters = 2 * 1024 * 1024;

const defaultBounds: ChatBounds = {
  ageMs: storedChatMs,
  chatsPerCaller: storedChatsPerCaller,
  charactersPerCaller: storedCharactersPerCaller,
  characters: storedChatsCharacters,
};

interface SqliteChatsOptions {
  /** Milliseconds since 1970. */
  now?: () => number;
  bounds?: ChatBounds;
}

/**
 * Stored chats, on the registry's connection (see `createSqliteRuns`). The full-text index is `chat_words`, whose rowid is the chat's `position`. Text
 * is split into words here, because SQLite's tokenizer takes a Chinese sentence for one word.
 */
export function createSqliteChats(
  connection: DatabaseConnection,
  { now = Date.now, bounds = defaultBounds }: SqliteChatsOptions = {},
): ChatStore {
  const oldestCreated = (): number => now() - bounds.ageMs;

  return {
    save(chat) {
      const row = toRow(chat);
      return connection.write(
        (database) => {
          remove(database, 'id = ?', chat.id);
          insert(database, row);
          remove(database, 'created < ?', oldestCreated());
          enforceBounds(database, chat.callerId, bounds);
        },
        { callerId: chat.callerId, characters: row.characters },
      );
    },

    find: (callerId, id) =>
      connection.read((database) => {
        const row = selectFirst<ChatRow>(database, `SELECT * FROM chats ${whereOwned}`, id, callerId, oldestCreated());
        return row && toChat(row);
      }),

    list: (callerId, page) => connection.read((database) => list(database, page, [callerId, oldestCreated()])),

    changeMetadata: (callerId, id, metadata) =>
      connection.write(
        (database) => {
          const sql = `UPDATE chats SET metadata = ? ${whereOwned}`;
          return execute(database, sql, JSON.stringify(metadata), id, callerId, oldestCreated()) > 0;
        },
        { callerId },
      ),

    delete: (callerId, id) =>
      connection.write(
        (database) => {
          const found = selectFirst<ChatPlace>(database, `SELECT id, created FROM chats ${whereOwned}`, id, callerId, oldestCreated());
          if (found !== undefined) remove(database, 'id = ?', id);
          return found;
        },
        { callerId },
      ),

    async deleteAllOf(callerId) {
      const { condition, values } = ownedBy(callerId);
      await removeChats(connection, condition, values);
    },

    search: (callerId, query, limit) =>
      connection.read((database) => {
        const words = queryWordsOf(query).map(({ word, isPrefix }) => `"${word}"${isPrefix ? '*' : ''}`);
        if (words.length === 0) return [];
        return selectAll<ChatHit>(database, searchSql, words.join(' OR '), callerId, oldestCreated(), limit);
      }),

    prune: () => removeChats(connection, 'created < ?', [oldestCreated()]),
  };
}

async function removeChats(connection: DatabaseConnection, condition: string, values: readonly SQLInputValue[]): Promise<void> {
  await deleteInParts<{ position: number }>(connection, {
    table: 'chats',
    key: ['position'],
    columns: ['characters'],
    condition,
    values,
    forEach:
      (database) =>
      ({ position }) =>
        void execute(database, 'DELETE FROM chat_words WHERE rowid = ?', position),
  });
}

const whereOwned = 'WHERE id = ? AND caller_id = ? AND created >= ?';
/**
 * Words of the question weigh three times as much as words of the answer; a lower `bm25` is a better match. `CROSS JOIN` fixes the join order:
 * otherwise SQLite may search the index again for each chat, which takes seconds. The outer query reads texts only of the chats that are returned.
 */
export const searchSql = `SELECT chats.id, chats.created, chats.question, chats.answer FROM (
    SELECT chats.position, chats.created, chats.id, bm25(chat_words, 3, 1) AS score
    FROM chat_words CROSS JOIN chats ON chats.position = chat_words.rowid
    WHERE chat_words MATCH ? AND chats.caller_id = ? AND chats.created >= ?
    ORDER BY score, chats.created DESC, chats.id DESC LIMIT ?
  ) AS best CROSS JOIN chats ON chats.position = best.position
  ORDER BY best.score, best.created DESC, best.id DESC`;

interface NewChatRow {
  values: SQLInputValue[];
  characters: number;
  question: string;
  answer: string;
}

function toRow({ id, callerId, created, model, texts, ...chat }: StoredChat): NewChatRow {
  const messages = JSON.stringify(chat.messages);
  const completion = JSON.stringify(chat.completion);
  const characters = messages.length + completion.length;
  const { question, answer } = texts;
  const values = [id, callerId, created, model, characters, JSON.stringify(chat.metadata), messages, completion, question, answer];
  return { values, characters, question, answer };
}

function insert(database: DatabaseSync, { values, question, answer }: NewChatRow): void {
  const sql = `INSERT INTO chats (id, caller_id, created, model, characters, metadata, messages, completion, question, answer)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING position`;
  const { position } = selectFirst<{ position: number }>(database, sql, ...values) ?? { position: 0 };
  const words = 'INSERT INTO chat_words (rowid, question, answer) VALUES (?, ?, ?)';
  execute(database, words, position, wordsOf(question).join(' '), wordsOf(answer).join(' '));
}

/** `condition` becomes part of the SQL, so it must never come from a request. */
function remove(database: DatabaseSync, condition: string, ...values: SQLInputValue[]): void {
  execute(database, `DELETE FROM chat_words WHERE rowid IN (SELECT position FROM chats WHERE ${condition})`, ...values);
  execute(database, `DELETE FROM chats WHERE ${condition}`, ...values);
}

/** Enforces the bounds of one caller, then the total size: the caller with the most loses its oldest chats first. */
function enforceBounds(database: DatabaseSync, callerId: string, { chatsPerCaller, charactersPerCaller, characters }: ChatBounds): void {
  const ownBounds = { entries: chatsPerCaller, characters: charactersPerCaller };
  const surplus = surplusOf(database, { table: 'chats', order: 'created DESC, id DESC', callerId }, ownBounds);
  for (const position of surplus) remove(database, 'position = ?', position);
  const size = selectFirst<{ total: number }>(database, 'SELECT total(characters) AS total FROM chats INDEXED BY chats_by_time');
  if (size === undefined || size.total <= characters) return;
  const shares = sharesIn(database, { table: 'chats', id: 'position', where: 'TRUE', order: 'created, id' });
  for (const { id } of chooseLosses(shares, { entries: Infinity, characters })) remove(database, 'position = ?', id);
}

function list(
  database: DatabaseSync,
  { limit, order, after, model, metadata }: ChatPage,
  [callerId, since]: [string, number],
): { chats: ListedChat[]; hasMore: boolean } {
  const conditions = ['caller_id = ?', 'created >= ?'];
  const values: SQLInputValue[] = [callerId, since];
  if (model !== undefined) {
    conditions.push('model = ?');
    values.push(model);
  }
  for (const [key, value] of Object.entries(metadata)) {
    conditions.push('EXISTS (SELECT 1 FROM json_each(chats.metadata) AS entry WHERE entry.key = ? AND entry.value = ?)');
    values.push(key, value);
  }
  if (after !== undefined) {
    conditions.push(`(created, id) ${order === 'asc' ? '>' : '<'} (?, ?)`);
    values.push(after.created, after.id);
  }
  const sql = `SELECT id, created, model, metadata, completion FROM chats WHERE ${conditions.join(' AND ')}
    ORDER BY created ${order}, id ${order} LIMIT ?`;
  const chats: ListedChat[] = [];
  let characters = 0;
  // One more than the limit, to know whether there is another page. Row by row, so that reading stops at the page's size limit.
  for (const row of selectEach<ListedRow>(database, sql, ...values, limit + 1)) {
    characters += row.completion.length;
    if (chats.length === limit || (chats.length > 0 && characters > chatPageCharacters)) return { chats, hasMore: true };
    chats.push(toListed(row));
  }
  return { chats, hasMore: false };
}

/** `metadata`, `messages` and `completion` are JSON. */
interface ListedRow {
  id: string;
  created: number;
  model: string;
  metadata: string;
  completion: string;
}

interface ChatRow extends ListedRow {
  caller_id: string;
  messages: string;
  question: string;
  answer: string;
}

function toListed({ id, created, model, metadata, completion }: ListedRow): ListedChat {
  return {
    id,
    created,
    model,
    metadata: JSON.parse(metadata) as Record<string, string>,
    completion: parseExactly(completion) as JsonObject,
  };
}

function toChat({ caller_id: callerId, messages, question, answer, ...listed }: ChatRow): StoredChat {
  return { ...toListed(listed), callerId, messages: parseExactly(messages) as JsonObject[], texts: { question, answer } };
}
