import { setImmediate as nextTick } from 'node:timers/promises';
import { execute, selectAll, selectFirst, type Database, type Script, type SqlValue, type StoreName } from './database.ts';

/** In one tick of the event loop, which takes some milliseconds. */
const rowsPerTick = 1_000;
const charactersPerTick = 4 * 1024 * 1024;

/** All strings become part of the SQL, so none may come from a request. */
interface Deletion<Row> {
  store: StoreName;
  table: string;
  /** Columns that together name a row. */
  key: readonly string[];
  /** Further columns of what is returned. `characters`: the size of rows that may be large, of which fewer are deleted in a turn. */
  columns?: readonly string[];
  /** Which rows, with the values of its placeholders. */
  condition: string;
  values: readonly SqlValue[];
  /** What goes before each of them, in the same transaction. */
  before?: (row: Row) => Script<unknown>;
}

/** Deletes some rows in each tick of the event loop, so that many hold up nobody. Returns them. */
export async function deleteInParts<Row>(database: Database, deletion: Deletion<Row>): Promise<Row[]> {
  const { store, table, condition, values } = deletion;
  const sql = `SELECT 1 AS found FROM ${table} WHERE ${condition} LIMIT 1`;
  const deleted: Row[] = [];
  // Read first: usually there is nothing to delete, and a write would have to wait for locks.
  while ((await database.read(() => selectFirst(sql, ...values))) !== undefined) {
    deleted.push(...(await database.write(store, () => deletePart(deletion))));
    await nextTick();
  }
  return deleted;
}

function* deletePart<Row>({ table, key, columns = [], condition, values, before }: Deletion<Row>): Script<Row[]> {
  const find = `SELECT ${[...key, ...columns].join(', ')} FROM ${table} WHERE ${condition} LIMIT ${rowsPerTick}`;
  const remove = `DELETE FROM ${table} WHERE ${key.map((name) => `${name} = ?`).join(' AND ')}`;
  const deleted: Row[] = [];
  let characters = 0;
  for (const row of yield* selectAll<Record<string, SqlValue>>(find, ...values)) {
    if (before !== undefined) yield* before(row as Row);
    yield* execute(remove, ...key.map((name) => row[name] ?? null));
    deleted.push(row as Row);
    characters += Number(row['characters'] ?? 0);
    if (characters >= charactersPerTick) break;
  }
  return deleted;
}
