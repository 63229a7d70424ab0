import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseSync } from 'node:sqlite';
import { GatewayError } from '../../core/errors.ts';
import { identityOf, openDatabase, openToRead } from './open-database.ts';
import type { OpenDatabase } from './open-database.ts';
import { readPragma } from './migrations.ts';
import { faultKindOf, toStorageFault } from '../storage-fault.ts';

/** How long a locked database is tried again: longer than a backup locks it, shorter than a person waits. */
const defaultLockTimeoutMs = 2_000;
/** Between two attempts. SQLite's own waiting would block the event loop instead. */
const retryDelayMs = 20;
/** After a failed opening: reading a large damaged file for each request would block everything else. */
const reopenPauseMs = 1_000;
/** Writes that wait for a lock; more are refused, because then something writes in a loop. */
const maxWaitingWrites = 100;

export interface ConnectionOptions {
  /** Created with its folder when it is not there; `:memory:` keeps nothing. Opened at the first use. */
  file: string;
  now: () => number;
  lockTimeoutMs?: number;
  maxBytes?: number;
  /** Creates nothing: the file has to exist, and every write fails. */
  isReadOnly?: boolean;
}

export interface DatabaseConnection {
  /** `work` may run again after a failure, then with another database object where the file was reopened. */
  read<Value>(work: (database: DatabaseSync) => Value): Promise<Value>;
  /** Runs `work` in a transaction, one after the other in the order of the calls. Resolves when it is on the disk. */
  write<Value>(work: (database: DatabaseSync) => Value): Promise<Value>;
  /** Waits for the writes before it. */
  close(): Promise<void>;
}

/**
 * One connection, opened when it is first used and reopened after a fault, so that the gateway recovers without a restart.
 * @throws GatewayError `storage_unavailable`; what `work` throws otherwise is passed on.
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
      // A connection to a broken file may fail to close; it is dropped all the same.
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
    // Reads from a file that was deleted are still right; writes to it would be lost.
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
      // The fault may be over since this connection was opened. A write is repeated only where it cannot have taken effect.
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
      lastWrite = write.catch(() => undefined);
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
    // The first error says what is wrong; a transaction that cannot be rolled back ends with its connection.
  }
}

/**
 * Moves what was written from the log beside the file into the file. So a copy of the file alone is a whole backup, and no old log is
 * applied to a file that is put in its place. The transaction is safe already: failing here loses nothing.
 */
function checkpoint(database: DatabaseSync): void {
  try {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // Tried again after the next write.
  }
}

/**
 * For the start: opens the database and writes to it. One that is only locked just now may be free in a moment.
 * @throws GatewayError `storage_unavailable` for a database that is damaged, of another program or a newer release, or cannot be written
 */
export async function requireUsableDatabase({ write }: Pick<DatabaseConnection, 'write'>): Promise<void> {
  try {
    // What is there already, because SQLite begins a transaction even where it cannot write.
    await write((database) => database.exec(`PRAGMA user_version = ${readPragma(database, 'user_version')}`));
  } catch (error) {
    if (error instanceof GatewayError && faultKindOf(error.cause) === 'locked') return;
    throw error;
  }
}
