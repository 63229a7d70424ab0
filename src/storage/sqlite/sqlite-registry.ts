import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { GatewayError } from '../../core/errors.ts';
import type { KeyRecord, Registry, ToolServerRecord } from '../../core/stores/registry.ts';
import type { DatabaseConnection } from './connection/database-connection.ts';
import { deepFreeze } from '../../shared/deep-freeze.ts';
import { createSecretCipher } from '../secrets/encrypt-secrets.ts';
import type { SecretCipher } from '../secrets/encrypt-secrets.ts';
import { readPragma } from './connection/migrations.ts';
import { selectAll, selectFirst } from './connection/select.ts';
import { readToolServerRow, toToolServerRow } from './tool-server-row.ts';
import type { ReadToolServer, ToolServerRow } from './tool-server-row.ts';
import { whenThere } from '../../shared/maybe-promise.ts';
import type { MaybePromise } from '../../shared/maybe-promise.ts';
import { copyJson } from '../../shared/json.ts';

/** Records of a new list whose secrets are encrypted in one turn of the event loop. */
const preparedPerTurn = 50;

/** A row to be written, and the one that it was made for. */
interface PreparedRow {
  before: ToolServerRow | undefined;
  row: ToolServerRow;
}

/** Records by id, with the rows that they were parsed from. */
type RecordCache<Value> = ReadonlyMap<string, { row: ToolServerRow; value: Value }>;

/** All records, from one state of the database. */
interface Snapshot {
  database: DatabaseSync;
  /** SQLite's `data_version`, which changes when another connection writes. */
  version: number;
  toolServers: RecordCache<ReadToolServer>;
  keys: RecordCache<KeyRecord>;
  keysByHash: ReadonlyMap<string, KeyRecord>;
}

interface SqliteRegistryOptions {
  /** Encrypts the keys and header values of tool servers. */
  secret: string;
  /** Milliseconds since 1970. */
  now: () => number;
  /** How long records are cached, in milliseconds, before checking for changes by another process. Changes by this one show at once. */
  cacheMs: number;
}

/**
 * The registry; closing it closes the connection. A tool server whose credentials were encrypted with another secret is listed without them and with
 * `extra.unreadable_secrets`; `findToolServer` throws. Changing such a server keeps the unreadable values unless new ones are given.
 */
