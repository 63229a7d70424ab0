import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { GatewayError } from '../../core/errors.ts';
import type { KeyRecord, Registry, ToolServerRecord } from '../../core/registry.ts';
import type { DatabaseConnection } from './database-connection.ts';
import { deepFreeze } from '../../shared/deep-freeze.ts';
import { createSecretCipher } from '../secrets/encrypt-secrets.ts';
import { readPragma } from './migrations.ts';
import { renewCache } from './record-cache.ts';
import type { RecordCache } from './record-cache.ts';
import { readToolServerRow, toToolServerRow } from './tool-server-row.ts';
import type { ReadToolServer, ToolServerRow } from './tool-server-row.ts';

interface KeyRow {
  id: string;
  hash: string;
  record: string;
}

/** Everything as of one state of the database. */
interface Snapshot {
  database: DatabaseSync;
  /** SQLite's `data_version`: another process wrote when it differs. */
  version: number;
  toolServers: RecordCache<ToolServerRow, ReadToolServer>;
  keys: RecordCache<KeyRow, KeyRecord>;
  keysByHash: ReadonlyMap<string, KeyRecord>;
}

export interface SqliteRegistryOptions {
  /** Encrypts the keys and header values of tool servers. */
  secret: string;
  /** Milliseconds since 1970. */
  now: () => number;
  /** How long something read is believed before the file is asked whether another process changed it. Own changes show at once. */
  believedMs: number;
}

/**
 * The registry in the gateway's SQLite database; closing it closes the connection. A tool server whose secrets were stored under another secret is listed
 * without them and with `extra.unreadable_secrets`; `findToolServer` refuses it. Changing such a server keeps what cannot be read, unless a new value is given.
 */
