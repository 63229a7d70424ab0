import { setImmediate as nextTick } from 'node:timers/promises';
import { limits } from '../../core/limits.ts';
import type { ResponseBounds, ResponseStore, StoredResponse } from '../../core/stores/response-store.ts';
import { isJsonObject, type JsonObject } from '../../shared/json/json.ts';
import { createSecretCipher, type SecretCipher } from '../secrets/encrypt-secrets.ts';
import { deleteInParts } from './delete-in-parts.ts';
import { ownedBy } from './owned-by.ts';
import { execute, hasChanged, selectAll, selectFirst, type Database, type Script, type SqlValue } from './database.ts';
import { lossesIn, surplusOf } from './shares.ts';
import type { QueuedWrite } from './queued-write.ts';
import { parseExactly } from '../../shared/json/parse-exactly.ts';
import { storedChatMs } from './chats.ts';

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

interface ResponseStoreOptions {
  secret: string;
  /** Milliseconds since 1970. */
  now?: () => number;
  bounds?: ResponseBounds;
}

/**
 * Stored responses. The encrypted values are in a separate table, so that the time of
 * the last use of a whole conversation changes without rewriting it.
 */
export function createResponseStore(
  database: Database,
  { secret, now = Date.now, bounds = defaultBounds }: ResponseStoreOptions,
): ResponseStore {
  const cipher = createSecretCipher(secret, 'stored_response');
  const oldestUse = (): number => now() - bounds.ageMs;
  const encrypt = ({ id, input, response }: StoredResponse): string => cipher.encrypt(JSON.stringify({ input, response }), { id, field });

  const reader: ResponseReader = { database, cipher, oldestUse };

  return {
    async add(stored) {
      const value = encrypt(stored);
      await database.write(
        'responses',
        () => add({ stored, value }, { time: now(), oldest: oldestUse(), bounds }),
        queuedAs(stored, value),
      );
    },

    replaceRunning(stored) {
      const value = encrypt(stored);
      return database.write('responses', () => replaceRunning({ stored, value }, { oldest: oldestUse(), bounds }), queuedAs(stored, value));
    },

    async find(callerId, id) {
      const sql = `SELECT ${columns} FROM responses ${whereOwned}`;
      const row = await database.read(() => selectFirst<ResponseRow>(sql, id, callerId, oldestUse()));
      return row && (await load(reader, row))?.stored;
    },

    findHistory: (callerId, id, most) => findHistory(reader, [callerId, id], most),
    findItems: (callerId, itemIds, maxCharacters) => findItems(reader, [callerId, itemIds], maxCharacters),

    delete: (callerId, id) =>
      database.write('responses', () => hasChanged(`DELETE FROM responses ${whereOwned}`, id, callerId, oldestUse()), { callerId }),

    async deleteAllOf(callerId) {
      const { condition, values } = ownedBy(callerId);
      await removeAny(database, condition, values);
    },

    prune: () => removeAny(database, 'used < ?', [oldestUse()]),
  };
}

async function removeAny(database: Database, condition: string, values: readonly SqlValue[]): Promise<void> {
  await deleteInParts(database, {
    store: 'responses',
    table: 'responses',
    key: ['position'],
    columns: ['characters'],
    condition,
    values,
  });
}

interface ResponseReader {
  database: Database;
  cipher: SecretCipher;
  oldestUse: () => number;
}

