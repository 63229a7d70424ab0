import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { GatewayError } from '../../core/errors.ts';
import { fromDatabase, toPostgresFault } from './postgres-faults.ts';

/** Any number, the same in all releases; see `migrationLock`. */
const oneReplicaLock = 7_214_002;
const retryMs = 500;
const checkMs = 5_000;
/** After its host has gone, the server ends the connection within half a minute, so that another gateway can take over. */
const keepAlives = 'SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3';
const connectMs = 2_000;

/**
 * Holds a lock on a connection of its own, whose end releases it: also when the process is killed. Taken again when the connection was lost.
 * @throws GatewayError `storage_unavailable` while another gateway holds it
 */
export async function lockForOne(url: string, onLost: () => void): Promise<() => Promise<void>> {
  const holder = new LockHolder(url, onLost);
  if (await holder.take()) return () => holder.release();
  throw new GatewayError(
    'storage_unavailable',
    'Another toolwharf uses the database of DATABASE_URL. Stop it, or use another database: without Redis, one gateway uses a database alone.',
  );
}

class LockHolder {
  readonly #url: string;
  readonly #onLost: () => void;
  #client: Client | undefined;
  #isReleased = false;

  constructor(url: string, onLost: () => void) {
    this.#url = url;
    this.#onLost = onLost;
  }

  /** False while another gateway has it. @throws GatewayError `storage_unavailable` */
  async take(): Promise<boolean> {
    const client = await tryLock(this.#url).catch((error: unknown) => {
      throw toPostgresFault(error);
    });
    if (client === undefined) return false;
    if (this.#isReleased) {
      await client.end();
      return true;
    }
    this.#client = client;
    // A connection that nothing uses may be lost without a sign, for example after a failover; ending it has the lock taken again.
    const check = setInterval(() => void client.query('SELECT 1').catch(() => client.end().catch(() => undefined)), checkMs).unref();
    client.once('end', () => {
      clearInterval(check);
      if (!this.#isReleased) void this.#takeAgain();
    });
    return true;
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    await this.#client?.end();
  }

  async #takeAgain(): Promise<void> {
    while (!this.#isReleased) {
      await sleep(retryMs, undefined, { ref: false });
      // Undefined: PostgreSQL cannot be reached yet.
      const isTaken = await this.take().catch(() => undefined);
      if (isTaken === false) this.#onLost();
      if (isTaken !== undefined) return;
    }
  }
}

/** The connection that holds the lock; undefined while another one does. */
async function tryLock(url: string): Promise<Client | undefined> {
  const client = new Client({
    connectionString: url,
    application_name: 'toolwharf (lock)',
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: connectMs,
    query_timeout: connectMs,
  });
  // It ends then.
  client.on('error', () => undefined);
  try {
    await fromDatabase(client.connect());
    await fromDatabase(client.query(keepAlives));
    const sql = 'SELECT pg_try_advisory_lock($1) AS "isFree"';
    const { rows } = await fromDatabase(client.query<{ isFree: boolean }>(sql, [oneReplicaLock]));
    if (rows[0]?.isFree === true) return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
  await client.end();
  return undefined;
}
