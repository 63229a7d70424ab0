import type { DatabaseSync } from 'node:sqlite';
import { faultKindOf } from '../../storage-fault.ts';
import type { QueuedWrite } from '../../sql/queued-write.ts';
import type { WriteQueue } from '../../sql/write-queue.ts';

/** About as long as one transaction may hold up the event loop before it is committed. */
const turnMs = 8;
/** Texts in one transaction, after which SQLite moves the write-ahead log into the database anyway. */
const charactersPerCommit = 4 * 1024 * 1024;

export interface Write extends QueuedWrite {
  /** By the clock of the connection. */
  queuedAt: number;
  /** Does the work, and returns what resolves its promise. */
  run(database: DatabaseSync): () => void;
  reject(error: unknown): void;
  /** A transaction that it shared has failed as a whole, so it gets one of its own. */
  isAlone: boolean;
}

/** How far a transaction has come. */
export interface Transaction {
  /** What has run in it. */
  writes: Write[];
  /** To be called when it is on disk: resolves its writes, and rejects those that were undone. */
  settle: (() => void)[];
  isCommitting: boolean;
}

/**
 * Runs the first write, and as many of those that wait as fit into one tick of the event loop, in one transaction, which takes one sync of the disk. Each
 * has a savepoint, so that one that fails is undone alone.
 * @throws what concerns all of them: the transaction is undone, unless it `isCommitting`
 */
export function commitTogether(
  database: DatabaseSync,
  transaction: Transaction,
  { first, waiting, clock }: { first: Write; waiting: Pick<WriteQueue<Write>, 'size' | 'takeNext'>; clock: () => number },
): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    const isAlone = first.isAlone || waiting.size === 0;
    const end = clock() + turnMs;
    let characters = 0;
    const hasRoom = (): boolean => !isAlone && characters < charactersPerCommit && clock() < end;
    for (let write: Write | undefined = first; write !== undefined; write = hasRoom() ? waiting.takeNext() : undefined) {
      transaction.writes.push(write);
      characters += write.characters;
      transaction.settle.push(isAlone ? write.run(database) : runInSavepoint(database, write));
    }
    transaction.isCommitting = true;
    database.exec('COMMIT');
  } catch (error) {
    rollBack(database);
    throw error;
  }
}

function runInSavepoint(database: DatabaseSync, write: Write): () => void {
  database.exec('SAVEPOINT one_write');
  try {
    const settle = write.run(database);
    database.exec('RELEASE one_write');
    return settle;
  } catch (error) {
    // A fault of the file concerns the others as well. SQLite may have undone the whole transaction.
    if (faultKindOf(error) !== undefined || !database.isTransaction) throw error;
    database.exec('ROLLBACK TO one_write; RELEASE one_write');
    return () => write.reject(error);
  }
}

function rollBack(database: DatabaseSync): void {
  try {
    if (database.isTransaction) database.exec('ROLLBACK');
  } catch {
    // The caller gets the first error, which is the cause. The transaction ends with the connection at the latest.
  }
}
