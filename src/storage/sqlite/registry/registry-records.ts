import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTick } from 'node:timers/promises';
import { GatewayError } from '../../../core/errors.ts';
import type { BackendConfig } from '../../../core/models/backend-config.ts';
import type { KeyRecord, ToolServerRecord } from '../../../core/stores/registry.ts';
import { deepFreeze } from '../../../shared/json/deep-freeze.ts';
import type { MaybePromise } from '../../../shared/async/maybe-promise.ts';
import type { SecretCipher } from '../../secrets/encrypt-secrets.ts';
import type { DatabaseConnection } from '../connection/database-connection.ts';
import { readPragma } from '../connection/migrations.ts';
import { selectAll } from '../connection/select.ts';
import { readBackendRow, selectBackends } from './backend-row.ts';
import { readKey } from './key-row.ts';
import {
  isSameRow,
  readToolServerRow,
  selectToolServers,
  toToolServerRow,
  type ReadToolServer,
  type StoredRow,
} from './tool-server-row.ts';

/** Records of a new list whose secrets are encrypted in one tick of the event loop. */
export const preparedPerTick = 50;

/** A row to write, and the stored row it was made from. */
interface PreparedRow {
  before: StoredRow | undefined;
  row: StoredRow;
}

/** Records by id, with the rows that they were parsed from. */
type RecordCache<Value> = ReadonlyMap<string, { row: StoredRow; value: Value }>;

/** All records, from one state of the database. */
interface Snapshot {
  database: DatabaseSync;
  /** SQLite's `data_version`, which changes when another connection writes. */
  version: number;
  toolServers: RecordCache<ReadToolServer>;
  backends: RecordCache<BackendConfig>;
  keys: RecordCache<KeyRecord>;
  keysByHash: ReadonlyMap<string, KeyRecord>;
}

interface RegistryRecordsOptions {
  cipher: SecretCipher;
  backendCipher: SecretCipher;
  now: () => number;
  cacheMs: number;
}

/** The cached records of the registry. */
export class RegistryRecords {
  readonly #connection: DatabaseConnection;
  readonly #cipher: SecretCipher;
  readonly #backendCipher: SecretCipher;
  readonly #options: RegistryRecordsOptions;
  #snapshot: Snapshot | undefined;
  #isStale = true;
  #checkedAt = -Infinity;
  /** Records of a new list while it is written: reading a thousand new rows at once would take long. */
  #replacing: RecordCache<ReadToolServer> | undefined;

  constructor(connection: DatabaseConnection, options: RegistryRecordsOptions) {
    this.#connection = connection;
    this.#cipher = options.cipher;
    this.#backendCipher = options.backendCipher;
    this.#options = options;
  }

  /** Cached, because every chat reads the registry: checking the file each time would cost more than all its other work before the model request. */
  read(): MaybePromise<Snapshot> {
    const time = this.#options.now();
    if (!this.#isStale && this.#snapshot !== undefined && time >= this.#checkedAt && time - this.#checkedAt < this.#options.cacheMs)
      return this.#snapshot;
    return this.#connection
      .read((database) => this.#readSnapshot(database))
      .then((current) => {
        this.#checkedAt = time;
        return current;
      });
  }

  async write(work: (database: DatabaseSync) => void): Promise<void> {
    try {
      await this.#connection.write(work);
    } finally {
      // Also after a failure: an interrupted commit may have taken effect.
      this.#isStale = true;
    }
  }

  /** Encrypts the secrets of a long list over several ticks of the event loop, and caches its records, so that they are not decrypted again. */
  async prepareRows(records: readonly ToolServerRecord[]): Promise<Map<string, PreparedRow>> {
    const stored = new Map((await this.#connection.read(selectToolServers)).map((row) => [row.id, row]));
    const prepared = new Map<string, PreparedRow>();
    const values = new Map<string, { row: StoredRow; value: ReadToolServer }>();
    for (const record of records) {
      const before = stored.get(record.id);
      const row = toToolServerRow(record, before, this.#cipher);
      prepared.set(record.id, { before, row });
      if (!isSameRow(row, before)) values.set(record.id, { row, value: readToolServerRow(row, this.#cipher) });
      if (prepared.size % preparedPerTick === 0) await nextTick();
    }
    this.#replacing = values;
    return prepared;
  }

  #readSnapshot(database: DatabaseSync): Snapshot {
    // Read the version before the rows: a write in between then shows as a change at the next check.
    const version = readPragma(database, 'data_version');
    if (!this.#isStale && this.#snapshot?.database === database && this.#snapshot.version === version) return this.#snapshot;
    const toolServerRows = selectToolServers(database);
    const backendRows = selectBackends(database);
    const keyRows = selectAll<StoredRow>(database, `SELECT id, record, '' AS secrets FROM keys ORDER BY position`);
    const toolServers = readRecords(toolServerRows, [this.#snapshot?.toolServers, this.#replacing], {
      kind: 'tool server',
      toValue: (row) => readToolServerRow(row, this.#cipher),
    });
    const backends = readRecords(backendRows, [this.#snapshot?.backends], {
      kind: 'backend',
      toValue: (row) => readBackendRow(row, this.#backendCipher),
    });
    const keys = readRecords(keyRows, [this.#snapshot?.keys], {
      kind: 'key',
      toValue: ({ record }) => deepFreeze(readKey(record, this.#cipher)),
    });
    const keysByHash = new Map([...keys.values()].map(({ value }) => [value.hash, value]));
    this.#snapshot = { database, version, toolServers, backends, keys, keysByHash };
    this.#isStale = false;
    this.#replacing = undefined;
    return this.#snapshot;
  }
}

/**
 * Returns the same object for an unchanged row, so that callers can cache by identity what they derive from a record.
 * @throws GatewayError `storage_unavailable` for a row that cannot be parsed, naming it.
 */
function readRecords<Value>(
  rows: readonly StoredRow[],
  before: readonly (RecordCache<Value> | undefined)[],
  { kind, toValue }: { kind: string; toValue: (row: StoredRow) => Value },
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
