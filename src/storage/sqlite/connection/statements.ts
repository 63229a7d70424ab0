import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { LRUCache } from 'lru-cache';
import type { SqlValue } from '../../sql/database.ts';

/** Some hundred texts of SQL stand in this folder; those with filters of a request may be any number. */
const maxStatements = 500;

/** To compile a statement takes ten times as long as to run a small one. */
const statements = new WeakMap<DatabaseSync, LRUCache<string, StatementSync>>();

/** A statement keeps its last values in memory, so one with larger texts is compiled for this use only. */
const keptCharacters = 8_000;

function statementOf(database: DatabaseSync, sql: string, values: readonly SqlValue[]): StatementSync {
  if (values.some((value) => typeof value === 'string' && value.length > keptCharacters)) return database.prepare(sql);
  let known = statements.get(database);
  if (known === undefined) statements.set(database, (known = new LRUCache<string, StatementSync>({ max: maxStatements })));
  const kept = known.get(sql);
  if (kept !== undefined) return kept;
  const statement = database.prepare(sql);
  known.set(sql, statement);
  return statement;
}

/** All rows of a query; their types hold because every table is STRICT. */
export function selectAll(database: DatabaseSync, sql: string, values: readonly SqlValue[]): unknown[] {
  return statementOf(database, sql, values).all(...values);
}

/** The first row of a query; undefined when there is none. */
export function selectFirst(database: DatabaseSync, sql: string, values: readonly SqlValue[]): unknown {
  return statementOf(database, sql, values).get(...values);
}

/** Changes rows; returns their number. */
export function execute(database: DatabaseSync, sql: string, values: readonly SqlValue[]): number {
  return Number(statementOf(database, sql, values).run(...values).changes);
}
