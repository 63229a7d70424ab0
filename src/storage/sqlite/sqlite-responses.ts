import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { setImmediate as nextTick } from 'node:timers/promises';
import { limits } from '../../core/limits.ts';
import type { ResponseBounds, ResponseStore, StoredResponse } from '../../core/stores/response-store.ts';
import { chooseLosses } from '../../shared/fairness/fair-shares.ts';
import { isJsonObject, type JsonObject } from '../../shared/json/json.ts';
import { createSecretCipher, type SecretCipher } from '../secrets/encrypt-secrets.ts';
import type { DatabaseConnection } from './connection/database-connection.ts';
import { deleteInParts } from './connection/delete-in-parts.ts';
import { ownedBy } from './owned-by.ts';
import { execute, selectAll, selectFirst } from './connection/select.ts';
import { sharesIn, surplusOf } from './sqlite-shares.ts';
import type { QueuedWrite } from './connection/write-queue.ts';
import { parseExactly } from '../../shared/json/parse-exactly.ts';
import { storedChatMs } from './sqlite-chats.ts';

/** An eighth of the largest database, over all callers. */
export const storedResponsesCharacters = 128 * 1024 * 1024;

/** As many as stored chats; beyond it those that a caller used longest ago are deleted. */
const storedResponsesPerCaller = 5_000;
/** Size of one caller's responses, encrypted: one caller must not fill the store that all share. */
const storedResponsesCharactersPerCaller = 64 * 1024 * 1024;

const defaultBounds: ResponseBounds = {
  ageMs: storedChatMs,
  responsesPerCaller: storedResponsesPerCaller,
  charactersPerCaller: storedResponsesCharactersPerCaller,
  characters: storedResponsesCharacters,
};

interface SqliteResponsesOptions {
  secret: string;
  /** Milliseconds since 1970. */
  now?: () => number;
  bounds?: ResponseBounds;
}

/**
 * Stored responses, on the registry's connection (see `createSqliteRuns`). The encrypted values are in a separate table, so that the time of
 * the last use of a whole conversation changes without rewriting it.
 */
export function createSqliteResponses(
  connection: DatabaseConnection,
  { secret, now = Date.now, bounds = defaultBounds }: SqliteResponsesOptions,
): ResponseStore {
  const cipher = createSecretCipher(secret, 'stored_response');
  const oldestUse = (): number => now() - bounds.ageMs;
  const encrypt = ({ id, input, response }: StoredResponse): string => cipher.encrypt(JSON.stringify({ input, response }), { id, field });

  const reader: ResponseReader = { connection, cipher, oldestUse };

  return {
    async add(stored) {
      const value = encrypt(stored);
      await connection.write(
        (database) => {
          const time = now();
          remove(database, 'id = ?', stored.id);
          insert(database, stored, { value, time });
          execute(database, renewSql, stored.previousId ?? null, stored.callerId, limits.responseHistory, time);
          remove(database, 'used < ?', oldestUse());
          enforceBounds(database, stored.callerId, bounds);
        },
        queuedAs(stored, value),
      );
    },

    replaceRunning(stored) {
      const value = encrypt(stored);
      return connection.write(
        (database) => {
          const position = findPosition(database, `${whereOwned} AND is_running = 1`, [stored.id, stored.callerId, oldestUse()]);
          if (position === undefined) return false;
          replace(database, position, { stored, value });
          enforceBounds(database, stored.callerId, bounds);
          return true;
        },
        queuedAs(stored, value),
      );
    },

    async find(callerId, id) {
      const sql = `SELECT ${columns} FROM responses ${whereOwned}`;
      const row = await connection.read((database) => selectFirst<ResponseRow>(database, sql, id, callerId, oldestUse()));
      return row && (await load(reader, row))?.stored;
    },

    findHistory: (callerId, id, most) => findHistory(reader, [callerId, id], most),
    findItems: (callerId, itemIds, maxCharacters) => findItems(reader, [callerId, itemIds], maxCharacters),

    delete: (callerId, id) =>
      connection.write(
        (database) => {
          const position = findPosition(database, whereOwned, [id, callerId, oldestUse()]);
          if (position !== undefined) remove(database, 'position = ?', position);
          return position !== undefined;
        },
        { callerId },
      ),

    async deleteAllOf(callerId) {
      const { condition, values } = ownedBy(callerId);
      await removeAny(connection, condition, values);
    },

    prune: () => removeAny(connection, 'used < ?', [oldestUse()]),
  };
}

