import type pg from 'pg';
import { setImmediate as nextTick, setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../../core/errors.ts';
import type { Script, StoreName } from '../sql/database.ts';
import type { QueuedWrite } from '../sql/queued-write.ts';
import { WriteQueue } from '../sql/write-queue.ts';
import { runScript, withClient } from './postgres-client.ts';
import { endsConnection, fromDatabase, isRepeatable, toPostgresFault } from './postgres-faults.ts';

/** Texts of one store that wait: far more than a network carries in a second. Beyond it, writes of the caller with the most waiting are refused. */
const queuedCharacters = 64 * 1024 * 1024;
/** In one transaction, whose writes wait for each other. */
const charactersPerCommit = 4 * 1024 * 1024;
const writesPerCommit = 100;
const attempts = 5;
/** How long to ask what became of a commit that was not answered: longer than a server takes to start again. */
const unknownMs = 30_000;
const unknownPauseMs = 500;

interface Write extends QueuedWrite {
  script: () => Script<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/**
 * Writes that wait, in the order of their callers, committed together: one transaction of a store at a time, also among replicas, because it holds the
 * lock of its store. A script therefore decides on what it has read, as it does in SQLite.
 */
export class QueuedTransactions {
  readonly #pool: pg.Pool;
  readonly #queues = new Map<StoreName, WriteQueue<Write>>();
  readonly #committing = new Map<StoreName, Promise<void>>();
  #hasFault = false;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** True if the last write failed. */
  get hasFault(): boolean {
    return this.#hasFault;
  }

  add<Value>(store: StoreName, script: () => Script<Value>, { callerId = '', characters = 0 }: Partial<QueuedWrite> = {}): Promise<Value> {
    const { promise, resolve, reject } = Promise.withResolvers<Value>();
    const queue = this.#queues.get(store) ?? new WriteQueue<Write>(queuedCharacters);
    this.#queues.set(store, queue);
    const write: Write = { callerId, characters, script, resolve: (value) => resolve(value as Value), reject };
    for (const refused of queue.add(write)) refused.reject(overloaded());
    if (!this.#committing.has(store)) this.#committing.set(store, this.#commitQueued(store, queue));
    return promise;
  }

  /** Resolves when all queued writes have ended. */
  async close(): Promise<void> {
    await Promise.all(this.#committing.values());
  }

  async #commitQueued(store: StoreName, queue: WriteQueue<Write>): Promise<void> {
    // What is queued in the same tick is committed together.
    await nextTick();
    for (let first = queue.takeNext(); first !== undefined; first = queue.takeNext()) {
      const writes = [first];
      for (let characters = first.characters; queue.size > 0 && characters < charactersPerCommit && writes.length < writesPerCommit;) {
        const next = queue.takeNext();
        if (next === undefined) break;
        characters += next.characters;
        writes.push(next);
      }
      await this.#commit(store, writes);
    }
    this.#committing.delete(store);
  }

  async #commit(store: StoreName, writes: readonly Write[]): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const transaction: Transaction = { id: undefined, isCommitting: false, settle: [] };
      const failure = await this.#attempt({ store, writes, transaction });
      this.#hasFault = failure !== undefined && toPostgresFault(failure.error) instanceof GatewayError;
      if (failure === undefined) return transaction.settle.forEach((settle) => settle());
      if (isRepeatable(failure.error) && attempt < attempts) continue;
      // What one of them cannot do may be possible for the others.
      if (writes.length > 1 && !transaction.isCommitting && !endsConnection(failure.error)) return this.#commitEach(store, writes);
      const fault = toPostgresFault(failure.error);
      return writes.forEach((write) => write.reject(fault));
    }
  }

  async #commitEach(store: StoreName, writes: readonly Write[]): Promise<void> {
    for (const write of writes) await this.#commit(store, [write]);
  }

  /** Undefined if it is durable. */
  async #attempt(work: TransactionWork): Promise<{ error: unknown } | undefined> {
    try {
      await withClient(this.#pool, (client) => this.#transact(client, work));
      return undefined;
    } catch (error) {
      return work.transaction.isCommitting && (await this.#hasCommitted(work.transaction)) ? undefined : { error };
    }
  }

  async #transact(client: pg.PoolClient, { store, writes, transaction }: TransactionWork): Promise<void> {
    await fromDatabase(client.query('BEGIN ISOLATION LEVEL READ COMMITTED'));
    try {
      const { rows } = await fromDatabase(client.query<{ id: string }>({ ...lockStatement, values: [`toolwharf ${store}`] }));
      transaction.id = rows[0]?.id;
      for (const write of writes) transaction.settle.push(await this.#runOne(client, write, writes.length === 1));
      transaction.isCommitting = true;
      await fromDatabase(client.query('COMMIT'));
    } catch (error) {
      if (!transaction.isCommitting && !endsConnection(error)) await fromDatabase(client.query('ROLLBACK'));
      throw error;
    }
  }

  /** Gives what is to be called when it is durable. One of several that fails is undone alone. */
  async #runOne(client: pg.PoolClient, write: Write, isAlone: boolean): Promise<() => void> {
    if (!isAlone) await fromDatabase(client.query('SAVEPOINT one_write'));
    try {
      const value = await runScript(client, write.script());
      if (!isAlone) await fromDatabase(client.query('RELEASE SAVEPOINT one_write'));
      return () => write.resolve(value);
    } catch (error) {
      const concernsAll = isRepeatable(error) || toPostgresFault(error) !== error;
      if (isAlone || concernsAll) throw error;
      await fromDatabase(client.query('ROLLBACK TO SAVEPOINT one_write'));
      await fromDatabase(client.query('RELEASE SAVEPOINT one_write'));
      return () => write.reject(error);
    }
  }

  /** What became of a commit that was not answered. False also where that cannot be found out. */
  async #hasCommitted({ id }: Transaction): Promise<boolean> {
    if (id === undefined) return false;
    for (const end = Date.now() + unknownMs; Date.now() < end; await sleep(unknownPauseMs)) {
      try {
        const { rows } = await this.#pool.query<{ status: string | null }>('SELECT pg_xact_status($1::xid8) AS status', [id]);
        if (rows[0]?.status !== 'in progress') return rows[0]?.status === 'committed';
      } catch {
        // It cannot be reached yet.
      }
    }
    return false;
  }
}

interface TransactionWork {
  store: StoreName;
  writes: readonly Write[];
  transaction: Transaction;
}

/** How far a transaction has come. */
interface Transaction {
  /** As PostgreSQL names it. */
  id: string | undefined;
  isCommitting: boolean;
  /** To be called when it is durable: resolves its writes, and rejects those that were undone. */
  settle: (() => void)[];
}

const lockStatement = {
  name: 'toolwharf_lock',
  text: 'SELECT pg_current_xact_id()::text AS id, pg_advisory_xact_lock(hashtext($1))::text AS locked',
};

function overloaded(): GatewayError {
  const problem = 'More data waits to be stored than the database takes at the moment, most of it from this key, so this was not stored.';
  return new GatewayError('overloaded', `${problem} Send fewer requests at once, or try again in a few seconds.`, { retryAfter: '5' });
}
