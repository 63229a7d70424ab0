import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { GatewayError } from '../../core/errors.ts';
import { toPostgresFault } from './postgres-faults.ts';

/** Any number, the same in all releases; see `migrationLock`. */
const oneReplicaLock = 7_214_002;
const retryMs = 500;
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
    this.#client = client;
    client.once('end', () => {
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
    connectionTimeoutMillis: connectMs,
    query_timeout: connectMs,
  });
  // It ends then.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ isFree: boolean }>('SELECT pg_try_advisory_lock($1) AS "isFree"', [oneReplicaLock]);
    if (rows[0]?.isFree === true) return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
  await client.end();
  return undefined;
}