async function removeAny(connection: DatabaseConnection, condition: string, values: readonly SQLInputValue[]): Promise<void> {
  await deleteInParts(connection, { table: 'responses', key: ['position'], columns: ['characters'], condition, values });
}

interface ResponseReader {
  connection: DatabaseConnection;
  cipher: SecretCipher;
  oldestUse: () => number;
}

/** With the length of its JSON. One large value per tick of the event loop. */
async function load(
  { connection, cipher }: ResponseReader,
  row: ResponseRow,
): Promise<{ stored: StoredResponse; characters: number } | undefined> {
  await nextTick();
  const sql = 'SELECT value FROM response_values WHERE position = ?';
  const found = await connection.read((database) => selectFirst<{ value: string }>(database, sql, row.position));
  const text = found && cipher.decrypt(found.value, { id: row.id, field });
  if (text === undefined) return undefined;
  const value = parseExactly(text) as Pick<StoredResponse, 'input' | 'response'>;
  const { id, callerId, created, previousId, isRunning } = row;
  const stored = { id, callerId, created, previousId: previousId ?? undefined, isRunning: isRunning === 1, ...value };
  return { stored, characters: text.length };
}

/** The newest first in the database, the oldest first in the result. */
async function findHistory(
  reader: ResponseReader,
  [callerId, id]: [callerId: string, id: string],
  { responses: most, characters: maxCharacters }: Parameters<ResponseStore['findHistory']>[2],
): ReturnType<ResponseStore['findHistory']> {
  const values = [id, callerId, most + 1];
  const rows = await reader.connection.read((database) => selectAll<ResponseRow>(database, historySql, ...values));
  const oldest = reader.oldestUse();
  if (rows.length > most) return { type: 'too_long' };
  const responses: StoredResponse[] = [];
  let characters = 0;
  let due: string | undefined = id;
  for (const row of rows) {
    const loaded = row.used < oldest ? undefined : await load(reader, row);
    if (loaded === undefined) break;
    characters += loaded.characters;
    if (characters > maxCharacters) return { type: 'too_long' };
    responses.unshift(loaded.stored);
    due = loaded.stored.previousId;
  }
  return due === undefined ? { type: 'found', responses } : { type: 'missing', id: due };
}

async function findItems(
  reader: ResponseReader,
  [callerId, itemIds]: [callerId: string, itemIds: readonly string[]],
  maxCharacters: number,
): Promise<Map<string, JsonObject> | undefined> {
  const asked = new Set(itemIds);
  const values = [JSON.stringify([...asked]), callerId, reader.oldestUse()];
  const rows = await reader.connection.read((database) => selectAll<ResponseRow>(database, holdersSql, ...values));
  const items = new Map<string, JsonObject>();
  let characters = 0;
  for (const row of rows) {
    const loaded = await load(reader, row);
    characters += loaded?.characters ?? 0;
    if (characters > maxCharacters) return undefined;
    for (const item of outputOf(loaded?.stored.response)) {
      const { id } = item;
      if (typeof id === 'string' && asked.has(id)) items.set(id, item);
    }
  }
  return items;
}

function queuedAs({ callerId }: StoredResponse, value: string): QueuedWrite {
  return { callerId, characters: value.length };
}