export function createSqliteRegistry(connection: DatabaseConnection, { secret, now, cacheMs }: SqliteRegistryOptions): Registry {
  const cipher = createSecretCipher(secret);
  let snapshot: Snapshot | undefined;
  let isStale = true;
  let checkedAt = -Infinity;
  /** Records of a new list while it is written: reading a thousand new rows at once would take long. */
  let replacing: RecordCache<ReadToolServer> | undefined;

  function readSnapshot(database: DatabaseSync): Snapshot {
    // Read the version before the rows: a write in between then shows as a change at the next check.
    const version = readPragma(database, 'data_version');
    if (!isStale && snapshot?.database === database && snapshot.version === version) return snapshot;
    const toolServerRows = selectToolServers(database);
    const keyRows = selectAll<ToolServerRow>(database, `SELECT id, record, '' AS secrets FROM keys ORDER BY position`);
    const toolServers = readRecords(toolServerRows, [snapshot?.toolServers, replacing], {
      kind: 'tool server',
      toValue: (row) => readToolServerRow(row, cipher),
    });
    const keys = readRecords(keyRows, [snapshot?.keys], {
      kind: 'key',
      toValue: ({ record }) => deepFreeze(readKey(record, cipher)),
    });
    const keysByHash = new Map([...keys.values()].map(({ value }) => [value.hash, value]));
    snapshot = { database, version, toolServers, keys, keysByHash };
    isStale = false;
    replacing = undefined;
    return snapshot;
  }

  /** Cached, because every chat reads the registry: checking the file each time would cost more than all its other work before the model request. */
  function read(): MaybePromise<Snapshot> {
    const time = now();
    if (!isStale && snapshot !== undefined && time >= checkedAt && time - checkedAt < cacheMs) return snapshot;
    return connection.read(readSnapshot).then((current) => {
      checkedAt = time;
      return current;
    });
  }

  async function write(work: (database: DatabaseSync) => void): Promise<void> {
    try {
      await connection.write(work);
    } finally {
      // Also after a failure: an interrupted commit may have taken effect.
      isStale = true;
    }
  }

  /** Encrypts the secrets of a long list over several turns of the event loop, and keeps its records so that they need not be read again. */
  async function prepareRows(records: readonly ToolServerRecord[]): Promise<Map<string, PreparedRow>> {
    const stored = new Map((await connection.read(selectToolServers)).map((row) => [row.id, row]));
    const prepared = new Map<string, PreparedRow>();
    const values = new Map<string, { row: ToolServerRow; value: ReadToolServer }>();
    for (const record of records) {
      const before = stored.get(record.id);
      const row = toToolServerRow(record, before, cipher);
      prepared.set(record.id, { before, row });
      if (!isSameRow(row, before)) values.set(record.id, { row, value: readToolServerRow(row, cipher) });
      if (prepared.size % preparedPerTurn === 0) await nextTurn();
    }
    replacing = values;
    return prepared;
  }

  return {
    listToolServers: () => whenThere(read(), ({ toolServers }) => Array.from(toolServers.values(), ({ value }) => value.record)),
    findToolServer: async (id) => {
      const { toolServers } = await read();
      const found = toolServers.get(id)?.value;
      if (found !== undefined && found.unreadable.length > 0) throw unreadable(id, found.unreadable);
      return found?.record;
    },
    createToolServer: async (given) => {
      const record = copyJson(given);
      await write((database) => {
        insertToolServer(database, toToolServerRow(record, undefined, cipher));
      });
    },
    changeToolServer: async (given) => {
      const record = copyJson(given);
      await write((database) => {
        const before = findToolServerRow(database, record.id);
        if (before === undefined) throw missing('tool server', record.id);
        const row = toToolServerRow(record, before, cipher);
        database.prepare('UPDATE tool_servers SET record = ?, secrets = ? WHERE id = ?').run(row.record, row.secrets, record.id);
      });
    },
    deleteToolServer: (id) =>
      write((database) => {
        if (database.prepare('DELETE FROM tool_servers WHERE id = ?').run(id).changes === 0) throw missing('tool server', id);
      }),
    replaceToolServers: async (given) => {
      const records: ToolServerRecord[] = copyJson([...given]);
      const prepared = records.length > preparedPerTurn ? await prepareRows(records) : undefined;
      await write((database) => {
        const current = new Map(selectToolServers(database).map((row) => [row.id, row]));
        const rows = records.map((record) => {
          const before = current.get(record.id);
          const known = prepared?.get(record.id);
          return known !== undefined && isSameRow(known.before, before) ? known.row : toToolServerRow(record, before, cipher);
        });
        const ids = new Set<string>();
        database.exec('DELETE FROM tool_servers');
        const insert = database.prepare('INSERT INTO tool_servers (id, position, record, secrets) VALUES (?, ?, ?, ?)');
        for (const { id, record, secrets } of rows) {
          if (ids.has(id)) throw taken('tool server', id);
          ids.add(id);
          insert.run(id, ids.size, record, secrets);
        }
      });
    },

    listKeys: async () => [...(await read()).keys.values()].map(({ value }) => value),
    findKeyByHash: async (hash) => (await read()).keysByHash.get(hash),
    createKey: async (given) => {
      const record = copyJson(given);
      await write((database) => {
        requireFreeKey(database, record, '');
        const sql = 'INSERT INTO keys (id, position, hash, record) SELECT ?, coalesce(max(position), 0) + 1, ?, ? FROM keys';
        database.prepare(sql).run(record.id, record.hash, writeKey(record, cipher));
      });
    },
    changeKey: async (given) => {
      const record = copyJson(given);
      await write((database) => {
        requireFreeKey(database, record, record.id);
        const sql = 'UPDATE keys SET hash = ?, record = ? WHERE id = ?';
        const { changes } = database.prepare(sql).run(record.hash, writeKey(record, cipher), record.id);
        if (changes === 0) throw missing('key', record.id);
      });
    },
    deleteKey: (id) =>
      write((database) => {
        if (database.prepare('DELETE FROM keys WHERE id = ?').run(id).changes === 0) throw missing('key', id);
      }),

    readFact: (name) =>
      connection.read((database) => selectFirst<{ value: string }>(database, 'SELECT value FROM facts WHERE name = ?', name)?.value),
    writeFact: (name, value) =>
      write((database) => {
        const sql = 'INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value';
        database.prepare(sql).run(name, value);
      }),
    close: () => connection.close(),
  };
}

