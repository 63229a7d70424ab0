import type { checkDatabaseJob } from '../storage/sqlite/connection/check-database-job.ts';
import { runInWorker } from '../workers/run-in-worker.ts';
import { jobOf } from '../workers/worker-pool.ts';

const job = jobOf<typeof checkDatabaseJob>(
  new URL('../storage/sqlite/connection/check-database-job.ts', import.meta.url),
  'checkDatabaseJob',
);
/** Processor time for reading all pages of the largest database, many times over. */
const timeoutMs = 60_000;

/** What is wrong with a database, of which all pages are read in a thread. */
export function checkDatabase(file: string): Promise<string | undefined> {
  return runInWorker({ job, data: file, caller: '', timeoutMs });
}
