import { chmodSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { GatewayError } from '../../core/errors.ts';
import { createAtomically } from '../atomic-create.ts';
import { migrate, readPragma, requireKnownSchema } from './migrations.ts';
import { faultKindOf, toStorageFault } from '../storage-fault.ts';

/** A thousand tool servers with documents of one megabyte; more comes from a loop that writes. */
const maxDatabaseBytes = 1024 * 1024 * 1024;

/** SQLite's name for a database that is gone with its connection. */
export const inMemory = ':memory:';

export interface OpenDatabase {
  database: DatabaseSync;
  /** Changes when another file takes the place of the one that was opened; see `identityOf`. */
  identity: string;
  /** SQLite neither locks it nor reads its side files: for a folder that cannot be written. */
  isImmutable: boolean;
}

export interface OpenDatabaseOptions {
  file: string;
  /** False only at the first opening: a file that vanishes later must not be replaced by an empty one. */
  mustExist: boolean;
  maxBytes?: number;
}

/**
 * Opens the database, creates it where that is allowed and it does not exist, and runs the missing migrations.
 * Never waits: a lock is SQLite's error 5, for the caller to try again.
 * @throws SQLite's and the file system's errors; GatewayError `storage_unavailable` for a file that is no database of this release.
 */
export function openDatabase({ file, mustExist, maxBytes = maxDatabaseBytes }: OpenDatabaseOptions): OpenDatabase {
  if (file === inMemory) return openInMemory(maxBytes);
  if (!mustExist && identityOf(file, false) === undefined) createDatabase(file);
  try {
    return openAs(file, 'write', maxBytes);
  } catch (error) {
    // With content beside the file, the file alone would be an older state.
    if (!isUnwritable(error) || (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) throw error;
    try {
      // Reads go on in a folder where SQLite cannot create its side files.
      return openAs(file, 'immutable');
    } catch (secondError) {
      throw secondError instanceof GatewayError ? secondError : error;
    }
  }
}

function openInMemory(maxBytes: number): OpenDatabase {
  const database = new DatabaseSync(inMemory);
  prepare(database, { file: inMemory, maxBytes });
  return { database, identity: inMemory, isImmutable: false };
}

/**
 * Opens the database only to read, while another process may use it, and creates nothing: neither the file nor SQLite's side files.
 * @throws as `openDatabase`
 */
export function openToRead(file: string): OpenDatabase {
  if (statSync(file).size === 0) throw toStorageFault('damaged', file);
  const isInUse = [`${file}-wal`, `${file}-shm`].every((beside) => statSync(beside, { throwIfNoEntry: false }) !== undefined);
  try {
    return openAs(file, isInUse ? 'read' : 'immutable');
  } catch (error) {
    // The side files were left behind by a process that was killed: to read them they would have to be repaired.
    if (isUnwritable(error)) return openAs(file, 'immutable');
    throw error;
  }
}

function isUnwritable(error: unknown): boolean {
  const kind = faultKindOf(error);
  return kind === 'unopenable' || kind === 'readonly';
}

function openAs(file: string, access: 'write' | 'read' | 'immutable', maxBytes = maxDatabaseBytes): OpenDatabase {
  const isImmutable = access === 'immutable';
  const address = pathToFileURL(file);
  if (isImmutable) address.searchParams.set('immutable', '1');
  // Never creates: an empty database must not replace one that was removed this moment.
  else address.searchParams.set('mode', access === 'read' ? 'ro' : 'rw');
  const identity = identityOf(file, isImmutable);
  const database = new DatabaseSync(address, { readOnly: access !== 'write' });
  try {
    requireKnownSchema(database, { file });
    requireCreatedByGateway(database, file);
    requireIntact(database, file);
    if (access === 'write') prepare(database, { file, maxBytes });
  } catch (error) {
    database.close();
    throw error;
  }
  return { database, identity: identity ?? '', isImmutable };
}

function prepare(database: DatabaseSync, { file, maxBytes }: { file: string; maxBytes: number }): void {
  // FULL: a commit is on the disk before it is acknowledged, also through a power cut.
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON');
  // Overwrites what is deleted where its page is written anyway.
  database.exec('PRAGMA secure_delete = FAST');
  database.exec(`PRAGMA max_page_count = ${Math.floor(maxBytes / readPragma(database, 'page_size'))}`);
  migrate(database, { file });
}

/**
 * SQLite takes a file that is empty, or shorter than a page, for a new database. The gateway never leaves one (see `createDatabase`): a file that looks
 * new was truncated or replaced, and without its keys the gateway would be open.
 */
function requireCreatedByGateway(database: DatabaseSync, file: string): void {
  if (readPragma(database, 'user_version') === 0) throw toStorageFault('damaged', file);
}

/** Reads every page once, so that damage shows when the file is opened and not during a chat. */
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

/** Which file has this name now; undefined: none. Of an immutable one the content's age counts too, since SQLite does not look again. */
export function identityOf(file: string, isImmutable: boolean): string | undefined {
  if (file === inMemory) return inMemory;
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  if (found === undefined) return undefined;
  return isImmutable ? `${found.dev}:${found.ino}:${found.size}:${found.mtimeNs}` : `${found.dev}:${found.ino}`;
}

/**
 * The file of a `sqlite:` address: `sqlite:<path>`, or the form with slashes of other programs: `sqlite:///relative`, `sqlite:////absolute`.
 * @throws GatewayError `invalid_request` for another kind of address, and for a database in memory, which would keep nothing.
 */
export function databaseFile(databaseUrl: string): string {
  const path = databaseUrl.startsWith('sqlite:') ? databaseUrl.slice('sqlite:'.length).replace(/^\/\/\//, '') : '';
  if (path !== '' && !path.includes(':memory:') && !path.includes('\0')) return path;
  throw new GatewayError('invalid_request', 'DATABASE_URL does not name a file; set for example sqlite:./data/toolwharf.db');
}
