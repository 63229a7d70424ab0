import { setImmediate as nextTick, setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseSync } from 'node:sqlite';
import { GatewayError } from '../../../core/errors.ts';
import { faultKindOf, toStorageFault } from '../../storage-fault.ts';
import { commitTogether, type Transaction, type Write } from './commit-together.ts';
import { retryDelayMs, type ReopeningDatabase } from './reopening-database.ts';
import type { QueuedWrite } from '../../sql/queued-write.ts';
import { WriteQueue } from '../../sql/write-queue.ts';

/** After the last write, the write-ahead log is moved into the database file. SQLite itself does it every four megabytes, and at the end. */
const restMs = 1_000;

interface QueuedWritesOptions {
  file: string;
  lockTimeoutMs: number;
  /** Milliseconds, for durations. */
  clock: () => number;
  /** Texts of writes that wait. */
  maxCharacters: number;
}

/** Writes that wait, committed together: one transaction, and one fsync, for all that were queued in the same tick of the event loop. */
export class QueuedWrites {
  readonly #database: ReopeningDatabase;
  readonly #options: QueuedWritesOptions;
  readonly #queue: WriteQueue<Write>;
  /** Writes that failed in a transaction with others. They are tried first, each by itself. */
  readonly #single: Write[] = [];
  #committing: Promise<void> | undefined;
  /** When the current lock was first met. */
  #lockedSince: number | undefined;
  #hasFault = false;
  #rest: NodeJS.Timeout | undefined;

  constructor(database: ReopeningDatabase, options: QueuedWritesOptions) {
    this.#database = database;
    this.#options = options;
    this.#queue = new WriteQueue<Write>(options.maxCharacters);
  }

  /** True if the last write failed. */
  get hasFault(): boolean {
    return this.#hasFault;
  }

  add<Value>(work: (database: DatabaseSync) => Value, { callerId = '', characters = 0 }: Partial<QueuedWrite> = {}): Promise<Value> {
    const { promise, resolve, reject } = Promise.withResolvers<Value>();
    const run = (database: DatabaseSync): (() => void) => {
      const value = work(database);
      return () => resolve(value);
    };
    const write: Write = { callerId, characters, queuedAt: this.#options.clock(), run, reject, isAlone: false };
    for (const refused of this.#queue.add(write)) {
      refused.reject(this.#lockedSince === undefined ? overloaded() : toStorageFault('locked', this.#options.file));
    }
    this.#committing ??= this.#commitQueued();
    return promise;
  }

  /** Resolves when all queued writes have ended. */
  async close(): Promise<void> {
    await this.#committing;
    clearTimeout(this.#rest);
  }

  /** One transaction in each tick of the event loop: many in a row, each of some milliseconds, would block it. */
  async #commitQueued(): Promise<void> {
    for (;;) {
      await nextTick();
      const first = this.#single.shift() ?? this.#queue.takeNext();
      if (first === undefined) break;
      await this.#commit(first);
    }
    this.#committing = undefined;
    clearTimeout(this.#rest);
    this.#rest = setTimeout(() => {
      if (this.#committing === undefined) this.#database.checkpoint();
    }, restMs).unref();
  }

  async #commit(first: Write): Promise<void> {
    const { clock, file, lockTimeoutMs } = this.#options;
    while (!this.#attempt(first)) {
      this.#lockedSince ??= clock();
      const waitingSince = Math.max(this.#lockedSince, first.queuedAt);
      if (clock() - waitingSince >= lockTimeoutMs) return first.reject(toStorageFault('locked', file));
      await sleep(retryDelayMs);
    }
    this.#lockedSince = undefined;
  }

  /** False if the database is locked. */
  #attempt(first: Write): boolean {
    const before = this.#database.current;
    const transaction: Transaction = { writes: [], settle: [], isCommitting: false };
    try {
      const { database } = this.#database.requireOpen('write');
      commitTogether(database, transaction, { first, waiting: this.#queue, clock: this.#options.clock });
      this.#hasFault = false;
      for (const settle of transaction.settle) settle();
    } catch (error) {
      if (faultKindOf(error) === 'locked' && transaction.writes.length === 0) return false;
      const wasOpenBefore = before !== undefined && before === this.#database.current;
      this.#database.dropAfter(error);
      this.#settleFailed(first, transaction, { error, wasOpenBefore });
    }
    return true;
  }

  #settleFailed(
    first: Write,
    { writes, isCommitting }: Transaction,
    { error, wasOpenBefore }: { error: unknown; wasOpenBefore: boolean },
  ): void {
    const kind = faultKindOf(error);
    // With any other fault of the commit, it may have taken effect.
    const isUndone = !isCommitting || kind === 'full' || kind === 'readonly';
    const retryMayHelp = writes.length > 1 || (kind === 'readonly' && wasOpenBefore);
    const failed = writes.length === 0 ? [first] : writes;
    if (isUndone && retryMayHelp && !first.isAlone) {
      for (const write of failed) write.isAlone = true;
      this.#single.push(...failed);
      return;
    }
    this.#hasFault ||= kind !== undefined || writes.length === 0;
    for (const write of failed) write.reject(kind === undefined ? error : toStorageFault(kind, this.#options.file, error));
  }
}

function overloaded(): GatewayError {
  const problem = 'More data waits to be stored than the disk can write at the moment, most of it from this key, so this was not stored.';
  return new GatewayError('overloaded', `${problem} Send fewer requests at once, or try again in a few seconds.`, { retryAfter: '5' });
}
