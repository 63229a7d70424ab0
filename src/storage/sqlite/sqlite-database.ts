import type { DatabaseSync } from 'node:sqlite';
import { mapped, selectFirst, type Database, type RecordChanges, type Script, type Statement } from '../sql/database.ts';
import { createDatabaseConnection, type ConnectionOptions, type DatabaseConnection } from './connection/database-connection.ts';
import { execute as executeIn, selectAll as selectAllIn, selectFirst as selectFirstIn } from './connection/statements.ts';

/** The stores' database in a file. */
export interface SqliteDatabase extends Database {
  readonly dialect: 'sqlite';
  checkAfterKill: DatabaseConnection['checkAfterKill'];
  /** @throws as `DatabaseConnection.write` */
  requireUsable: () => Promise<void>;
}

export function openSqlite(options: ConnectionOptions): SqliteDatabase {
  const connection = createDatabaseConnection(options);
  let opened: DatabaseSync | undefined;
  /** Counts reopened files, of which nothing is known. */
  let generation = 0;

  function drive<Value>(database: DatabaseSync, script: () => Script<Value>): Value {
    if (database !== opened) {
      opened = database;
      generation += 1;
    }
    const steps = script();
    let step = steps.next();
    while (step.done !== true) step = steps.next(run(database, step.value));
    return step.value;
  }

  return {
    dialect: 'sqlite',
    read: (script) => connection.read((database) => drive(database, script)),
    write: (_store, script, queued) => connection.write((database) => drive(database, script), queued),
    requireWritable: connection.requireWritable,
    requireUsable: () => connection.requireUsable(),
    checkAfterKill: (check) => connection.checkAfterKill(check),
    close: () => connection.close(),

    hasTable: (name) =>
      mapped(selectFirst(`SELECT 1 AS found FROM sqlite_schema WHERE type = 'table' AND name = ?`, name), (found) => found !== undefined),
    // This connection knows what it has written itself.
    noteChange,
    // The version changes when another connection writes.
    changesSince: (since) =>
      mapped(selectFirst<{ data_version: number }>('PRAGMA data_version'), (found): RecordChanges => {
        const mark = `${generation}:${found?.data_version}`;
        return { mark, changed: since === mark ? [] : 'all' };
      }),
  };
}

// eslint-disable-next-line require-yield -- there is nothing to note
function* noteChange(): Script<void> {
  return undefined;
}

function run(database: DatabaseSync, { sql, values, gives }: Statement): unknown {
  switch (gives) {
    case 'rows':
      return selectAllIn(database, sql, values);
    case 'row':
      return selectFirstIn(database, sql, values);
    case 'changes':
      return executeIn(database, sql, values);
    default:
      return gives satisfies never;
  }
}
