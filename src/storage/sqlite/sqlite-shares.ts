import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { Share, ShareBounds } from '../../shared/fair-shares.ts';
import { selectAll } from './select.ts';

/** A table with the columns `caller_id` and `characters`. All strings become part of the SQL, so none may come from a request. */
export interface SharedTable {
  table: 'chat_memory' | 'chats' | 'responses' | 'runs' | 'sign_ins' | 'waiting_runs';
  /** The column by which an entry is deleted. */
  id: 'id' | 'position';
  /** A condition for the rows that count, with the values of its placeholders. */
  where: string;
  values?: readonly SQLInputValue[];
  /** The columns of ORDER BY, oldest row first. */
  order: string;
}

/** Small, because usually only one entry has to be removed. Each further page is as large as all before it, because rows are skipped one by one. */
const rowsOfFirstPage = 100;

/** Each caller's share of a table. The rows are read lazily, so the table must not change before the losses are chosen. */
export function sharesIn(database: DatabaseSync, shared: SharedTable): Share<string | number>[] {
  const { table, id, where, values = [], order } = shared;
  const sums = `SELECT caller_id AS owner, count(*) AS entries, sum(characters) AS characters FROM ${table} WHERE ${where} GROUP BY caller_id`;
  const page = `SELECT ${id} AS id, characters FROM ${table} WHERE caller_id = ? AND ${where}
    ORDER BY ${order} LIMIT ? OFFSET ?`;
  const holdings = selectAll<{ owner: string; entries: number; characters: number }>(database, sums, ...values);
  return holdings.map((holding) => ({ ...holding, oldestFirst: () => readInPages(database, page, [holding.owner, ...values]) }));
}

/** `sql`: a query whose last placeholders are the number of rows, and of those to skip. */
function* readInPages(
  database: DatabaseSync,
  sql: string,
  values: readonly SQLInputValue[],
): Generator<{ id: string | number; characters: number }> {
  for (let offset = 0; ;) {
    const limit = Math.max(rowsOfFirstPage, offset);
    const rows = selectAll<{ id: string | number; characters: number }>(database, sql, ...values, limit, offset);
    yield* rows;
    if (rows.length < limit) return;
    offset += limit;
  }
}

/** The positions of what one caller has beyond its own bounds. `order`: the columns of ORDER BY, newest row first, on which there is an index. */
export function surplusOf(
  database: DatabaseSync,
  { table, order, callerId }: { table: 'chats' | 'responses'; order: string; callerId: string },
  { entries, characters }: ShareBounds,
): number[] {
  const ofCaller = `SELECT position, row_number() OVER newest AS rank, sum(characters) OVER newest AS total FROM ${table} INDEXED BY ${table}_of_caller
    WHERE caller_id = ? WINDOW newest AS (ORDER BY ${order} ROWS UNBOUNDED PRECEDING)`;
  const sql = `SELECT position FROM (${ofCaller}) WHERE rank > ? OR total > ?`;
  return selectAll<{ position: number }>(database, sql, callerId, entries, characters).map(({ position }) => position);
}
