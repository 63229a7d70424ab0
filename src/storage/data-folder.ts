import { chmodSync, mkdirSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { GatewayError } from '../core/errors.ts';
import { errorCodeOf, faultKindOf } from './storage-fault.ts';

/** Empty; only its lock matters. */
const lockFile = 'serving.lock';
/** What the gateway keeps in its data folder, and what file systems and the doctor leave there. */
const ownFiles = /^(?:secret(?:\..*)?|toolwharf\.db.*|serving\.lock.*|\.doctor-.*|lost\+found)$/;

export interface DataFolder {
  /** What the operator should know about the folder's rights. */
  warning?: string;
  /** Lets another process serve from the folder; the end of this process does the same. */
  release: () => void;
}

/**
 * Makes the data folder where it is missing, closes it to other users, and claims it for this process until it ends, however it ends: two that
 * serve from one folder would each believe their own memory of keys and runs. The claim is a lock of the operating system on a file, as SQLite
 * takes it, so that it is seen by every process of the machine, in containers too, and never stays behind.
 * @throws GatewayError `storage_unavailable` when another process serves from the folder, or when nothing can be written there.
 */
export function openDataFolder(folder: string): DataFolder {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const warning = closeToOthers(folder);
    const lock = claim(join(folder, lockFile));
    return { ...(warning !== undefined && { warning }), release: () => lock.close() };
  } catch (error) {
    throw toFault(error, resolve(folder));
  }
}

/**
 * The same for a database, which has to be there: `DATABASE_URL` may name that of another folder, by any path.
 * @returns what lets another process serve from it
 * @throws GatewayError `storage_unavailable` when another process serves from the database.
 */
export function claimDatabase(file: string): () => void {
  try {
    const lock = claim(`${realpathSync(file)}.${lockFile}`);
    return () => lock.close();
  } catch (error) {
    const reason =
      faultKindOf(error) === 'locked'
        ? `Another toolwharf serves from the database ${resolve(file)}. End that one`
        : `A lock beside the database ${resolve(file)} cannot be taken (${reasonOf(error)}). Let the gateway's user write there`;
    throw new GatewayError('storage_unavailable', `${reason}, or set DATABASE_URL to another file.`, { cause: error });
  }
}

function claim(file: string): DatabaseSync {
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
function closeToOthers(folder: string): string | undefined {
  const { mode, uid } = statSync(folder);
  if (process.getuid === undefined || (mode & 0o077) === 0) return undefined;
  const isOwn = uid === process.getuid() && readdirSync(folder).every((name) => ownFiles.test(name));
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
