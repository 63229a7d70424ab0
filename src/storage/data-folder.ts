import { chmodSync, mkdirSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { GatewayError } from '../core/errors.ts';
import { errorCodeOf, faultKindOf } from './storage-fault.ts';

/** Empty; only the lock on it matters. */
const lockFile = 'serving.lock';
/** What the gateway writes into its data folder, and what file systems and the doctor leave there. */
const knownFiles = /^(?:secret(?:\..*)?|toolwharf\.db.*|serving\.lock.*|\.doctor-.*|lost\+found)$/;

export interface DataFolder {
  /** What the operator should know about the folder's rights. */
  warning?: string;
  /** Lets another process serve from the folder; the end of this process does the same. */
  release: () => void;
}

/**
 * Creates the data folder where it is missing, closes it to other users, and locks it until this process ends, however it ends: two that serve from
 * one folder would each trust their own memory of keys and runs. It is a lock of the operating system on a file, as SQLite takes it, so that every
 * process of the machine sees it, in containers too, and it never stays behind.
 * @throws GatewayError `storage_unavailable` when another process serves from the folder, or when nothing can be written there.
 */
export function openDataFolder(folder: string): DataFolder {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const warning = restrictToOwner(folder);
    const database = takeLock(join(folder, lockFile));
    return { ...(warning !== undefined && { warning }), release: () => database.close() };
  } catch (error) {
    throw toFault(error, resolve(folder));
  }
}

/**
 * Locks a database that exists: `DATABASE_URL` may name that of another folder, by any path.
 * @returns releases the lock
 * @throws GatewayError `storage_unavailable` when another process serves from the database.
 */
export function lockDatabase(file: string): () => void {
  try {
    const database = takeLock(`${realpathSync(file)}.${lockFile}`);
    return () => database.close();
  } catch (error) {
    const reason =
      faultKindOf(error) === 'locked'
        ? `Another toolwharf serves from the database ${resolve(file)}. End that one`
        : `A lock beside the database ${resolve(file)} cannot be taken (${reasonOf(error)}). Let the gateway's user write there`;
    throw new GatewayError('storage_unavailable', `${reason}, or set DATABASE_URL to another file.`, { cause: error });
  }
}

function takeLock(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    // Nothing is written, so nothing is left to repair after a crash.
    database.exec('BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** A folder that also holds other things is left to its owner, who may want others to read those. */
function restrictToOwner(folder: string): string | undefined {
  const { mode, uid } = statSync(folder);
  if (process.getuid === undefined || (mode & 0o077) === 0) return undefined;
  const isOwn = uid === process.getuid() && readdirSync(folder).every((name) => knownFiles.test(name));
  if (isOwn) {
    chmodSync(folder, 0o700);
    return undefined;
  }
  return `Other users may look into the data folder ${resolve(folder)}: give it to the gateway's own user, and run chmod 700 on it.`;
}

function toFault(error: unknown, folder: string): GatewayError {
  const cause = { cause: error };
  if (faultKindOf(error) === 'locked')
    return new GatewayError(
      'storage_unavailable',
      `Another toolwharf serves from the data folder ${folder}. End that one, or set TOOLWHARF_DATA_DIR to another folder.`,
      cause,
    );
  return new GatewayError(
    'storage_unavailable',
    `The data folder ${folder} cannot be used (${reasonOf(error)}). Let the gateway's user write there, or set TOOLWHARF_DATA_DIR to another folder.`,
    cause,
  );
}

function reasonOf(error: unknown): string {
  const isOfSystem = error instanceof Error && 'syscall' in error;
  return isOfSystem ? errorCodeOf(error) : error instanceof Error ? error.message : String(error);
}
