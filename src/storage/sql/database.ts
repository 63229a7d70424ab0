import type { QueuedWrite } from './queued-write.ts';

export type SqlValue = string | number | null;

/** One statement of a script. Placeholders are `?`, or `?1`, `?2` where a value is used twice. */
export interface Statement {
  sql: string;
  values: readonly SqlValue[];
  /** What the script wants to know: all rows, the first one, or how many were changed. */
  gives: 'rows' | 'row' | 'changes';
}

/**
 * Statements that belong together, and what to do with their rows. SQLite drives a script from beginning to end in one tick of the event loop, and
 * PostgreSQL awaits each statement, so a script must not await anything else. It may be run again from its beginning, after a lock or a lost connection.
 */
export type Script<Value> = Generator<Statement, Value, unknown>;

export type Dialect = 'sqlite' | 'postgres';

/** The transactions of one store exclude each other, also those of other replicas: what a script has read is still true when it writes. */
export type StoreName =
  | 'audit'
  | 'chats'
  | 'chat_memory'
  | 'credentials'
  | 'facts'
  | 'grants'
  | 'oauth_clients'
  | 'registry'
  | 'responses'
  | 'runs'
  | 'sign_ins'
  | 'usage'
  | 'waiting_runs';

export type RecordTableName = 'tool_servers' | 'backends' | 'keys' | 'presets';

export interface RecordChanges {
  mark: string;
  changed: 'all' | readonly { table: RecordTableName; id: string | undefined }[];
}

/** SQLite or PostgreSQL. @throws GatewayError `storage_unavailable` from every method while it cannot be read or written */
export interface Database {
  readonly dialect: Dialect;
  /** The statements see what is committed when each of them runs. */
  read<Value>(script: () => Script<Value>): Promise<Value>;
  /**
   * Runs the script in a transaction, which it may share with other writes of this process; if it throws, nothing of it is written. Writes of one caller
   * run in the order of the calls. Resolves when the commit is durable. `queued`: whose write it is, and the size of its texts.
   * @throws GatewayError `overloaded` when too much waits, and this caller has the most
   */
  write<Value>(store: StoreName, script: () => Script<Value>, queued?: Partial<QueuedWrite>): Promise<Value>;
  /** @throws GatewayError `storage_unavailable` while writes fail, or are about to because the disk or the database is full */
  requireWritable: () => Promise<void>;
  /** A database that is only read may be of a release that had no such table. */
  hasTable(name: string): Script<boolean>;
  /** To be called in the write that changes a record of the registry. `id`: undefined where any may have changed. */
  noteChange(table: RecordTableName, id: string | undefined): Script<void>;
  /** Which records others may have changed since the last time; `since` is the `mark` of that time. */
  changesSince(since: string | undefined): Script<RecordChanges>;
  /** Waits for queued writes. */
  close(): Promise<void>;
}

/** All rows of a query. `Row` names its columns; both databases have typed columns. */
export function* selectAll<Row>(sql: string, ...values: SqlValue[]): Script<Row[]> {
  return (yield { sql, values, gives: 'rows' }) as Row[];
}

/** The first row of a query; undefined when there is none. */
export function* selectFirst<Row>(sql: string, ...values: SqlValue[]): Script<Row | undefined> {
  return (yield { sql, values, gives: 'row' }) as Row | undefined;
}

/** What becomes of the rows that a script gives. */
export function* mapped<From, To>(script: Script<From>, map: (value: From) => To): Script<To> {
  return map(yield* script);
}

/** Changes rows; returns their number. */
export function* execute(sql: string, ...values: SqlValue[]): Script<number> {
  return (yield { sql, values, gives: 'changes' }) as number;
}

/** Whether a statement has changed anything. */
export function* hasChanged(sql: string, ...values: SqlValue[]): Script<boolean> {
  return (yield* execute(sql, ...values)) > 0;
}