export function createSqliteRegistry(connection: DatabaseConnection, { secret, now, believedMs }: SqliteRegistryOptions): Registry {
  const cipher = createSecretCipher(secret);
  let snapshot: Snapshot | undefined;
  let isStale = true;
  let askedAt = -Infinity;

  const toolServerRules = {
    kind: 'tool server',
    isSameRow: (left: ToolServerRow, right: ToolServerRow) => left.record === right.record && left.secrets === right.secrets,
    toValue: (row: ToolServerRow) => readToolServerRow(row, cipher),
  };
  const keyRules = {
    kind: 'key',
    isSameRow: (left: KeyRow, right: KeyRow) => left.record === right.record,
    toValue: (row: KeyRow) => deepFreeze(JSON.parse(row.record) as KeyRecord),
  };

  function readSnapshot(database: DatabaseSync): Snapshot {
    // First the version, then the rows: what is written in between shows the next time.
    const version = readPragma(database, 'data_version');
    if (!isStale && snapshot?.database === database && snapshot.version === version) return snapshot;
    const toolServerRows = selectAll<ToolServerRow>(database, 'SELECT id, record, secrets FROM tool_servers ORDER BY position');
    const keyRows = selectAll<KeyRow>(database, 'SELECT id, hash, record FROM keys ORDER BY position');
    const toolServers = renewCache(toolServerRows, snapshot?.toolServers ?? new Map(), toolServerRules);
    const keys = renewCache(keyRows, snapshot?.keys ?? new Map(), keyRules);
    const keysByHash = new Map([...keys.values()].map(({ value }) => [value.hash, value]));
    snapshot = { database, version, toolServers, keys, keysByHash };
    isStale = false;
    return snapshot;
  }

  /** Every chat reads: asking the file each time costs more than all else that a chat does before its model. */
  async function read(): Promise<Snapshot> {
    const time = now();
    if (!isStale && snapshot !== undefined && time >= askedAt && time - askedAt < believedMs) return snapshot;
    const current = await connection.read(readSnapshot);
    askedAt = time;
    return current;
  }

  async function write(work: (database: DatabaseSync) => void): Promise<void> {
    try {
      await connection.write(work);
    } finally {
      // Also after a failure: of an interrupted commit nobody knows how it ended.
      isStale = true;
    }
  }

  function insertToolServer(database: DatabaseSync, { id, record, secrets }: ToolServerRow): void {
    const sql = 'INSERT INTO tool_servers (id, position, record, secrets) SELECT ?, coalesce(max(position), 0) + 1, ?, ? FROM tool_servers';
    database.prepare(sql).run(id, record, secrets);
  }

  const copyOf = <Value>(value: Value): Value => structuredClone(value);

  return {
    listToolServers: async () => {
      const { toolServers } = await read();
      return [...toolServers.values()].map(({ value }) => value.record);
    },
    findToolServer: async (id) => {
      const { toolServers } = await read();
      const found = toolServers.get(id)?.value;
      if (found !== undefined && found.unreadable.length > 0) throw unreadable(id, found.unreadable);
      return found?.record;
    },
    createToolServer: async (given) => {
      const record = copyOf(given);
      await write((database) => {
        if (findToolServerRow(database, record.id) !== undefined) throw taken('tool server', record.id);
        insertToolServer(database, toToolServerRow(record, undefined, cipher));
      });
    },
    changeToolServer: async (given) => {
      const record = copyOf(given);
      await write((database) => {
        const before = findToolServerRow(database, record.id);
        if (before === undefined) throw missing('tool server', record.id);
        updateToolServer(database, toToolServerRow(record, before, cipher));
      });
    },
    deleteToolServer: (id) =>
      write((database) => {
        if (database.prepare('DELETE FROM tool_servers WHERE id = ?').run(id).changes === 0) throw missing('tool server', id);
      }),
    replaceToolServers: async (given) => {
      const records: ToolServerRecord[] = copyOf([...given]);
      await write((database) => {
        const rows = records.map((record) => toToolServerRow(record, findToolServerRow(database, record.id), cipher));
        database.exec('DELETE FROM tool_servers');
        for (const row of rows) {
          if (findToolServerRow(database, row.id) !== undefined) throw taken('tool server', row.id);
          insertToolServer(database, row);
        }
      });
    },

    listKeys: async () => [...(await read()).keys.values()].map(({ value }) => value),
    findKeyByHash: async (hash) => (await read()).keysByHash.get(hash),
    createKey: async (given) => {
      const record = copyOf(given);
      await write((database) => {
        requireFreeKey(database, record, '');
        const sql = 'INSERT INTO keys (id, position, hash, record) SELECT ?, coalesce(max(position), 0) + 1, ?, ? FROM keys';
        database.prepare(sql).run(record.id, record.hash, JSON.stringify(record));
      });
    },
    changeKey: async (given) => {
      const record = copyOf(given);
      await write((database) => {
        const sql = 'UPDATE keys SET hash = ?, record = ? WHERE id = ?';
        if (database.prepare('SELECT 1 FROM keys WHERE id = ?').get(record.id) === undefined) throw missing('key', record.id);
        requireFreeKey(database, record, record.id);
        database.prepare(sql).run(record.hash, JSON.stringify(record), record.id);
      });
    },
    deleteKey: (id) =>
      write((database) => {
        if (database.prepare('DELETE FROM keys WHERE id = ?').run(id).changes === 0) throw missing('key', id);
      }),

    readFact: (name) =>
      connection.read((database) => {
        const value = database.prepare('SELECT value FROM facts WHERE name = ?').get(name)?.['value'];
        return value === undefined ? undefined : String(value);
      }),
    writeFact: (name, value) =>
      write((database) => {
        const sql = 'INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value';
        database.prepare(sql).run(name, value);
      }),
    close: () => connection.close(),
  };
}

/** Columns are named in the SQL beside each call. */
function selectAll<Row>(database: DatabaseSync, sql: string, ...values: SQLInputValue[]): Row[] {
  return database.prepare(sql).all(...values) as unknown as Row[];
}

function updateToolServer(database: DatabaseSync, { id, record, secrets }: ToolServerRow): void {
  database.prepare('UPDATE tool_servers SET record = ?, secrets = ? WHERE id = ?').run(record, secrets, id);
}

function findToolServerRow(database: DatabaseSync, id: string): ToolServerRow | undefined {
  return selectAll<ToolServerRow>(database, 'SELECT id, record, secrets FROM tool_servers WHERE id = ?', id)[0];
}

/** `ownId`: the key that may have them, since it is being changed. */
function requireFreeKey(database: DatabaseSync, { id, hash }: KeyRecord, ownId: string): void {
  const sql = 'SELECT id FROM keys WHERE (id = ? OR hash = ?) AND id <> ?';
  const other = database.prepare(sql).get(id, hash, ownId);
  if (other !== undefined) throw taken('key', String(other['id']));
}

function taken(kind: string, id: string): GatewayError {
  return new GatewayError('conflict', `There is a ${kind} "${id}" already.`);
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
