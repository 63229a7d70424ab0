import { resolve } from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseSync } from 'node:sqlite';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import { commitTogether } from './commit-together.ts';
import type { Transaction, Write } from './commit-together.ts';
import { identityOf, inMemory, openDatabase, openToRead } from './open-database.ts';
import type { OpenDatabase } from './open-database.ts';
import { readPragma } from './migrations.ts';
import { faultKindOf, hasFreeSpace, toStorageFault } from '../storage-fault.ts';
import { WriteQueue } from './write-queue.ts';
import type { QueuedWrite } from './write-queue.ts';

/** How long to retry while the database is locked: longer than a backup locks it, shorter than users are willing to wait. */
const defaultLockTimeoutMs = 2_000;
/** Between two attempts. SQLite's own busy timeout would block the event loop. */
const retryDelayMs = 20;
/** After opening failed: checking a large damaged file again for every request would block the event loop. */
const reopenPauseMs = 1_000;
/** After the last write, what is in the write-ahead log is moved into the database file. SQLite itself does it every four megabytes, and at the end. */
const restMs = 1_000;
/** The write-ahead log grows to this size between two checkpoints. */
const leastFreeBytes = 4 * 1024 * 1024;

export interface ConnectionOptions {
  /** Created with its folder if it does not exist, and opened on first use. `:memory:` is lost with the process. */
  file: string;
  now: () => number;
  lockTimeoutMs?: number;
  maxBytes?: number;
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
  maxQueuedCharacters = limits.queuedWritesCharacters,
  clock = () => performance.now(),
  isReadOnly = false,
}: ConnectionOptions): DatabaseConnection {
  let current: OpenDatabase | undefined;
  let wasOpen = false;
  let openingFault: { error: unknown; time: number } | undefined;
  let isClosed = false;
  const queue = new WriteQueue<Write>(maxQueuedCharacters);
  /** They failed in a transaction with others, and come first. */
  const alone: Write[] = [];
  let committing: Promise<void> | undefined;
  /** When the lock was met that writes wait for. */
  let lockedSince: number | undefined;
  /** The last write failed. */
  let hasWriteFault = false;
  let probing: Promise<unknown> | undefined;
  let rest: NodeJS.Timeout | undefined;

  function drop(): void {
    const dropped = current;
    current = undefined;
    try {
      dropped?.database.close();
    } catch {
      // Closing may fail for a broken file; the connection is abandoned anyway.
    }
  }

  function reopen(): OpenDatabase {
    if (openingFault !== undefined && Math.abs(now() - openingFault.time) < reopenPauseMs) throw openingFault.error;
    try {
      current = isReadOnly ? openToRead(file) : openDatabase({ file, mustExist: wasOpen, ...(maxBytes !== undefined && { maxBytes }) });
    } catch (error) {
      if (faultKindOf(error) !== 'locked') openingFault = { error, time: now() };
      throw error;
    }
    openingFault = undefined;
    wasOpen = true;
    return current;
  }

  function requireOpen(access: 'read' | 'write'): OpenDatabase {
    if (isClosed) throw new GatewayError('storage_unavailable', 'The database is closed: the gateway is shutting down.');
    if (current === undefined) return reopen();
    const identity = identityOf(file, current.isImmutable);
    if (identity === current.identity) return current;
    // A deleted file that is still open can be read; writes to it would be lost.
    if (identity === undefined && access === 'read') return current;
    if (identity === undefined) throw toStorageFault('unopenable', file);
    // SQLite would apply the log of the earlier file to the one that has taken its place.
    checkpoint(current.database);
    drop();
    return reopen();
  }

  function readOnce<Value>(work: (database: DatabaseSync) => Value): Value {
    const before = current;
    const open = requireOpen('read');
    try {
      return work(open.database);
    } catch (error) {
      if (!dropAfter(error) || before !== open) throw error;
      // The fault may be gone since the connection was opened, so retry once on a new one.
      return readOnce(work);
    }
  }

  /** Whether the connection was dropped, because the error may be a fault of it. */
  function dropAfter(error: unknown): boolean {
    const kind = faultKindOf(error);
    if (kind === undefined || kind === 'locked' || kind === 'full') return false;
    drop();
    return true;
  }

  async function read<Value>(work: (database: DatabaseSync) => Value): Promise<Value> {
    const deadline = clock() + lockTimeoutMs;
    for (;;) {
      try {
        return readOnce(work);
      } catch (error) {
        const kind = faultKindOf(error);
        if (kind === undefined) throw error;
        if (kind !== 'locked' || clock() >= deadline) throw toStorageFault(kind, file, error);
      }
      await sleep(retryDelayMs);
    }
  }

  /** In each turn of the event loop one transaction, with what was queued until then: many, each of some milliseconds, would hold it up. */
  async function commitQueued(): Promise<void> {
    for (;;) {
      await nextTurn();
      const first = alone.shift() ?? queue.takeNext();
      if (first === undefined) break;
      await commit(first);
    }
    committing = undefined;
    clearTimeout(rest);
    rest = setTimeout(() => current !== undefined && committing === undefined && checkpoint(current.database), restMs).unref();
  }

  async function commit(first: Write): Promise<void> {
    while (!attempt(first)) {
      lockedSince ??= clock();
      const waitingSince = Math.max(lockedSince, first.queuedAt);
      if (clock() - waitingSince >= lockTimeoutMs) return first.reject(toStorageFault('locked', file));
      await sleep(retryDelayMs);
    }
    lockedSince = undefined;
  }

  /** False if the database is locked. */
  function attempt(first: Write): boolean {
    const before = current;
    const transaction: Transaction = { writes: [], settle: [], isCommitting: false };
    try {
      commitTogether(requireOpen('write').database, transaction, { first, waiting: queue, clock });
      hasWriteFault = false;
      for (const settle of transaction.settle) settle();
    } catch (error) {
      if (faultKindOf(error) === 'locked' && transaction.writes.length === 0) return false;
      const isOfOlder = before !== undefined && before === current;
      dropAfter(error);
      settleFailed(first, transaction, { error, isOfOlder });
    }
    return true;
  }

  /** `isOfOlder`: on a connection that had been open before. */
  function settleFailed(
    first: Write,
    { writes, isCommitting }: Transaction,
    { error, isOfOlder }: { error: unknown; isOfOlder: boolean },
  ): void {
    const kind = faultKindOf(error);
    // With any other fault of the commit, it may have taken effect.
    const isUndone = !isCommitting || kind === 'full' || kind === 'readonly';
    const mayHelp = writes.length > 1 || (kind === 'readonly' && isOfOlder);
    const failed = writes.length === 0 ? [first] : writes;
    if (isUndone && mayHelp && !first.isAlone) {
      for (const write of failed) write.isAlone = true;
      alone.push(...failed);
      return;
    }
    hasWriteFault ||= kind !== undefined || writes.length === 0;
    for (const write of failed) write.reject(kind === undefined ? error : toStorageFault(kind, file, error));
  }

  function write<Value>(
    work: (database: DatabaseSync) => Value,
    { callerId = '', characters = 0 }: Partial<QueuedWrite> = {},
  ): Promise<Value> {
    const { promise, resolve, reject } = Promise.withResolvers<Value>();
    const run = (database: DatabaseSync): (() => void) => {
      const value = work(database);
      return () => resolve(value);
    };
    for (const refused of queue.add({ callerId, characters, queuedAt: clock(), run, reject, isAlone: false }))
      refused.reject(lockedSince === undefined ? overloaded() : toStorageFault('locked', file));
    committing ??= commitQueued();
    return promise;
  }

  /** @throws GatewayError `storage_unavailable` where nothing more fits into the database or on its disk */
  async function requireRoom(): Promise<void> {
    const [freePages, pageSize] = await read((database) => {
      const [most, used, free] = (['max_page_count', 'page_count', 'freelist_count'] as const).map((name) => readPragma(database, name));
      return [(most ?? 0) - (used ?? 0) + (free ?? 0), readPragma(database, 'page_size')];
    });
    const isFull = freePages * pageSize < leastFreeBytes || (file !== inMemory && !hasFreeSpace(file, leastFreeBytes));
    if (isFull) throw toStorageFault('full', file);
  }

  return {
    read,
    write,
    async requireWritable() {
      await requireRoom();
      if (!hasWriteFault) return;
      // Nobody else may write while the gateway is not ready.
      probing ??= write(writeNothing).finally(() => (probing = undefined));
      await probing;
    },
    async close() {
      await committing;
      isClosed = true;
      clearTimeout(rest);
      drop();
    },
  };
}

