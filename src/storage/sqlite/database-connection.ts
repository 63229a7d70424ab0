import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseSync } from 'node:sqlite';
import { GatewayError } from '../../core/errors.ts';
import { identityOf, openDatabase, openToRead } from './open-database.ts';
import type { OpenDatabase } from './open-database.ts';
import { readPragma } from './migrations.ts';
import { faultKindOf, toStorageFault } from '../storage-fault.ts';

/** How long to retry while the database is locked: longer than a backup locks it, shorter than users are willing to wait. */
const defaultLockTimeoutMs = 2_000;
/** Between two attempts. SQLite's own busy timeout would block the event loop. */
const retryDelayMs = 20;
/** After opening failed: checking a large damaged file again for every request would block the event loop. */
const reopenPauseMs = 1_000;
/** Writes in the queue; more are refused, because only a runaway loop queues so many. */
const maxWaitingWrites = 100;

export interface ConnectionOptions {
  /** Created with its folder if it does not exist, and opened on first use. `:memory:` is lost with the process. */
  file: string;
  now: () => number;
  lockTimeoutMs?: number;
  maxBytes?: number;
  /** The file has to exist, and every write fails. */
  isReadOnly?: boolean;
}

export interface DatabaseConnection {
  /** `work` may be retried after a failure, with another database object if the file was reopened. */
  read<Value>(work: (database: DatabaseSync) => Value): Promise<Value>;
  /** Runs `work` in a transaction; writes run one at a time, in the order of the calls. Resolves when the commit is on disk. */
  write<Value>(work: (database: DatabaseSync) => Value): Promise<Value>;
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
  isReadOnly = false,
}: ConnectionOptions): DatabaseConnection {
  let current: OpenDatabase | undefined;
  let wasOpen = false;
  let openingFault: { error: unknown; time: number } | undefined;
  let isClosed = false;
  let lastWrite: Promise<unknown> = Promise.resolve();
  let waitingWrites = 0;

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
    if (isClosed) throw new GatewayError('storage_unavailable', `${file} is closed: the gateway is shutting down.`);
    if (current === undefined) return reopen();
    const identity = identityOf(file, current.isImmutable);
    if (identity === current.identity) return current;
    // A deleted file that is still open can be read; writes to it would be lost.
    if (identity === undefined && access === 'read') return current;
    if (identity === undefined) throw toStorageFault('unopenable', file);
    drop();
    return reopen();
  }

  function runOnce<Value>(access: 'read' | 'write', work: (database: DatabaseSync) => Value): Value {
    const before = current;
    const open = requireOpen(access);
    try {
      return access === 'read' ? work(open.database) : inTransaction(open.database, work);
    } catch (error) {
      const kind = faultKindOf(error);
      if (kind === undefined || kind === 'locked' || kind === 'full') throw error;
      drop();
      // The fault may be gone since the connection was opened, so retry once on a new one. Retry a write only if it cannot have taken effect.
      if (before !== open || (access === 'write' && kind !== 'readonly')) throw error;
      return runOnce(access, work);
    }
  }

  async function retryWhileLocked<Value>(deadline: number, run: () => Value): Promise<Value> {
    for (;;) {
      try {
        return run();
      } catch (error) {
        const kind = faultKindOf(error);
        if (kind === undefined) throw error;
        if (kind !== 'locked' || performance.now() >= deadline) throw toStorageFault(kind, file, error);
      }
      await sleep(retryDelayMs);
    }
  }

  return {
    read: (work) => retryWhileLocked(performance.now() + lockTimeoutMs, () => runOnce('read', work)),
    async write(work) {
      if (waitingWrites >= maxWaitingWrites) throw toStorageFault('locked', file);
      const deadline = performance.now() + lockTimeoutMs;
      const write = lastWrite.then(() => retryWhileLocked(deadline, () => runOnce('write', work)));
      // The next one in another turn of the event loop: a hundred that wait, each of some milliseconds, would hold it up.
      lastWrite = write.catch(() => undefined).then(() => nextTurn());
      waitingWrites += 1;
      try {
        return await write;
      } finally {
        waitingWrites -= 1;
      }
    },
    async close() {
      await lastWrite;
      isClosed = true;
      drop();
    },
  };
}

function inTransaction<Value>(database: DatabaseSync, work: (database: DatabaseSync) => Value): Value {
  database.exec('BEGIN IMMEDIATE');
  let value: Value;
  try {
    value = work(database);
    database.exec('COMMIT');
  } catch (error) {
    rollBack(database);
    throw error;
  }
  checkpoint(database);
  return value;
}

function rollBack(database: DatabaseSync): void {
  try {
    if (database.isTransaction) database.exec('ROLLBACK');
  } catch {
    // The caller throws the first error, which is the cause. The transaction ends with the connection at the latest.
  }
}

/**
 * Moves the write-ahead log into the database file. A copy of the file alone is then a complete backup, and an old log is never applied to a
 * database that an operator restores. The transaction is already durable, so a failure here loses nothing.
 */
function checkpoint(database: DatabaseSync): void {
  try {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // Tried again after the next write.
  }
}

/**
 * Checks at startup that the database can be opened and written. A locked one passes, because locks are short-lived.
 * @throws GatewayError `storage_unavailable` for a database that is damaged, of another program or a newer release, or cannot be written
 */
export async function requireUsableDatabase({ write }: Pick<DatabaseConnection, 'write'>): Promise<void> {
  try {
    // Write the value that is there already: beginning a transaction does not show whether the file is writable.
    await write((database) => database.exec(`PRAGMA user_version = ${readPragma(database, 'user_version')}`));
  } catch (error) {
    if (error instanceof GatewayError && faultKindOf(error.cause) === 'locked') return;
    throw error;
  }
}
