import { channel } from 'node:diagnostics_channel';
import { Worker } from 'node:worker_threads';
import { WaitingJobs } from './waiting-jobs.ts';

/** A function of a module that runs in a worker thread; `Data` and `Result` are copied by the structured clone algorithm. */
interface Job<Data, Result> {
  url: URL;
  name: string;
  /** Only for type inference. */
  types?: (data: Data) => Result;
}

/** One run of a job. */
export interface JobRun<Data, Result> {
  job: Job<Data, Result>;
  data: Data;
  /** Transferred instead of copied: `MessagePort`s (which must be listed) and buffers that are not used again on this side. */
  transfer?: readonly Transferable[];
  /** For fairness: threads are shared among keys, and those of a key among its people. */
  caller: string;
  /** Ends the work at once, whether it waits or runs. */
  signal?: AbortSignal | undefined;
  /** Time limit from the start of the job; waiting for a thread and starting one do not count. See `WorkerPoolLimits.counts`. */
  timeoutMs: number;
}

type Transferable = NonNullable<Parameters<Worker['postMessage']>[1]>[number];

export interface WorkerPool {
  /**
   * Runs the job in one of the pool's threads.
   * @throws TookTooLong, TookTooMuchMemory, TooManyWaiting; the signal's reason; what the job throws, as an `Error` of the same message
   */
  run<Data, Result>(run: JobRun<Data, Result>): Promise<Awaited<Result>>;
}

interface WorkerPoolLimits {
  threads: number;
  /** The JavaScript heap of each thread, without buffers. */
  megabytes: number;
  /** An idle thread ends after this time. */
  idleMs?: number;
  /**
   * What a job's time limit counts. `processor-time`: what the job computes, so that it succeeds on a busy machine too; for jobs that wait for nothing.
   * Default: `time`.
   */
  counts?: 'time' | 'processor-time';
  /** Jobs that may wait for a thread, of one caller and in all. */
  waitingPerCaller?: number;
  waiting?: number;
}

/** The job was ended at its time limit. */
export class TookTooLong extends Error {
  override readonly name = 'TookTooLong';
}

/** The job was ended at the memory limit of its thread. */
export class TookTooMuchMemory extends Error {
  override readonly name = 'TookTooMuchMemory';
}

/** A function for a worker thread, by its module and its name. Write the URL out, relative to `import.meta.url`: so the bundle finds the module. */
export function jobOf<Run extends (data: never) => unknown>(url: URL, name: string): Job<Parameters<Run>[0], ReturnType<Run>> {
  return { url, name };
}

/** Messages to and from a thread. `begun`: the module is loaded, and the time limit starts; with the processor time of the thread so far. */
export interface ToWorker {
  url: string;
  name: string;
  data: unknown;
}
export type FromWorker =
  | { type: 'begun'; processorMs: number | undefined }
  | { type: 'done'; result: unknown }
  | { type: 'failed'; error: Error };

/** Published on the diagnostics channel `toolwharf.worker-job`: which job began, and how it ended. */
export interface WorkerJobEvent {
  type: 'begun' | 'done' | 'failed';
  name: string;
  caller: string;
  error?: Error;
}
const jobEvents = channel('toolwharf.worker-job');

/** Time for loading the module of a job, in addition to the job's limit: many times what it takes on a busy machine. */
const startMs = 10_000;

/** On the busiest machine a job whose processor time counts is ended after this many times its limit. */
const slowestShare = 20;

interface PendingRun {
  caller: string;
  run: JobRun<unknown, unknown>;
  resolve: (result: never) => void;
  reject: (error: Error) => void;
  stopListening: () => void;
}

interface Thread {
  worker: Worker;
  pending: PendingRun | undefined;
  timer: NodeJS.Timeout | undefined;
  /** When its job began, on the clock and in its processor time; that is undefined where Node does not know it (before 23.9). */
  begun: { atMs: number; processorMs: number | undefined };
  /** True while it is being terminated; it counts as a thread until it has ended. */
  isEnding: boolean;
}

/**
 * A pool of persistent threads for work that would block the event loop. Threads start on demand; a thread is terminated with a job that
 * exceeds its time or memory limit, or is aborted. Fair among keys, and among the people of each: if a pool has more than one thread, no key gets all of
 * them, and a free one goes to whoever was served longest ago.
 */
export function createWorkerPool(limits: WorkerPoolLimits): WorkerPool {
  return new ThreadPool({ idleMs: 5_000, counts: 'time', waitingPerCaller: 64, waiting: 512, ...limits });
}

class ThreadPool implements WorkerPool {
  readonly #threads = new Set<Thread>();
  readonly #limits: Required<WorkerPoolLimits>;
  readonly #waiting: WaitingJobs<PendingRun>;

  constructor(limits: Required<WorkerPoolLimits>) {
    this.#limits = limits;
    const { waitingPerCaller: perCaller, waiting: total } = limits;
    this.#waiting = new WaitingJobs({ perCaller, total, runningPerKey: Math.max(1, limits.threads - 1) }, reject);
  }

  run<Data, Result>(run: JobRun<Data, Result>): Promise<Awaited<Result>> {
    return new Promise<Awaited<Result>>((resolve, reject) => {
      run.signal?.throwIfAborted();
      const onAbort = (): void => this.#abort(pending, run.signal?.reason as Error);
      const pending: PendingRun = {
        caller: run.caller,
        run: run as JobRun<unknown, unknown>,
        resolve,
        reject,
        stopListening: () => run.signal?.removeEventListener('abort', onAbort),
      };
      this.#waiting.add(pending);
      run.signal?.addEventListener('abort', onAbort, { once: true });
      this.#startWaiting();
    });
  }

