import type pg from 'pg';
import type { Script, Statement } from '../sql/database.ts';
import { endsConnection, fromDatabase } from './postgres-faults.ts';
import { toPostgres, toStorable } from './postgres-words.ts';

/** A connection that has met a fault of its own is not used again. */
export async function withClient<Value>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<Value>): Promise<Value> {
  const client = await fromDatabase(pool.connect());
  let fault: unknown;
  try {
    return await work(client);
  } catch (error) {
    fault = error;
    throw error;
  } finally {
    client.release(fault !== undefined && endsConnection(fault));
  }
}

export async function runScript<Value>(client: pg.ClientBase, steps: Script<Value>): Promise<Value> {
  let step = steps.next();
  while (step.done !== true) step = steps.next(await answer(client, step.value));
  return step.value;
}

async function answer(client: pg.ClientBase, { sql, values, gives }: Statement): Promise<unknown> {
  const result = await fromDatabase(client.query({ ...toPostgres(sql), values: values.map(toStorable) }));
  switch (gives) {
    case 'rows':
      return result.rows;
    case 'row':
      return result.rows[0];
    case 'changes':
      return result.rowCount ?? 0;
    default:
      return gives satisfies never;
  }
}
