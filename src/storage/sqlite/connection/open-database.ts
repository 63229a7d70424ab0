import { chmodSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { GatewayError } from '../../../core/errors.ts';
import { createAtomically } from '../../atomic-create.ts';
import { migrate, readPragma, requireKnownSchema } from './migrate.ts';
import { faultKindOf, toStorageFault } from '../../storage-fault.ts';

/** A thousand tool servers with documents of one megabyte; only runaway writes need more. */
const maxDatabaseBytes = 1024 * 1024 * 1024;

/** A file of this size is read whole within some ten milliseconds; a larger one would stop the event loop for seconds at each start. */
export const wholeCheckBytes = 32 * 1024 * 1024;

/** SQLite's name for a database in memory, which is lost when its connection closes. */
export const inMemory = ':memory:';

export interface OpenDatabase {
  database: DatabaseSync;
  /** Changes when another file takes the place of the one that was opened; see `identityOf`. */
  identity: string;
  /** Opened with `immutable=1`, for a folder that is not writable: SQLite then uses no locks and no -wal or -shm file. */
  isImmutable: boolean;
}

interface OpenDatabaseOptions {
  file: string;
  /** False only when opening for the first time: a file that disappears later must not be replaced by an empty one. */
  mustExist: boolean;
  maxBytes?: number;
  /** Every page of files up to this size is read before they are used. */
  checkBytes?: number;
}

/**
 * Opens the database, creates it where that is allowed and it does not exist, and runs the missing migrations.
 * Does not wait for locks: it throws SQLite's error 5 (SQLITE_BUSY), and the caller retries.
 * @throws SQLite's and the file system's errors; GatewayError `storage_unavailable` for a file that is no database of this release.
 */
export function openDatabase({
  file,
  mustExist,
  maxBytes = maxDatabaseBytes,
  checkBytes = wholeCheckBytes,
}: OpenDatabaseOptions): OpenDatabase {
  if (file === inMemory) return openInMemory(maxBytes);
  if (!mustExist && identityOf(file, false) === undefined) createDatabase(file);
  try {
    return openAs(file, 'write', { maxBytes, checkBytes });
  } catch (error) {
    // If the -wal file has content, the database file alone would be an outdated state.
    if (!isUnwritable(error) || hasLogLeft(file)) throw error;
    try {
      // Keep reads working in a folder where SQLite cannot create its -wal and -shm files.
      return openAs(file, 'immutable', { checkBytes });
    } catch (secondError) {
      throw secondError instanceof GatewayError ? secondError : error;
    }
  }
}

/** Whether a process that was killed has left changes in the write-ahead log: it is empty or gone after an orderly end. */
export function hasLogLeft(file: string): boolean {
  return (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** A migrated database without rows. To copy it takes a tenth of the time that the migrations take. */
let emptyDatabase: Uint8Array | undefined;

function openInMemory(maxBytes: number): OpenDatabase {
  const database = new DatabaseSync(inMemory);
  if (emptyDatabase !== undefined) database.deserialize(emptyDatabase);
  prepare(database, { file: inMemory, maxBytes });
  // Node.js 22 has no `serialize`.
  if (emptyDatabase === undefined && 'serialize' in database) emptyDatabase = database.serialize();
  return { database, identity: inMemory, isImmutable: false };
}

/**
 * Opens the database read-only, while another process may be using it. Creates no file, not even -wal and -shm.
 * @throws as `openDatabase`
 */
export function openToRead(file: string): OpenDatabase {
  if (statSync(file).size === 0) throw toStorageFault('damaged', file);
  const isInUse = [`${file}-wal`, `${file}-shm`].every((sideFile) => statSync(sideFile, { throwIfNoEntry: false }) !== undefined);
  try {
    return openAs(file, isInUse ? 'read' : 'immutable');
  } catch (error) {
    // A killed process left the -wal and -shm files behind, and recovering them would need write access.
    if (isUnwritable(error)) return openAs(file, 'immutable');
    throw error;
  }
}

function isUnwritable(error: unknown): boolean {
  const kind = faultKindOf(error);
  return kind === 'unopenable' || kind === 'readonly';
}

function openAs(
  file: string,
  access: 'write' | 'read' | 'immutable',
  { maxBytes = maxDatabaseBytes, checkBytes = Infinity }: { maxBytes?: number; checkBytes?: number } = {},
): OpenDatabase {
  const isImmutable = access === 'immutable';
  const address = pathToFileURL(file);
  if (isImmutable) address.searchParams.set('immutable', '1');
  // Neither mode creates the file: an empty database must not replace one that was removed just now.
  else address.searchParams.set('mode', access === 'read' ? 'ro' : 'rw');
  const identity = identityOf(file, isImmutable);
  const database = new DatabaseSync(address, { readOnly: access !== 'write' });
  try {
    requireKnownSchema(database, { file });
    requireCreatedByGateway(database, file);
    if (statSync(file).size <= checkBytes) requireIntact(database, file);
    if (access === 'write') prepare(database, { file, maxBytes });
  } catch (error) {
    database.close();
    throw error;
  }
  return { database, identity: identity ?? '', isImmutable };
}

function prepare(database: DatabaseSync, { file, maxBytes }: { file: string; maxBytes: number }): void {
  // FULL: a commit that was acknowledged survives a power failure. It syncs the write-ahead log, once.
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON');
  // What a savepoint may have to undo stays in memory: a full disk must not fail other writes than those that need room on it.
  database.exec('PRAGMA temp_store = MEMORY');
  // Overwrites deleted content with zeros where that needs no additional writes.
  database.exec('PRAGMA secure_delete = FAST');
  database.exec(`PRAGMA max_page_count = ${Math.floor(maxBytes / readPragma(database, 'page_size'))}`);
  migrate(database, { file });
}

/**
 * SQLite treats a file that is empty or shorter than a page as a new database. The gateway never creates such a file (see `createDatabase`), so it must
 * have been truncated or replaced. Accepting it would lose all keys, and with them all access control.
 */
function requireCreatedByGateway(database: DatabaseSync, file: string): void {
  if (readPragma(database, 'user_version') === 0) throw toStorageFault('damaged', file);
}

/** Reads every page, so that damage is found now and not during a chat. @throws GatewayError `storage_unavailable` */
function requireIntact(database: DatabaseSync, file: string): void {
  const report = database.prepare('PRAGMA quick_check(1)').get();
  if (report?.['quick_check'] !== 'ok') throw toStorageFault('damaged', file, new Error(String(report?.['quick_check'])));
}

function createDatabase(file: string): void {
  createAtomically(file, (draft) => {
    const database = new DatabaseSync(draft);
    try {
      chmodSync(draft, 0o600);
      prepare(database, { file, maxBytes: maxDatabaseBytes });
    } finally {
      database.close();
    }
  });
}

/** Identifies the file that has this name now; undefined if there is none. Includes size and time for an immutable one, where SQLite detects no changes. */
export function identityOf(file: string, isImmutable: boolean): string | undefined {
  if (file === inMemory) return inMemory;
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  if (found === undefined) return undefined;
  return isImmutable ? `${found.dev}:${found.ino}:${found.size}:${found.mtimeNs}` : `${found.dev}:${found.ino}`;
}

/**
 * The file of a `sqlite:` URL: `sqlite:<path>`, or `sqlite:///relative` and `sqlite:////absolute` as in SQLAlchemy.
 * @throws GatewayError `invalid_request` for another kind of URL, and for a database in memory, which would be lost with the process.
 */
export function databaseFile(databaseUrl: string): string {
  const path = databaseUrl.startsWith('sqlite:') ? databaseUrl.slice('sqlite:'.length).replace(/^\/\/\//, '') : '';
  if (path !== '' && !path.includes(':memory:') && !path.includes('\0')) return path;
  throw new GatewayError('invalid_request', 'DATABASE_URL does not name a file; set for example sqlite:./data/toolwharf.db');
}
