import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { setImmediate as nextTick } from 'node:timers/promises';
import type { DatabaseConnection } from './database-connection.ts';
import { execute, selectAll, selectFirst } from './select.ts';

/** In one tick of the event loop, which takes some milliseconds. */
const rowsPerTick = 1_000;
const charactersPerTick = 4 * 1024 * 1024;

/** All strings become part of the SQL, so none may come from a request. */
interface Deletion<Row> {
  table: string;
  /** Columns that together name a row. */
  key: readonly string[];
  /** Further columns of what is returned. `characters`: the size of rows that may be large, of which fewer are deleted in a turn. */
  columns?: readonly string[];
  /** Which rows, with the values of its placeholders. */
  condition: string;
  values: readonly SQLInputValue[];
  /** What goes with each of them, in the same transaction. Called once in each transaction. */
  forEach?: (database: DatabaseSync) => (row: Row) => void;
}

/** Deletes some rows in each tick of the event loop, so that many hold up nobody. Returns them. */
export async function deleteInParts<Row>(connection: DatabaseConnection, deletion: Deletion<Row>): Promise<Row[]> {
  const { table, condition, values } = deletion;
  const sql = `SELECT 1 FROM ${table} WHERE ${condition} LIMIT 1`;
  const deleted: Row[] = [];
  // Read first: usually there is nothing to delete, and a write would have to wait for locks.
  while ((await connection.read((database) => selectFirst(database, sql, ...values))) !== undefined) {
    deleted.push(...(await connection.write((database) => deletePart(database, deletion))));
    await nextTick();
  }
  return deleted;
}

function deletePart<Row>(database: DatabaseSync, { table, key, columns = [], condition, values, forEach }: Deletion<Row>): Row[] {
  const find = `SELECT ${[...key, ...columns].join(', ')} FROM ${table} WHERE ${condition} LIMIT ${rowsPerTick}`;
  const remove = `DELETE FROM ${table} WHERE ${key.map((name) => `${name} = ?`).join(' AND ')}`;
  const follow = forEach?.(database);
  const deleted: Row[] = [];
  let characters = 0;
  for (const row of selectAll<Record<string, SQLInputValue>>(database, find, ...values)) {
    execute(database, remove, ...key.map((name) => row[name] ?? null));
    follow?.(row as Row);
    deleted.push(row as Row);
    characters += Number(row['characters'] ?? 0);
    if (characters >= charactersPerTick) break;
  }
  return deleted;
}