  #startWaiting(): void {
    for (;;) {
      const idle = [...this.#threads].find(({ pending, isEnding }) => pending === undefined && !isEnding);
      if (idle === undefined && this.#threads.size >= this.#limits.threads) return;
      const pending = this.#waiting.take();
      if (pending === undefined) return;
      this.#begin(idle ?? this.#startThread(), pending);
    }
  }

  #startThread(): Thread {
    const worker = new Worker(new URL('./worker-thread.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.megabytes },
    });
    const begun = { atMs: 0, processorMs: undefined };
    const thread: Thread = { worker, pending: undefined, timer: undefined, begun, isEnding: false };
    worker.on('message', (message: FromWorker) => this.#onMessage(thread, message));
    worker.on('error', (error) => {
      thread.isEnding = true;
      this.#fail(
        thread,
        isOutOfMemory(error) ? new TookTooMuchMemory(`The work took more than ${this.#limits.megabytes} MB of memory.`) : error,
      );
    });
    worker.once('exit', () => {
      this.#threads.delete(thread);
      this.#fail(thread, new Error('The thread ended before its work did.'));
      this.#startWaiting();
    });
    this.#threads.add(thread);
    return thread;
  }

  #begin(thread: Thread, pending: PendingRun): void {
    const { job, data, transfer = [], timeoutMs } = pending.run;
    clearTimeout(thread.timer);
    thread.pending = pending;
    thread.begun = { atMs: performance.now(), processorMs: undefined };
    thread.worker.ref();
    publish(pending, { type: 'begun' });
    thread.timer = setTimeout(() => this.#endLate(thread, pending), startMs + timeoutMs);
    const message: ToWorker = { url: job.url.href, name: job.name, data };
    try {
      thread.worker.postMessage(message, [...transfer]);
    } catch (error) {
      // The data cannot be cloned, so the job has not started.
      this.#fail(thread, error as Error);
    }
  }

  #onMessage(thread: Thread, message: FromWorker): void {
    const { pending } = thread;
    if (pending === undefined) return;
    switch (message.type) {
      case 'begun':
        clearTimeout(thread.timer);
        thread.begun = { atMs: performance.now(), processorMs: message.processorMs };
        thread.timer = setTimeout(() => this.#endLate(thread, pending), pending.run.timeoutMs);
        return;
      case 'done':
        return this.#finish(thread, message);
      case 'failed':
        return this.#finish(thread, message);
    }
  }

  /** Messages are read after timers, so the result may have arrived already; check once more after reading messages. */
  #endLate(thread: Thread, pending: PendingRun): void {
    setImmediate(() => void this.#endUnlessTimeIsLeft(thread, pending));
  }

  async #endUnlessTimeIsLeft(thread: Thread, pending: PendingRun): Promise<void> {
    if (thread.pending !== pending) return;
    const { timeoutMs } = pending.run;
    const leftMs = this.#limits.counts === 'time' ? 0 : timeoutMs - (await processorMsOf(thread));
    if (thread.pending !== pending || thread.isEnding) return;
    const isTooLong = performance.now() - thread.begun.atMs > timeoutMs * slowestShare;
    if (leftMs > 0 && !isTooLong) thread.timer = setTimeout(() => this.#endLate(thread, pending), leftMs);
    else this.#end(thread, new TookTooLong(`The work took longer than ${timeoutMs} ms.`));
  }

  #end(thread: Thread, reason: Error): void {
    thread.isEnding = true;
    void thread.worker.terminate();
    this.#fail(thread, reason);
  }

  #fail(thread: Thread, error: Error): void {
    this.#finish(thread, { type: 'failed', error });
  }

  #finish(thread: Thread, outcome: Exclude<FromWorker, { type: 'begun' }>): void {
    const { pending } = thread;
    clearTimeout(thread.timer);
    if (pending === undefined) return;
    thread.pending = undefined;
    pending.stopListening();
    this.#waiting.finish(pending);
    if (outcome.type === 'done') pending.resolve(outcome.result as never);
    else pending.reject(outcome.error);
    publish(pending, outcome);
    if (!thread.isEnding) this.#rest(thread);
    this.#startWaiting();
  }

  #rest(thread: Thread): void {
    thread.worker.unref();
    thread.timer = setTimeout(() => {
      thread.isEnding = true;
      void thread.worker.terminate();
    }, this.#limits.idleMs).unref();
  }

  #abort(pending: PendingRun, reason: Error): void {
    const thread = [...this.#threads].find((one) => one.pending === pending);
    if (thread !== undefined) this.#end(thread, reason);
    else if (this.#waiting.remove(pending)) reject(pending, reason);
  }
}

/** Of the job that the thread has begun; without bounds where it is unknown. */
async function processorMsOf({ worker, begun: { processorMs } }: Thread): Promise<number> {
  if (processorMs === undefined) return Number.POSITIVE_INFINITY;
  try {
    const { user, system } = await worker.cpuUsage();
    return (user + system) / 1_000 - processorMs;
  } catch {
    // The thread has ended.
    return Number.POSITIVE_INFINITY;
  }
}

function reject(pending: PendingRun, reason: Error): void {
  pending.stopListening();
  pending.reject(reason);
}

function publish({ run: { job, caller } }: PendingRun, { type, ...more }: { type: WorkerJobEvent['type']; error?: Error }): void {
  if (!jobEvents.hasSubscribers) return;
  const event: WorkerJobEvent = { type, name: job.name, caller, ...(more.error !== undefined && { error: more.error }) };
  jobEvents.publish(event);
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}