/**
 * Returns the same object for an unchanged row, so that callers can cache by identity what they derive from a record.
 * @throws GatewayError `storage_unavailable` for a row that cannot be parsed, naming it.
 */
function readRecords<Value>(
  rows: readonly ToolServerRow[],
  before: readonly (RecordCache<Value> | undefined)[],
  { kind, toValue }: { kind: string; toValue: (row: ToolServerRow) => Value },
): RecordCache<Value> {
  return new Map(
    rows.map((row) => {
      const known = before.map((cache) => cache?.get(row.id)).find((one) => one !== undefined && isSameRow(one.row, row));
      if (known !== undefined) return [row.id, known];
      try {
        return [row.id, { row, value: toValue(row) }];
      } catch (cause) {
        const message = `The stored ${kind} "${row.id}" is damaged. Restore the database from a backup.`;
        throw new GatewayError('storage_unavailable', message, { cause });
      }
    }),
  );
}

const userSecret = 'users:secret';

/** The secret that tokens of people are signed with is encrypted; all else of a key is no secret. */
function writeKey(record: KeyRecord, cipher: SecretCipher): string {
  const { people } = record;
  if (people?.from !== 'jwt' || people.secret === undefined) return JSON.stringify(record);
  const secret = cipher.encrypt(people.secret, { id: record.id, field: userSecret });
  return JSON.stringify({ ...record, people: { ...people, secret } });
}

/** A secret that cannot be decrypted becomes one that signs nothing, so that the key lets nobody in. */
function readKey(text: string, cipher: SecretCipher): KeyRecord {
  const record = JSON.parse(text) as KeyRecord;
  const { people } = record;
  if (people?.from !== 'jwt' || people.secret === undefined) return record;
  const secret = cipher.decrypt(people.secret, { id: record.id, field: userSecret }) ?? randomUUID();
  return { ...record, people: { ...people, secret } };
}

function insertToolServer(database: DatabaseSync, { id, record, secrets }: ToolServerRow): void {
  if (findToolServerRow(database, id) !== undefined) throw taken('tool server', id);
  const sql = 'INSERT INTO tool_servers (id, position, record, secrets) SELECT ?, coalesce(max(position), 0) + 1, ?, ? FROM tool_servers';
  database.prepare(sql).run(id, record, secrets);
}

function isSameRow(one: ToolServerRow | undefined, other: ToolServerRow | undefined): boolean {
  return one?.record === other?.record && one?.secrets === other?.secrets;
}

function selectToolServers(database: DatabaseSync): ToolServerRow[] {
  return selectAll<ToolServerRow>(database, 'SELECT id, record, secrets FROM tool_servers ORDER BY position');
}

function findToolServerRow(database: DatabaseSync, id: string): ToolServerRow | undefined {
  return selectFirst<ToolServerRow>(database, 'SELECT id, record, secrets FROM tool_servers WHERE id = ?', id);
}

/** `changedId`: the key that is being changed, which may keep its id and hash; empty for a new key. */
function requireFreeKey(database: DatabaseSync, { id, hash }: KeyRecord, changedId: string): void {
  const sql = 'SELECT id FROM keys WHERE (id = ? OR hash = ?) AND id <> ?';
  const other = selectFirst<{ id: string }>(database, sql, id, hash, changedId);
  if (other !== undefined) throw taken('key', other.id);
}

function taken(kind: string, id: string): GatewayError {
  return new GatewayError('conflict', `There is already a ${kind} "${id}". Change that one, or choose another id.`);
}

function missing(kind: string, id: string): GatewayError {
  return new GatewayError('not_found', `There is no ${kind} "${id}".`);
}

function unreadable(id: string, fields: readonly string[]): GatewayError {
  return new GatewayError(
    'storage_unavailable',
    `The stored ${fields.join(', ')} of tool server "${id}" cannot be read with this TOOLWHARF_SECRET. Set the secret they were stored with, or give new values.`,
  );
}
