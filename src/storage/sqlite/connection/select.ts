import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { LRUCache } from 'lru-cache';

/** Some hundred texts of SQL stand in this folder; those with filters of a request may be any number. */
const maxStatements = 500;

/** To compile a statement takes ten times as long as to run a small one. */
const statements = new WeakMap<DatabaseSync, LRUCache<string, StatementSync>>();

/** A statement keeps its last values in memory, so it must not have large ones: prepare such a statement for each use. */
function statementOf(database: DatabaseSync, sql: string): StatementSync {
  const known = statements.get(database) ?? new LRUCache<string, StatementSync>({ max: maxStatements });
  statements.set(database, known);
  const statement = known.get(sql) ?? database.prepare(sql);
  known.set(sql, statement);
  return statement;
}

/** All rows of a query. `Row` names its columns; their types hold because every table is STRICT. */
export function selectAll<Row>(database: DatabaseSync, sql: string, ...values: SQLInputValue[]): Row[] {
  return statementOf(database, sql).all(...values) as Row[];
}

/** The first row of a query; undefined when there is none. */
export function selectFirst<Row>(database: DatabaseSync, sql: string, ...values: SQLInputValue[]): Row | undefined {
  return statementOf(database, sql).get(...values) as Row | undefined;
}

/** Changes rows; returns their number. The values are small, such as ids. */
export function execute(database: DatabaseSync, sql: string, ...values: SQLInputValue[]): number {
  return Number(statementOf(database, sql).run(...values).changes);
}
