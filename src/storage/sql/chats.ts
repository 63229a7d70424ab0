import type { ChatBounds, ChatPage, ChatPlace, ChatStore, ListedChat, StoredChat } from '../../core/stores/chat-store.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { chatIndexOf, type ChatIndex } from './chat-index.ts';
import { deleteInParts } from './delete-in-parts.ts';
import { ownedBy } from './owned-by.ts';
import {
  execute,
  hasChanged,
  mapped,
  selectAll,
  selectFirst,
  type Database,
  type Dialect,
  type Script,
  type SqlValue,
} from './database.ts';
import { lossesIn, surplusOf } from './shares.ts';
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

interface ChatStoreOptions {
  /** Milliseconds since 1970. */
  now?: () => number;
  bounds?: ChatBounds;
}

/** Stored chats. */
export function createChatStore(database: Database, { now = Date.now, bounds = defaultBounds }: ChatStoreOptions = {}): ChatStore {
  const oldestCreated = (): number => now() - bounds.ageMs;
  const index = chatIndexOf(database.dialect);

  return {
    save(chat) {
      const row = toRow(chat);
      return database.write('chats', () => save(index, { chat, row, oldest: oldestCreated(), bounds }), {
        callerId: chat.callerId,
        characters: row.characters,
      });
    },

    find: (callerId, id) =>
      database.read(() =>
        mapped(selectFirst<ChatRow>(`SELECT * FROM chats ${whereOwned}`, id, callerId, oldestCreated()), (row) => row && toChat(row)),
      ),

    list: (callerId, page) => database.read(() => list(database.dialect, page, [callerId, oldestCreated()])),

    changeMetadata: (callerId, id, metadata) =>
      database.write(
        'chats',
        () => hasChanged(`UPDATE chats SET metadata = ? ${whereOwned}`, JSON.stringify(metadata), id, callerId, oldestCreated()),
        { callerId },
      ),

    delete: (callerId, id) => database.write('chats', () => removeOne(index, [id, callerId, oldestCreated()]), { callerId }),

    async deleteAllOf(callerId) {
      const { condition, values } = ownedBy(callerId);
      await removeChats(database, condition, values);
    },

    search: (callerId, query, limit) => database.read(() => index.search(query, { callerId, since: oldestCreated(), limit })),

    prune: () => removeChats(database, 'created < ?', [oldestCreated()]),
  };
}

async function removeChats(database: Database, condition: string, values: readonly SqlValue[]): Promise<void> {
  const index = chatIndexOf(database.dialect);
  await deleteInParts<{ position: number }>(database, {
    store: 'chats',
    table: 'chats',
    key: ['position'],
    columns: ['characters'],
    condition,
    values,
    before: ({ position }) => index.remove('position = ?', [position]),
  });
}

const whereOwned = 'WHERE id = ? AND caller_id = ? AND created >= ?';

interface NewChatRow {
  values: SqlValue[];
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

function* save(
  index: ChatIndex,
  { chat, row, oldest, bounds }: { chat: StoredChat; row: NewChatRow; oldest: number; bounds: ChatBounds },
): Script<void> {
  yield* remove(index, 'id = ?', chat.id);
  yield* insert(index, row);
  yield* remove(index, 'created < ?', oldest);
  yield* enforceBounds(index, chat.callerId, bounds);
}

/** `values`: of `whereOwned`. */
function* removeOne(index: ChatIndex, values: [id: string, callerId: string, oldest: number]): Script<ChatPlace | undefined> {
  const found = yield* selectFirst<ChatPlace>(`SELECT id, created FROM chats ${whereOwned}`, ...values);
  if (found !== undefined) yield* remove(index, 'id = ?', found.id);
  return found;
}

function* insert(index: ChatIndex, { values, question, answer }: NewChatRow): Script<void> {
  const sql = `INSERT INTO chats (id, caller_id, created, model, characters, metadata, messages, completion, question, answer)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING position`;
  const { position } = (yield* selectFirst<{ position: number }>(sql, ...values)) ?? { position: 0 };
  yield* index.add(position, { question, answer });
}

/** `condition` becomes part of the SQL, so it must never come from a request. */
function* remove(index: ChatIndex, condition: string, ...values: SqlValue[]): Script<void> {
  yield* index.remove(condition, values);
  yield* execute(`DELETE FROM chats WHERE ${condition}`, ...values);
}

/** Enforces the bounds of one caller, then the total size: the caller with the most loses its oldest chats first. */
function* enforceBounds(index: ChatIndex, callerId: string, { chatsPerCaller, charactersPerCaller, characters }: ChatBounds): Script<void> {
  const ownBounds = { entries: chatsPerCaller, characters: charactersPerCaller };
  const surplus = yield* surplusOf({ table: 'chats', order: 'created DESC, id DESC', callerId }, ownBounds);
  for (const position of surplus) yield* remove(index, 'position = ?', position);
  const losses = yield* lossesIn(
    { table: 'chats', id: 'position', where: 'TRUE', order: 'created, id' },
    { entries: Infinity, characters },
  );
  for (const { id } of losses) yield* remove(index, 'position = ?', id);
}

/** Completions may be large, and a page ends at its size limit. */
const listedPerQuery = 10;

/** Whether the metadata of a chat has an entry: its key and its value. */
const hasEntry: Record<Dialect, string> = {
  sqlite: 'EXISTS (SELECT 1 FROM json_each(chats.metadata) AS entry WHERE entry.key = ? AND entry.value = ?)',
  postgres: '(metadata::json ->> ?::text) = ?',
};

function* list(
  dialect: Dialect,
  { limit, order, after, model, metadata }: ChatPage,
  [callerId, since]: [string, number],
): Script<{ chats: ListedChat[]; hasMore: boolean }> {
  const conditions = ['caller_id = ?', 'created >= ?'];
  const values: SqlValue[] = [callerId, since];
  if (model !== undefined) {
    conditions.push('model = ?');
    values.push(model);
  }
  for (const [key, value] of Object.entries(metadata)) {
    conditions.push(hasEntry[dialect]);
    values.push(key, value);
  }
  const chats: ListedChat[] = [];
  let characters = 0;
  let position: ChatPlace | undefined = after;
  for (;;) {
    const [condition, place]: [string, SqlValue[]] =
      position === undefined ? ['', []] : [` AND (created, id) ${order === 'asc' ? '>' : '<'} (?, ?)`, [position.created, position.id]];
    const sql = `SELECT id, created, model, metadata, completion FROM chats WHERE ${conditions.join(' AND ')}${condition}
      ORDER BY created ${order}, id ${order} LIMIT ?`;
    const rows = yield* selectAll<ListedRow>(sql, ...values, ...place, listedPerQuery);
    for (const row of rows) {
      characters += row.completion.length;
      if (chats.length === limit || (chats.length > 0 && characters > chatPageCharacters)) return { chats, hasMore: true };
      chats.push(toListed(row));
    }
    if (rows.length < listedPerQuery) return { chats, hasMore: false };
    position = rows.at(-1);
  }
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
