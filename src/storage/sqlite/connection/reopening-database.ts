import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseSync } from 'node:sqlite';
import { GatewayError } from '../../../core/errors.ts';
import { faultKindOf, toStorageFault } from '../../storage-fault.ts';
import { identityOf, openDatabase, openToRead, wholeCheckBytes, type OpenDatabase } from './open-database.ts';

/** Between two attempts. SQLite's own busy timeout would block the event loop. */
export const retryDelayMs = 20;
/** After opening failed: checking a large damaged file again for every request would block the event loop. */
const reopenPauseMs = 1_000;

export interface ReopeningDatabaseOptions {
  file: string;
  now: () => number;
  lockTimeoutMs: number;
  /** Milliseconds, for durations. */
  clock: () => number;
  maxBytes: number | undefined;
  checkBytes: number | undefined;
  isReadOnly: boolean;
}

/** A database file that is opened on first use, and opened again after a fault or when another file has taken its place. */
export class ReopeningDatabase {
  readonly #options: ReopeningDatabaseOptions;
  #current: OpenDatabase | undefined;
  #wasOpen = false;
  #openingFault: { error: unknown; time: number } | undefined;
  /** Damage was found, or another file has taken its place: every page is read before it is used again, whatever its size. */
  #isSuspect = false;
  /** The file that is damaged, by identity, size and time: it is not read again until it has changed. */
  #damaged: { identity: string | undefined; error: unknown } | undefined;
  #isClosed = false;

  constructor(options: ReopeningDatabaseOptions) {
    this.#options = options;
  }

  /** Undefined until its first use, and after a fault. */
  get current(): OpenDatabase | undefined {
    return this.#current;
  }

  /** @throws GatewayError `storage_unavailable`, or SQLite's error if the file cannot be opened */
  requireOpen(access: 'read' | 'write'): OpenDatabase {
    const { file } = this.#options;
    if (this.#isClosed) throw new GatewayError('storage_unavailable', 'The database is closed: the gateway is shutting down.');
    if (this.#current === undefined) return this.#reopen();
    const identity = identityOf(file, this.#current.isImmutable);
    if (identity === this.#current.identity) return this.#current;
    // A deleted file that is still open can be read; writes to it would be lost.
    if (identity === undefined && access === 'read') return this.#current;
    if (identity === undefined) throw toStorageFault('unopenable', file);
    this.#isSuspect = true;
    // SQLite would apply the log of the earlier file to the one that has taken its place.
    this.checkpoint();
    this.#drop();
    return this.#reopen();
  }

  async read<Value>(work: (database: DatabaseSync) => Value): Promise<Value> {
    const { clock, file, lockTimeoutMs } = this.#options;
    const deadline = clock() + lockTimeoutMs;
    for (;;) {
      try {
        return this.#readOnce(work);
      } catch (error) {
        const kind = faultKindOf(error);
        if (kind === undefined) throw error;
        if (kind !== 'locked' || clock() >= deadline) throw toStorageFault(kind, file, error);
      }
      await sleep(retryDelayMs);
    }
  }

  /** True if the connection was dropped, because the error may be its fault. */
  dropAfter(error: unknown): boolean {
    const kind = faultKindOf(error);
    if (kind === undefined || kind === 'locked' || kind === 'full') return false;
    this.#isSuspect ||= kind === 'damaged';
    this.#drop();
    return true;
  }

  /** A check has found the file damaged: it is used again once it has been repaired or replaced. */
  noteDamage(error: unknown): void {
    this.#isSuspect = true;
    this.#drop();
    this.#damaged = { identity: identityOf(this.#options.file, true), error };
  }

  /** Moves the write-ahead log into the database file. The transactions are durable already, so a failure loses nothing. */
  checkpoint(): void {
    try {
      this.#current?.database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // Tried again after the next write.
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#drop();
  }

  #reopen(): OpenDatabase {
    const { file, isReadOnly, maxBytes, checkBytes = wholeCheckBytes, now } = this.#options;
    if (this.#damaged !== undefined && this.#damaged.identity === identityOf(file, true)) throw this.#damaged.error;
    this.#damaged = undefined;
    const fault = this.#openingFault;
    if (fault !== undefined && Math.abs(now() - fault.time) < reopenPauseMs) throw fault.error;
    try {
      const bounds = { ...(maxBytes !== undefined && { maxBytes }), checkBytes: this.#isSuspect ? Infinity : checkBytes };
      this.#current = isReadOnly ? openToRead(file) : openDatabase({ file, mustExist: this.#wasOpen, ...bounds });
    } catch (error) {
      if (faultKindOf(error) !== 'locked') this.#openingFault = { error, time: now() };
      throw error;
    }
    this.#openingFault = undefined;
    this.#isSuspect = false;
    this.#wasOpen = true;
    return this.#current;
  }

  #readOnce<Value>(work: (database: DatabaseSync) => Value): Value {
    const before = this.#current;
    const open = this.requireOpen('read');
    try {
      return work(open.database);
    } catch (error) {
      if (!this.dropAfter(error) || before !== open) throw error;
      // The fault may be gone since the connection was opened, so retry once on a new one.
      return this.#readOnce(work);
    }
  }

  #drop(): void {
    const dropped = this.#current;
    this.#current = undefined;
    try {
      dropped?.database.close();
    } catch {
      // Closing may fail for a broken file; the connection is abandoned anyway.
    }
  }
}
