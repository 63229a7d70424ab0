import { setImmediate as nextTick } from 'node:timers/promises';
import { GatewayError } from '../../../core/errors.ts';
import type { BackendConfig } from '../../../core/models/backend-config.ts';
import type { KeyRecord, ToolServerRecord } from '../../../core/stores/registry.ts';
import { deepFreeze } from '../../../shared/json/deep-freeze.ts';
import type { MaybePromise } from '../../../shared/async/maybe-promise.ts';
import type { SecretCipher } from '../../secrets/encrypt-secrets.ts';
import type { Database, RecordTableName, Script } from '../database.ts';
import { readBackendRow } from './backend-row.ts';
import { readKey } from './key-row.ts';
import { RecordTable } from './record-table.ts';
import type { ReadPreset } from '../../../core/stores/preset.ts';
import { readStoredPreset } from './preset-row.ts';
import { isSameRow, type RowContent, type StoredRow } from './stored-row.ts';
import { readToolServerRow, selectToolServers, toToolServerRow, type ReadToolServer } from './tool-server-row.ts';

/** Records of a new list whose secrets are encrypted in one tick of the event loop. */
export const preparedPerTick = 50;

/** A row to write, and the stored row it was made from. */
export interface PreparedRow {
  before: StoredRow | undefined;
  row: RowContent;
}

/** All records, from one state of the database. */
interface Snapshot {
  readonly tool_servers: RecordTable<ReadToolServer>;
  readonly backends: RecordTable<BackendConfig>;
  readonly keys: RecordTable<KeyRecord>;
  readonly presets: RecordTable<ReadPreset>;
}

/** Between two attempts to read a database that does not answer. */
const failurePauseMs = 1_000;

interface RegistryRecordsOptions {
  cipher: SecretCipher;
  backendCipher: SecretCipher;
  now: () => number;
  cacheMs: number;
  staleMs: number;
}

function* withNote<Value>(work: Script<Value>, note: Script<void>): Script<Value> {
  const value = yield* work;
  yield* note;
  return value;
}

/** The cached records of the registry. */
export class RegistryRecords {
  readonly #database: Database;
  readonly #cipher: SecretCipher;
  readonly #options: RegistryRecordsOptions;
  readonly #snapshot: Snapshot;
  /** Of the last refresh, see `Database.changesSince`; undefined before it. */
  #mark: string | undefined;
  #refreshing: Promise<void> | undefined;
  #failure: { error: unknown; time: number } | undefined;
  /** When the records were last known to be current. */
  #readAt: number | undefined;
  #checkedAt = -Infinity;

  constructor(database: Database, options: RegistryRecordsOptions) {
    const { cipher, backendCipher } = options;
    this.#database = database;
    this.#cipher = cipher;
    this.#options = options;
    const columns = 'id, position, record, secrets';
    this.#snapshot = {
      tool_servers: new RecordTable({
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
      presets: new RecordTable({
        table: 'presets',
        kind: 'preset',
        columns: `id, position, record, '' AS secrets`,
        toValue: ({ record }) => readStoredPreset(record),
      }),
    };
  }

  /** Cached, because every chat reads the registry: checking the file each time would cost more than all its other work before the model request. */
  read(): MaybePromise<Snapshot> {
    const isKept = this.#failure !== undefined && this.#mayBeStale(this.#failure.error);
    return this.#isFresh() || isKept ? this.#snapshot : this.#refreshed();
  }

  #isFresh(): boolean {
    const time = this.#options.now();
    const isChecked = this.#mark !== undefined && time >= this.#checkedAt && time - this.#checkedAt < this.#options.cacheMs;
    return isChecked && this.#isCurrent();
  }

  #isCurrent(): boolean {
    return Object.values(this.#snapshot).every((table: RecordTable<unknown>) => table.isCurrent);
  }

  /** Looks for changes now, also where the records are fresh. */
  async refresh(): Promise<void> {
    await this.#refreshed();
  }

  /** Also reads what was written while an earlier refresh was under way. */
  async #refreshed(): Promise<Snapshot> {
    try {
      do await (this.#refreshing ??= this.#refresh().finally(() => (this.#refreshing = undefined)));
      while (!this.#isCurrent());
    } catch (error) {
      if (!this.#mayBeStale(error)) throw error;
    }
    return this.#snapshot;
  }

  #mayBeStale(error: unknown): boolean {
    const isUnavailable = error instanceof GatewayError && error.code === 'storage_unavailable';
    return isUnavailable && this.#readAt !== undefined && this.#options.now() - this.#readAt < this.#options.staleMs;
  }

  async #refresh(): Promise<void> {
    const time = this.#options.now();
    // While the database does not answer, nobody waits for it anew each time.
    if (this.#failure !== undefined && Math.abs(time - this.#failure.time) < failurePauseMs && this.#options.staleMs > 0)
      throw this.#failure.error;
    try {
      await this.#database.read(() => this.#readChanges());
    } catch (error) {
      this.#failure = { error, time: this.#options.now() };
      // What was to be read may be read by half.
      for (const table of Object.values(this.#snapshot) as RecordTable<unknown>[]) table.noteChange();
      throw error;
    }
    this.#failure = undefined;
    this.#checkedAt = time;
    this.#readAt = time;
  }

  /** As `write`, and the record is gone at once. */
  async delete<Value>(table: RecordTableName, id: string, work: () => Script<Value>): Promise<Value> {
    const deleted = await this.write(table, id, work);
    this.#snapshot[table].drop(id);
    return deleted;
  }

  /** `id`: the only row of the table that `work` changes. Default: any. */
  async write<Value>(table: RecordTableName, id: string | undefined, work: () => Script<Value>): Promise<Value> {
    const database = this.#database;
    try {
      return await database.write('registry', () => withNote(work(), database.noteChange(table, id)));
    } finally {
      // Also after a failure: an interrupted commit may have taken effect.
      this.#snapshot[table].noteChange(id);
    }
  }

  /** Encrypts the secrets of a long list over several ticks of the event loop, and caches its records, so that they are not decrypted again. */
  async prepareRows(records: readonly ToolServerRecord[]): Promise<Map<string, PreparedRow>> {
    const stored = new Map((await this.#database.read(selectToolServers)).map((row) => [row.id, row]));
    const prepared = new Map<string, PreparedRow>();
    const values = new Map<string, { row: StoredRow; value: ReadToolServer }>();
    for (const [position, record] of records.entries()) {
      const before = stored.get(record.id);
      const row = toToolServerRow(record, before, this.#cipher);
      prepared.set(record.id, { before, row });
      if (!isSameRow(row, before)) values.set(record.id, { row: { ...row, position }, value: readToolServerRow(row, this.#cipher) });
      if (prepared.size % preparedPerTick === 0) await nextTick();
    }
    this.#snapshot.tool_servers.expect(values);
    return prepared;
  }

  *#readChanges(): Script<void> {
    const tables: RecordTable<unknown>[] = Object.values(this.#snapshot);
    // Read the mark before the rows: a write in between then shows as a change at the next check.
    const { mark, changed } = yield* this.#database.changesSince(this.#mark);
    if (changed === 'all') for (const table of tables) table.noteChange();
    else for (const { table, id } of changed) this.#snapshot[table].noteChange(id);
    for (const table of tables) yield* table.refresh(this.#database);
    this.#mark = mark;
  }
}
