import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { Share } from '../../shared/fair-shares.ts';
import { selectAll } from './select.ts';

/** A table with the columns `caller_id` and `characters`. All strings become part of the SQL, so none may come from a request. */
export interface SharedTable {
  table: 'chat_memory' | 'chats' | 'runs' | 'waiting_runs';
  /** The column by which an entry is deleted. */
  id: 'id' | 'position';
  /** A condition for the rows that count, with the values of its placeholders. */
  where: string;
  values?: readonly SQLInputValue[];
  /** The columns of ORDER BY, oldest row first. */
  order: string;
}

/** Small, because usually only one entry has to be removed. */
const rowsPerPage = 100;

/** Each caller's share of a table. The rows are read lazily, so the table must not change before the losses are chosen. */
export function sharesIn(database: DatabaseSync, shared: SharedTable): Share<string | number>[] {
  const { table, id, where, values = [], order } = shared;
  const sums = `SELECT caller_id AS owner, count(*) AS entries, sum(characters) AS characters FROM ${table} WHERE ${where} GROUP BY caller_id`;
  const page = `SELECT ${id} AS id, characters FROM ${table} WHERE caller_id = ? AND ${where}
    ORDER BY ${order} LIMIT ${rowsPerPage} OFFSET ?`;
  function* oldestOf(owner: string): Generator<{ id: string | number; characters: number }> {
    for (let offset = 0; ; offset += rowsPerPage) {
      const rows = selectAll<{ id: string | number; characters: number }>(database, page, owner, ...values, offset);
      yield* rows;
      if (rows.length < rowsPerPage) return;
    }
  }
  const holdings = selectAll<{ owner: string; entries: number; characters: number }>(database, sums, ...values);
  return holdings.map((holding) => ({ ...holding, oldestFirst: () => oldestOf(holding.owner) }));
}
