import { Client, Pool, types } from 'pg';
import { execute, mapped, selectAll, selectFirst, type Database, type RecordChanges, type RecordTableName } from '../sql/database.ts';
import type { Script } from '../sql/database.ts';
import { schemaSteps } from '../sql/migrations.ts';
import { lockForOne } from './one-replica.ts';
import { runScript, withClient } from './postgres-client.ts';
import { fromDatabase, readOnlyFault, toPostgresFault } from './postgres-faults.ts';
import { QueuedTransactions } from './queued-transactions.ts';

/** At once: enough for all stores to write while others are read. */
const connections = 20;
/** A chat that waits for the database shows nothing meanwhile. */
const acquireMs = 2_000;
const statementMs = 5_000;
/** Longer than the server's own limit, which gives the better error. */
const answerMs = 7_000;
const idleInTransactionMs = 10_000;
/** Changes of records are kept for replicas that have not looked for so long; they read everything anew. */
const changesMs = 24 * 60 * 60 * 1000;
/** Beyond this, all records are read anew. */
const changesAtOnce = 1_000;

export interface PostgresOptions {
  /** `postgres://user:password@host/database`, with the parameters of libpq. */
  url: string;
  /** Milliseconds since 1970. */
  now: () => number;
}

export interface PostgresDatabase extends Database {
  readonly dialect: 'postgres';
  /** Creates or updates the tables. To be called before anything else. */
  migrate(): Promise<void>;
  /**
   * For a gateway that shares the database with no other. Resolves with what releases it. `onLost`: another gateway has taken the database while the
   * connection was lost.
   * @throws GatewayError `storage_unavailable` while another gateway uses the database
   */
  lockForOne(onLost: () => void): Promise<() => Promise<void>>;
}

/** Drives scripts on connections of a pool, one statement after the other. */
export function openPostgres({ url, now }: PostgresOptions): PostgresDatabase {
  const pool = new Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: acquireMs,
    statement_timeout: statementMs,
    query_timeout: answerMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    application_name: 'toolwharf',
    keepAlive: true,
    types: { getTypeParser },
  });
  // A connection that is lost: whoever uses it learns it from the query, and the next one is new. Without listeners such errors would end the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  const writes = new QueuedTransactions(pool);

  async function read<Value>(script: () => Script<Value>): Promise<Value> {
    try {
      return await withClient(pool, (client) => runScript(client, script()));
    } catch (error) {
      throw toPostgresFault(error);
    }
  }

  return {
    dialect: 'postgres',
    read,
    write: (store, script, queued) => writes.add(store, script, queued),
    async requireWritable() {
      const state = await read(() =>
        selectFirst<{ isReadOnly: string }>(`SELECT current_setting('transaction_read_only') AS "isReadOnly"`),
      );
      if (state?.isReadOnly === 'on') throw readOnlyFault();
      if (writes.hasFault) await writes.add('facts', () => execute(`UPDATE facts SET value = value WHERE name = ''`));
    },
    migrate: () => migrate(url),
    lockForOne: (onLost) => lockForOne(url, onLost),
    async close() {
      await writes.close();
      await pool.end();
    },

    hasTable: (name) =>
      mapped(selectFirst<{ table: string | null }>(`SELECT to_regclass(?)::text AS "table"`, name), (row) => row?.table != null),
    noteChange: (table, id) => noteChange(table, id, now()),
    changesSince,
  };
}

/** bigint and numeric become numbers: all of them are times, sizes and counts, which are safe integers. */
function getTypeParser(type: number): unknown {
  return numberTypes.has(type) ? Number : types.getTypeParser(type);
}

const numberTypes = new Set<number>([types.builtins.INT8, types.builtins.NUMERIC]);

/** Written under the lock of the registry, so that numbers commit in their order: whoever has seen one has seen all before it. */
function* noteChange(table: RecordTableName, id: string | undefined, time: number): Script<void> {
  yield* execute('INSERT INTO changes (table_name, id, time) VALUES (?, ?, ?)', table, id ?? null, time);
  yield* execute('DELETE FROM changes WHERE time < ? AND number < (SELECT max(number) FROM changes)', time - changesMs);
}

interface ChangeRow {
  number: number;
  table: RecordTableName;
  id: string | null;
}

function* changesSince(since: string | undefined): Script<RecordChanges> {
  const ends = yield* selectFirst<{ first: number | null; last: number | null }>(
    'SELECT min(number) AS first, max(number) AS last FROM changes',
  );
  const last = ends?.last ?? 0;
  const from = since === undefined ? -1 : Number(since);
  const isComplete = since !== undefined && (ends?.first ?? 0) <= from + 1 && from <= last;
  if (!isComplete || last - from > changesAtOnce) return { mark: String(last), changed: 'all' };
  if (last === from) return { mark: String(last), changed: [] };
  const sql = 'SELECT number, table_name AS "table", id FROM changes WHERE number > ? AND number <= ? ORDER BY number';
  const rows = yield* selectAll<ChangeRow>(sql, from, last);
  return { mark: String(last), changed: rows.map(({ table, id }) => ({ table, id: id ?? undefined })) };
}

/** Any number, the same in all releases. */
const migrationLock = 7_214_001;

/** On a connection of its own, without limits of time: a step may take long, and replicas that start together wait for the first. */
async function migrate(url: string): Promise<void> {
  const client = new Client({ connectionString: url, application_name: 'toolwharf (schema)', connectionTimeoutMillis: acquireMs });
  client.on('error', () => undefined);
  try {
    await fromDatabase(client.connect());
    await fromDatabase(applySteps(client));
  } catch (error) {
    throw toPostgresFault(error);
  } finally {
    // Also ends a transaction that has failed.
    await client.end().catch(() => undefined);
  }
}

async function applySteps(client: Client): Promise<void> {
  await client.query('BEGIN');
  await client.query('SELECT pg_advisory_xact_lock($1)', [migrationLock]);
  await client.query('CREATE TABLE IF NOT EXISTS schema_steps (number integer PRIMARY KEY)');
  const { rows } = await client.query<{ applied: number }>('SELECT count(*)::int AS applied FROM schema_steps');
  const applied = rows[0]?.applied ?? 0;
  for (const [index, { postgres }] of schemaSteps.entries()) {
    if (index < applied) continue;
    if (postgres !== '') await client.query(postgres);
    await client.query('INSERT INTO schema_steps (number) VALUES ($1)', [index + 1]);
  }
  await client.query('COMMIT');
}
