import { createWorkerPool, type JobRun } from './worker-pool.ts';

/**
 * The pool of the whole process for short work that waits for nothing, such as checks and parsing. Work that may take many seconds needs its own pool, because all short
 * work would wait for it.
 */
const shortWork = createWorkerPool({ threads: 2, megabytes: 384, counts: 'processor-time' });

/** Runs a job in the pool for short work; see `WorkerPool.run`. */
export function runInWorker<Data, Result>(run: JobRun<Data, Result>): Promise<Awaited<Result>> {
  return shortWork.run(run);
}
