import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { chooseLosses, type Loss, type MostLosses, type Share, type ShareBounds } from '../../shared/fairness/fair-shares.ts';
import { selectAll, selectFirst } from './connection/select.ts';

/** A table with the columns `caller_id` and `characters`. All strings become part of the SQL, so none may come from a request. */
interface SharedTable {
  table: 'chat_memory' | 'chats' | 'responses' | 'runs' | 'sign_ins' | 'waiting_runs';
  /** The column by which an entry is deleted. */
  id: 'id' | 'position';
  /** A condition for the rows that count, with the values of its placeholders. */
  where: string;
  values?: readonly SQLInputValue[];
  /** The columns of ORDER BY, oldest row first. */
  order: string;
}

/** Whether the rows that count are within the bounds, which costs far less than the shares of all callers: with ten thousand of them 1 ms instead of 15. */
export function areWithin(
  database: DatabaseSync,
  { table, where, values = [] }: SharedTable,
  { entries, characters }: ShareBounds,
): boolean {
  const sql = `SELECT count(*) AS entries, total(characters) AS characters FROM ${table} WHERE ${where}`;
  const all = selectFirst<{ entries: number; characters: number }>(database, sql, ...values);
  return all === undefined || (all.entries <= entries && all.characters <= characters);
}

/** Which rows go, so that the others are within the bounds. `most`: at most so many of them. */
export function lossesIn(
  database: DatabaseSync,
  shared: SharedTable,
  { most, ...bounds }: ShareBounds & { most?: MostLosses },
): Loss<string | number>[] {
  return areWithin(database, shared, bounds) ? [] : chooseLosses(sharesIn(database, shared), bounds, most);
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
