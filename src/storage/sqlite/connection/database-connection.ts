import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { GatewayError } from '../../../core/errors.ts';
import { readPragma } from './migrate.ts';
import { faultKindOf, hasFreeSpace, toStorageFault } from '../../storage-fault.ts';
import { hasLogLeft, inMemory, wholeCheckBytes } from './open-database.ts';
import { QueuedWrites } from './queued-writes.ts';
import { ReopeningDatabase } from './reopening-database.ts';
import type { QueuedWrite } from '../../sql/queued-write.ts';

/** Texts that wait to be written: more than a disk writes in a second. Beyond it, writes of the caller with the most waiting are refused. */
const queuedWritesCharacters = 64 * 1024 * 1024;

/** How long to retry while the database is locked: longer than a backup locks it, shorter than users are willing to wait. */
const defaultLockTimeoutMs = 2_000;
/** The write-ahead log grows to this size between two checkpoints. */
const leastFreeBytes = 4 * 1024 * 1024;

export interface ConnectionOptions {
  /** Created with its folder if it does not exist, and opened on first use. `:memory:` is lost with the process. */
  file: string;
  now: () => number;
  lockTimeoutMs?: number;
  maxBytes?: number;
  /** Files up to this size are checked as a whole when they are opened. */
  checkBytes?: number;
  /** Texts of writes that wait. */
  maxQueuedCharacters?: number;
  /** Milliseconds, for durations. */
  clock?: () => number;
  /** The file has to exist, and every write fails. */
  isReadOnly?: boolean;
}

export interface DatabaseConnection {
  /** `work` may be retried after a failure, with another database object if the file was reopened. */
  read<Value>(work: (database: DatabaseSync) => Value): Promise<Value>;
  /**
   * Runs `work` in a transaction, which it may share with other writes; if it throws, nothing of it is written. May be retried as in `read`. Writes of one
   * caller run in the order of the calls. Resolves when the commit is on disk. `queued`: whose write it is, and the size of its texts.
   * @throws GatewayError `overloaded` when too much waits, and this caller has the most
   */
  write<Value>(work: (database: DatabaseSync) => Value, queued?: Partial<QueuedWrite>): Promise<Value>;
  /** @throws GatewayError `storage_unavailable` while writes fail, or are about to because the disk or the database is full */
  requireWritable: () => Promise<void>;
  /**
   * Reads all of a large file in a thread if the process before this one was killed, because that is not done when such a file is opened. If it is
   * damaged, every read and write fails from then on, until it has been repaired or replaced. `check` runs `checkDatabaseJob`. Resolves when that is known.
   * @throws GatewayError `storage_unavailable` for damage, and errors that keep it from being read
   */
  checkAfterKill(check: (file: string) => Promise<string | undefined>): Promise<void>;
  /**
   * Checks at startup that the database can be opened and written. A locked one passes, because locks are short-lived. Only operators read these errors,
   * which name the path.
   * @throws GatewayError `storage_unavailable` for a database that is damaged, of another program or a newer release, or cannot be written
   */
  requireUsable(): Promise<void>;
  /** Waits for queued writes. */
  close(): Promise<void>;
}

/**
 * One connection, opened on first use and reopened after a fault, so that the gateway recovers without a restart.
 * @throws GatewayError `storage_unavailable`; other errors of `work` are passed on.
 */
export function createDatabaseConnection({
  file,
  now,
  lockTimeoutMs = defaultLockTimeoutMs,
  maxBytes,
  checkBytes = wholeCheckBytes,
  maxQueuedCharacters = queuedWritesCharacters,
  clock = () => performance.now(),
  isReadOnly = false,
}: ConnectionOptions): DatabaseConnection {
  const database = new ReopeningDatabase({ file, now, lockTimeoutMs, clock, maxBytes, checkBytes, isReadOnly });
  // Before it is opened, which moves what is left there into the file.
  const wasKilled = file !== inMemory && hasLogLeft(file);
  const writes = new QueuedWrites(database, { file, lockTimeoutMs, clock, maxCharacters: maxQueuedCharacters });
  let probing: Promise<unknown> | undefined;

  /** @throws GatewayError `storage_unavailable` if nothing more fits into the database or on its disk */
  async function requireRoom(): Promise<void> {
    const [freePages, pageSize] = await database.read((open) => {
      const [most, used, free] = (['max_page_count', 'page_count', 'freelist_count'] as const).map((name) => readPragma(open, name));
      return [(most ?? 0) - (used ?? 0) + (free ?? 0), readPragma(open, 'page_size')];
    });
    const isFull = freePages * pageSize < leastFreeBytes || (file !== inMemory && !hasFreeSpace(file, leastFreeBytes));
    if (isFull) throw toStorageFault('full', file);
  }

  return {
    read: (work) => database.read(work),
    write: (work, queued) => writes.add(work, queued),
    async requireWritable() {
      await requireRoom();
      if (!writes.hasFault) return;
      // Nobody else may write while the gateway is not ready.
      probing ??= writes.add(writeNothing).finally(() => (probing = undefined));
      await probing;
    },
    async requireUsable() {
      try {
        await writes.add(writeNothing);
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        if (faultKindOf(error.cause) === 'locked') return;
        throw new GatewayError(error.code, `${error.message} The file is ${resolve(file)}.`, { cause: error });
      }
    },
    async checkAfterKill(check) {
      const isUnchecked = (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > checkBytes;
      if (!wasKilled || !isUnchecked) return;
      const fault = await check(file);
      if (fault === undefined) return;
      const error = toStorageFault('damaged', file, new Error(fault));
      database.noteDamage(error);
      throw error;
    },
    async close() {
      await writes.close();
      database.close();
    },
  };
}

/** Writes the value that is there already: beginning a transaction does not show whether the file is writable. */
function writeNothing(database: DatabaseSync): void {
  database.exec(`PRAGMA user_version = ${readPragma(database, 'user_version')}`);
}