/** To which the ciphertext is bound, besides the id. */
const field = 'response';
const whereOwned = 'WHERE id = ? AND caller_id = ? AND used >= ?';
const columns = 'position, id, caller_id AS callerId, created, used, previous_id AS previousId, is_running AS isRunning';
/** A response and those that it builds on, the last one first. The limit also ends a circle. */
const chainSql = `WITH RECURSIVE chain(depth, row, next) AS (
    SELECT 0, position, previous_id FROM responses WHERE id = ?1 AND caller_id = ?2
    UNION ALL SELECT depth + 1, position, previous_id FROM chain JOIN responses ON id = next WHERE caller_id = ?2 LIMIT ?3
  )`;
const historySql = `${chainSql} SELECT ${columns} FROM chain JOIN responses ON position = row ORDER BY depth`;
const renewSql = `${chainSql} UPDATE responses SET used = ?4 WHERE position IN (SELECT row FROM chain)`;
const holdersSql = `SELECT DISTINCT ${columns} FROM responses WHERE position IN (
    SELECT position FROM response_items WHERE item_id IN (SELECT value FROM json_each(?))
  ) AND caller_id = ? AND used >= ? ORDER BY position DESC`;

interface ResponseRow {
  position: number;
  id: string;
  callerId: string;
  created: number;
  used: number;
  previousId: string | null;
  isRunning: 0 | 1;
}

function findPosition(database: DatabaseSync, where: string, values: readonly SQLInputValue[]): number | undefined {
  return selectFirst<{ position: number }>(database, `SELECT position FROM responses ${where}`, ...values)?.position;
}

function insert(database: DatabaseSync, stored: StoredResponse, { value, time }: { value: string; time: number }): void {
  const { id, callerId, created, previousId = null, isRunning, response } = stored;
  const columns = 'id, caller_id, created, used, previous_id, is_running, characters';
  const sql = `INSERT INTO responses (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING position`;
  const values = [id, callerId, created, time, previousId, isRunning ? 1 : 0, value.length];
  const { position } = selectFirst<{ position: number }>(database, sql, ...values) ?? { position: 0 };
  execute(database, 'INSERT INTO response_values (position, value) VALUES (?, ?)', position, value);
  insertItems(database, position, response);
}

/** Updates the row instead of replacing it, because it may be read at this moment. */
function replace(database: DatabaseSync, position: number, { stored, value }: { stored: StoredResponse; value: string }): void {
  const { isRunning, response } = stored;
  const sql = 'UPDATE responses SET is_running = ?, characters = ? WHERE position = ?';
  execute(database, sql, isRunning ? 1 : 0, value.length, position);
  execute(database, 'UPDATE response_values SET value = ? WHERE position = ?', value, position);
  insertItems(database, position, response);
}

function insertItems(database: DatabaseSync, position: number, response: JsonObject): void {
  const itemIds = outputOf(response).flatMap((item) => (typeof item['id'] === 'string' ? [item['id']] : []));
  for (const itemId of itemIds)
    execute(database, 'INSERT OR IGNORE INTO response_items (item_id, position) VALUES (?, ?)', itemId, position);
}

/** `condition` becomes part of the SQL, so it must never come from a request. */
function remove(database: DatabaseSync, condition: string, ...values: SQLInputValue[]): void {
  execute(database, `DELETE FROM responses WHERE ${condition}`, ...values);
}

function enforceBounds(database: DatabaseSync, callerId: string, bounds: ResponseBounds): void {
  const { responsesPerCaller: entries, charactersPerCaller: characters } = bounds;
  const surplus = surplusOf(database, { table: 'responses', order: 'used DESC, position DESC', callerId }, { entries, characters });
  for (const position of surplus) remove(database, 'position = ?', position);
  const size = selectFirst<{ total: number }>(database, 'SELECT total(characters) AS total FROM responses INDEXED BY responses_of_caller');
  if (size === undefined || size.total <= bounds.characters) return;
  const shares = sharesIn(database, { table: 'responses', id: 'position', where: 'TRUE', order: 'used, position' });
  for (const { id } of chooseLosses(shares, { entries: Infinity, characters: bounds.characters })) remove(database, 'position = ?', id);
}

function outputOf(response: JsonObject | undefined): JsonObject[] {
  const output = response?.['output'];
  return Array.isArray(output) ? output.filter(isJsonObject) : [];
}
