import { chmodSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { GatewayError } from '../core/errors.ts';
import { createFolder } from './create-folder.ts';
import { errorCodeOf, faultKindOf, isForLackOfRoom } from './storage-fault.ts';

/** Stays empty; only the lock on it matters. */
const lockFile = 'serving.lock';
/** Files of the gateway and of `toolwharf doctor`, and what file systems put into every folder. */
const knownFiles = /^(?:secret(?:\..*)?|toolwharf\.db.*|serving\.lock.*|\.doctor-.*|lost\+found)$/;

interface DataFolder {
  /** Set when other users can access the folder. */
  warning?: string;
  /** Releases the lock, as the end of the process does. */
  release: () => void;
}

/**
 * Creates the data folder if it is missing, makes it private to its owner, and locks it until this process ends: two gateways on one folder would
 * each rely on their own cache of keys and runs. SQLite takes the lock as an operating-system file lock, so every process on the machine sees it,
 * even in containers, and a crash cannot leave it behind.
 * @throws GatewayError `storage_unavailable` when another process serves from the folder, or when nothing can be written there.
 */
export function openDataFolder(folder: string): DataFolder {
  try {
    createFolder(folder, 0o700);
    const warning = restrictToOwner(folder);
    const database = takeLock(join(folder, lockFile));
    return { ...(warning !== undefined && { warning }), release: () => database.close() };
  } catch (error) {
    throw toFault(error, resolve(folder));
  }
}

/** Whether an error of `openDataFolder` says that a gateway serves from the folder. */
export function isServedByAnother(error: unknown): boolean {
  return error instanceof GatewayError && faultKindOf(error.cause) === 'locked';
}

/**
 * Locks an existing database. The lock on the data folder is not enough: `DATABASE_URL` may name a database in a folder that another gateway uses.
 * @returns a function that releases the lock
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
        : `A lock beside the database ${resolve(file)} cannot be taken${becauseOf(error, file)}`;
    throw new GatewayError('storage_unavailable', `${reason}, or set DATABASE_URL to another file.`, { cause: error });
  }
}

function takeLock(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    // Nothing is written in this transaction, so a crash leaves nothing to recover.
    database.exec('BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Leaves a folder with other files in it as it is: its owner may want other users to read those. */
function restrictToOwner(folder: string): string | undefined {
  const { mode, uid } = statSync(folder);
  if (process.getuid === undefined || (mode & 0o077) === 0) return undefined;
  const isOnlyOurs = uid === process.getuid() && readdirSync(folder).every((name) => knownFiles.test(name));
  if (isOnlyOurs) {
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
    `The data folder ${folder} cannot be used${becauseOf(error, folder)}, or set TOOLWHARF_DATA_DIR to another folder.`,
    cause,
  );
}

/** With the cure, but for another place. */
function becauseOf(error: unknown, path: string): string {
  if (isForLackOfRoom(error, path)) return ': the disk is full. Free some space';
  return ` (${reasonOf(error)}). Let the gateway's user write there`;
}

function reasonOf(error: unknown): string {
  const isSystemError = error instanceof Error && 'syscall' in error;
  return isSystemError ? errorCodeOf(error) : error instanceof Error ? error.message : String(error);
}