/** With the length of its JSON. One large value per tick of the event loop. */
async function load(
  { database, cipher }: ResponseReader,
  row: ResponseRow,
): Promise<{ stored: StoredResponse; characters: number } | undefined> {
  await nextTick();
  const sql = 'SELECT value FROM response_values WHERE position = ?';
  const found = await database.read(() => selectFirst<{ value: string }>(sql, row.position));
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
  const rows = await reader.database.read(() => selectAll<ResponseRow>(historySql, ...values));
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
  const rows = await reader.database.read(() => findHolders([...asked], callerId, reader.oldestUse()));
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
const columns = 'position, id, caller_id AS "callerId", created, used, previous_id AS "previousId", is_running AS "isRunning"';
/** A response and those that it builds on, the last one first. The limit also ends a circle. */
const chainSql = `WITH RECURSIVE chain(depth, place, next) AS (
    SELECT 0, position, previous_id FROM responses WHERE id = ?1 AND caller_id = ?2
    UNION ALL SELECT depth + 1, position, previous_id FROM chain JOIN responses ON id = next WHERE caller_id = ?2 AND depth + 1 < ?3
  )`;
const historySql = `${chainSql} SELECT ${columns} FROM chain JOIN responses ON position = place ORDER BY depth`;
const renewSql = `${chainSql} UPDATE responses SET used = ?4 WHERE position IN (SELECT place FROM chain)`;
/** Each is a placeholder, of which a statement may have some ten thousand. */
const itemsPerQuery = 1_000;

/** The responses that have some of these items, the last one first. */
function* findHolders(itemIds: readonly string[], callerId: string, oldest: number): Script<ResponseRow[]> {
  const rows = new Map<number, ResponseRow>();
  for (let start = 0; start < itemIds.length; start += itemsPerQuery) {
    const part = itemIds.slice(start, start + itemsPerQuery);
    const sql = `SELECT ${columns} FROM responses WHERE position IN (
        SELECT position FROM response_items WHERE item_id IN (${part.map(() => '?').join(', ')})
      ) AND caller_id = ? AND used >= ?`;
    for (const row of yield* selectAll<ResponseRow>(sql, ...part, callerId, oldest)) rows.set(row.position, row);
  }
  return [...rows.values()].toSorted((one, other) => other.position - one.position);
}

interface ResponseRow {
  position: number;
  id: string;
  callerId: string;
  created: number;
  used: number;
  previousId: string | null;
  isRunning: 0 | 1;
}

function* findPosition(where: string, values: readonly SqlValue[]): Script<number | undefined> {
  return (yield* selectFirst<{ position: number }>(`SELECT position FROM responses ${where}`, ...values))?.position;
}

interface Written {
  stored: StoredResponse;
  value: string;
}

function* add(
  { stored, value }: Written,
  { time, oldest, bounds }: { time: number; oldest: number; bounds: ResponseBounds },
): Script<void> {
  yield* remove('id = ?', stored.id);
  yield* insert(stored, { value, time });
  yield* execute(renewSql, stored.previousId ?? null, stored.callerId, limits.responseHistory, time);
  yield* remove('used < ?', oldest);
  yield* enforceBounds(stored.callerId, bounds);
}

function* replaceRunning({ stored, value }: Written, { oldest, bounds }: { oldest: number; bounds: ResponseBounds }): Script<boolean> {
  const position = yield* findPosition(`${whereOwned} AND is_running = 1`, [stored.id, stored.callerId, oldest]);
  if (position === undefined) return false;
  yield* replace(position, { stored, value });
  yield* enforceBounds(stored.callerId, bounds);
  return true;
}

function* insert(stored: StoredResponse, { value, time }: { value: string; time: number }): Script<void> {
  const { id, callerId, created, previousId = null, isRunning, response } = stored;
  const columns = 'id, caller_id, created, used, previous_id, is_running, characters';
  const sql = `INSERT INTO responses (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING position`;
  const values = [id, callerId, created, time, previousId, isRunning ? 1 : 0, value.length];
  const { position } = (yield* selectFirst<{ position: number }>(sql, ...values)) ?? { position: 0 };
  yield* execute('INSERT INTO response_values (position, value) VALUES (?, ?)', position, value);
  yield* insertItems(position, response);
}

/** Updates the row instead of replacing it, because it may be read at this moment. */
function* replace(position: number, { stored, value }: { stored: StoredResponse; value: string }): Script<void> {
  const { isRunning, response } = stored;
  const sql = 'UPDATE responses SET is_running = ?, characters = ? WHERE position = ?';
  yield* execute(sql, isRunning ? 1 : 0, value.length, position);
  yield* execute('UPDATE response_values SET value = ? WHERE position = ?', value, position);
  yield* insertItems(position, response);
}

function* insertItems(position: number, response: JsonObject): Script<void> {
  const itemIds = outputOf(response).flatMap((item) => (typeof item['id'] === 'string' ? [item['id']] : []));
  for (const itemId of itemIds)
    yield* execute('INSERT INTO response_items (item_id, position) VALUES (?, ?) ON CONFLICT DO NOTHING', itemId, position);
}

/** `condition` becomes part of the SQL, so it must never come from a request. */
function* remove(condition: string, ...values: SqlValue[]): Script<void> {
  yield* execute(`DELETE FROM responses WHERE ${condition}`, ...values);
}

function* enforceBounds(callerId: string, bounds: ResponseBounds): Script<void> {
  const { responsesPerCaller: entries, charactersPerCaller: characters } = bounds;
  const surplus = yield* surplusOf({ table: 'responses', order: 'used DESC, position DESC', callerId }, { entries, characters });
  for (const position of surplus) yield* remove('position = ?', position);
  const all = { table: 'responses', id: 'position', where: 'TRUE', order: 'used, position' } as const;
  for (const { id } of yield* lossesIn(all, { entries: Infinity, characters: bounds.characters })) yield* remove('position = ?', id);
}

function outputOf(response: JsonObject | undefined): JsonObject[] {
  const output = response?.['output'];
  return Array.isArray(output) ? output.filter(isJsonObject) : [];
}
