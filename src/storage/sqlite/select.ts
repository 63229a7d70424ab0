import type { DatabaseSync, SQLInputValue } from 'node:sqlite';

/** All rows of a query. `Row` names its columns; their types hold because every table is STRICT. */
export function selectAll<Row>(database: DatabaseSync, sql: string, ...values: SQLInputValue[]): Row[] {
  return database.prepare(sql).all(...values) as unknown as Row[];
}

/** The first row of a query; undefined when there is none. */
export function selectFirst<Row>(database: DatabaseSync, sql: string, ...values: SQLInputValue[]): Row | undefined {
  return database.prepare(sql).get(...values) as unknown as Row | undefined;
}
