import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTick } from 'node:timers/promises';
import type { BackendConfig } from '../../../core/models/backend-config.ts';
import type { KeyRecord, ToolServerRecord } from '../../../core/stores/registry.ts';
import { deepFreeze } from '../../../shared/json/deep-freeze.ts';
import type { MaybePromise } from '../../../shared/async/maybe-promise.ts';
import type { SecretCipher } from '../../secrets/encrypt-secrets.ts';
import type { DatabaseConnection } from '../connection/database-connection.ts';
import { readPragma } from '../connection/migrations.ts';
import { readBackendRow } from './backend-row.ts';
import { readKey } from './key-row.ts';
import { RecordTable } from './record-table.ts';
import { isSameRow, type RowContent, type StoredRow } from './stored-row.ts';
import { readToolServerRow, selectToolServers, toToolServerRow, type ReadToolServer } from './tool-server-row.ts';

/** Records of a new list whose secrets are encrypted in one tick of the event loop. */
export const preparedPerTick = 50;

/** A row to write, and the stored row it was made from. */
interface PreparedRow {
  before: StoredRow | undefined;
  row: RowContent;
}

/** All records, from one state of the database. */
interface Snapshot {
  readonly toolServers: RecordTable<ReadToolServer>;
  readonly backends: RecordTable<BackendConfig>;
  readonly keys: RecordTable<KeyRecord>;
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
  readonly #options: RegistryRecordsOptions;
  readonly #snapshot: Snapshot;
  #database: DatabaseSync | undefined;
  /** SQLite's `data_version`, which changes when another connection writes. */
  #version = 0;
  #checkedAt = -Infinity;

  constructor(connection: DatabaseConnection, options: RegistryRecordsOptions) {
    const { cipher, backendCipher } = options;
    this.#connection = connection;
    this.#cipher = cipher;
    this.#options = options;
    const columns = 'id, position, record, secrets';
    this.#snapshot = {
      toolServers: new RecordTable({
        table: 'tool_servers',
        kind: 'tool server',
        columns,
        toValue: (row) => readToolServerRow(row, cipher),
      }),
      backends: new RecordTable({ table: 'backends', kind: 'backend', columns, toValue: (row) => readBackendRow(row, backendCipher) }),
      keys: new RecordTable({
        table: 'keys',
        kind: 'key',
        columns: `id, position, record, '' AS secrets`,
        toValue: ({ record }) => deepFreeze(readKey(record, cipher)),
        uniqueText: ({ hash }) => hash,
      }),
    };
  }

  /** Cached, because every chat reads the registry: checking the file each time would cost more than all its other work before the model request. */
  read(): MaybePromise<Snapshot> {
    const time = this.#options.now();
    const isFresh = this.#database !== undefined && time >= this.#checkedAt && time - this.#checkedAt < this.#options.cacheMs;
    if (isFresh && Object.values(this.#snapshot).every((table: RecordTable<unknown>) => table.isCurrent)) return this.#snapshot;
    return this.#connection
      .read((database) => this.#refresh(database))
      .then(() => {
        this.#checkedAt = time;
        return this.#snapshot;
      });
  }

  /** `id`: the only row of the table that `work` changes. Default: any. */
  async write(table: keyof Snapshot, id: string | undefined, work: (database: DatabaseSync) => void): Promise<void> {
    try {
      await this.#connection.write(work);
    } finally {
      // Also after a failure: an interrupted commit may have taken effect.
      this.#snapshot[table].noteChange(id);
    }
  }

  /** Encrypts the secrets of a long list over several ticks of the event loop, and caches its records, so that they are not decrypted again. */
  async prepareRows(records: readonly ToolServerRecord[]): Promise<Map<string, PreparedRow>> {
    const stored = new Map((await this.#connection.read(selectToolServers)).map((row) => [row.id, row]));
    const prepared = new Map<string, PreparedRow>();
    const values = new Map<string, { row: StoredRow; value: ReadToolServer }>();
    for (const [position, record] of records.entries()) {
      const before = stored.get(record.id);
      const row = toToolServerRow(record, before, this.#cipher);
      prepared.set(record.id, { before, row });
      if (!isSameRow(row, before)) values.set(record.id, { row: { ...row, position }, value: readToolServerRow(row, this.#cipher) });
      if (prepared.size % preparedPerTick === 0) await nextTick();
    }
    this.#snapshot.toolServers.expect(values);
    return prepared;
  }

  #refresh(database: DatabaseSync): void {
    const tables: RecordTable<unknown>[] = Object.values(this.#snapshot);
    // Read the version before the rows: a write in between then shows as a change at the next check.
    const version = readPragma(database, 'data_version');
    if (this.#database !== database || this.#version !== version) for (const table of tables) table.noteChange();
    for (const table of tables) table.refresh(database);
    this.#database = database;
    this.#version = version;
  }
}