function overloaded(): GatewayError {
  const problem = 'More waits to be stored than the disk takes at the moment, most of it of this key, so this was not stored.';
  return new GatewayError('overloaded', `${problem} Send fewer requests at once, or try again in a few seconds.`, { retryAfter: '5' });
}

/** Moves the write-ahead log into the database file. The transactions are durable already, so a failure loses nothing. */
function checkpoint(database: DatabaseSync): void {
  try {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // Tried again after the next write.
  }
}

/** Writes the value that is there already: beginning a transaction does not show whether the file is writable. */
function writeNothing(database: DatabaseSync): void {
  database.exec(`PRAGMA user_version = ${readPragma(database, 'user_version')}`);
}

/**
 * Checks at startup that the database can be opened and written. A locked one passes, because locks are short-lived. Only operators read these errors,
 * which name the path.
 * @throws GatewayError `storage_unavailable` for a database that is damaged, of another program or a newer release, or cannot be written
 */
export async function requireUsableDatabase({ write }: Pick<DatabaseConnection, 'write'>, file: string): Promise<void> {
  try {
    await write(writeNothing);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    if (faultKindOf(error.cause) === 'locked') return;
    throw new GatewayError(error.code, `${error.message} The file is ${resolve(file)}.`, { cause: error });
  }
}
