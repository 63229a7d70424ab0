import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';

/** Reads every page of a database that may be in use; returns what is wrong, or undefined. For a thread: a gigabyte takes seconds. */
export function checkDatabaseJob(file: string): string | undefined {
  const address = pathToFileURL(file);
  address.searchParams.set('mode', 'ro');
  statSync(file);
  const database = new DatabaseSync(address, { readOnly: true });
  try {
    const found = database.prepare('PRAGMA quick_check(1)').get()?.['quick_check'];
    return found === 'ok' ? undefined : String(found);
  } finally {
    database.close();
  }
}
