import { once } from 'node:events';
import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createWorkerPool, jobOf, TookTooLong, TookTooMuchMemory, type WorkerPool } from '../../src/workers/worker-pool.ts';
import { TooManyWaiting } from '../../src/workers/waiting-jobs.ts';
import type * as jobs from './sample-job.ts';

const sampleJob = new URL('./sample-job.ts', import.meta.url);
const double = jobOf<typeof jobs.double>(sampleJob, 'double');
const whichThread = jobOf<typeof jobs.whichThread>(sampleJob, 'whichThread');
const spinForever = jobOf<typeof jobs.spinForever>(sampleJob, 'spinForever');
const fillMemory = jobOf<typeof jobs.fillMemory>(sampleJob, 'fillMemory');
const sleep = jobOf<typeof jobs.sleep>(sampleJob, 'sleep');
const fail = jobOf<typeof jobs.fail>(sampleJob, 'fail');
const addUp = jobOf<typeof jobs.addUp>(sampleJob, 'addUp');
const hold = jobOf<typeof jobs.hold>(sampleJob, 'hold');

const long = 60_000;
const workers: Worker[] = [];
const onWorker = (worker: Worker): void => void workers.push(worker);
beforeEach(() => void process.on('worker', onWorker));
afterEach(() => {
  process.off('worker', onWorker);
  workers.length = 0;
});

interface Held {
  begun: Promise<unknown>;
  release: () => void;
  result: Promise<string>;
}

/** A job that holds its thread until it is released; `order` takes its label when it begins. */
function startHeld(
  pool: WorkerPool,
  caller: string,
  { label = caller, order = [], signal }: { label?: string; order?: string[]; signal?: AbortSignal } = {},
): Held {
  const { port1, port2 } = new MessageChannel();
  const begun = once(port1, 'message').then(() => void order.push(label));
  const result = pool.run({ job: hold, data: { port: port2, label }, transfer: [port2], caller, timeoutMs: long, signal });
  // eslint-disable-next-line unicorn/require-post-message-target-origin -- a port, not a window
  return { begun, result, release: () => port1.postMessage('end') };
}

describe('a worker pool', () => {
  it('runs jobs in a thread that stays for the next one', async () => {
    const pool = createWorkerPool({ threads: 2, megabytes: 64 });
    expect(await pool.run({ job: double, data: 21, caller: 'a', timeoutMs: long })).toBe(42);
    const first = await pool.run({ job: whichThread, data: undefined, caller: 'a', timeoutMs: long });
    expect(await pool.run({ job: whichThread, data: undefined, caller: 'b', timeoutMs: long })).toBe(first);
    expect(first).not.toBe(0);
    expect(workers).toHaveLength(1);
  });

  it('says what a job throws', async () => {
    const pool = createWorkerPool({ threads: 1, megabytes: 64 });
    await expect(pool.run({ job: fail, data: 'no good', caller: 'a', timeoutMs: long })).rejects.toThrow(new TypeError('no good'));
    expect(await pool.run({ job: double, data: 1, caller: 'a', timeoutMs: long })).toBe(2);
    expect(workers).toHaveLength(1);
  });

  it('refuses data that cannot be copied and goes on', async () => {
    const pool = createWorkerPool({ threads: 1, megabytes: 64 });
    await expect(pool.run({ job: double, data: (() => 1) as unknown as number, caller: 'a', timeoutMs: long })).rejects.toThrow(
      'could not be cloned',
    );
    expect(await pool.run({ job: double, data: 1, caller: 'a', timeoutMs: long })).toBe(2);
  });

  it('talks with a job through a port', async () => {
    const pool = createWorkerPool({ threads: 1, megabytes: 64 });
    const { port1, port2 } = new MessageChannel();
    // eslint-disable-next-line unicorn/require-post-message-target-origin -- a port, not a window
    port1.on('message', (index: number) => port1.postMessage(index * 10));
    const data: { port: MessagePort; count: number } = { port: port2, count: 4 };
    expect(await pool.run({ job: addUp, data, transfer: [port2], caller: 'a', timeoutMs: long })).toBe(60);
    port1.close();
  });

  it('ends a job that takes too long, together with its thread', async () => {
    const pool = createWorkerPool({ threads: 1, megabytes: 64 });
    await expect(pool.run({ job: spinForever, data: undefined, caller: 'a', timeoutMs: 30 })).rejects.toThrow(TookTooLong);
    const ended = workers[0] && once(workers[0], 'exit');
    expect(await pool.run({ job: double, data: 4, caller: 'a', timeoutMs: long })).toBe(8);
    await ended;
    expect(workers).toHaveLength(2);
  });

  describe('whose limits count processor time', () => {
    const create = (): WorkerPool => createWorkerPool({ threads: 1, megabytes: 64, counts: 'processor-time' });

    it('gives a job as much time on the clock as it needs for its processor time', async () => {
      expect(await create().run({ job: sleep, data: 200, caller: 'a', timeoutMs: 50 })).toBe(200);
    });

    it('ends a job that computes too long', async () => {
      const pool = create();
      await expect(pool.run({ job: spinForever, data: undefined, caller: 'a', timeoutMs: 50 })).rejects.toThrow(TookTooLong);
      expect(await pool.run({ job: double, data: 4, caller: 'a', timeoutMs: long })).toBe(8);
    });

    it('ends a job that waits for ever', async () => {
      await expect(create().run({ job: sleep, data: 1e9, caller: 'a', timeoutMs: 10 })).rejects.toThrow(TookTooLong);
    });
  });

  it('ends a job that takes too much memory', async () => {
    const pool = createWorkerPool({ threads: 1, megabytes: 16 });
    await expect(pool.run({ job: fillMemory, data: undefined, caller: 'a', timeoutMs: long })).rejects.toThrow(TookTooMuchMemory);
    expect(await pool.run({ job: double, data: 4, caller: 'a', timeoutMs: long })).toBe(8);
  });

  it('ends a job with its signal, whether it runs or waits', async () => {
    const pool = createWorkerPool({ threads: 1, megabytes: 64 });
    const [running, waiting] = [new AbortController(), new AbortController()];
    const first = pool.run({ job: spinForever, data: undefined, caller: 'a', timeoutMs: long, signal: running.signal });
    const second = pool.run({ job: double, data: 1, caller: 'a', timeoutMs: long, signal: waiting.signal });
    waiting.abort(new Error('left the queue'));
    await expect(second).rejects.toThrow('left the queue');
    running.abort(new Error('left'));
    await expect(first).rejects.toThrow('left');
    await expect(pool.run({ job: double, data: 1, caller: 'a', timeoutMs: long, signal: running.signal })).rejects.toThrow('left');
    expect(await pool.run({ job: double, data: 4, caller: 'a', timeoutMs: long })).toBe(8);
  });

  it('ends an idle thread', async () => {
    const pool = createWorkerPool({ threads: 1, megabytes: 64, idleMs: 1 });
    await pool.run({ job: double, data: 1, caller: 'a', timeoutMs: long });
    if (workers[0] !== undefined) await once(workers[0], 'exit');
    expect(await pool.run({ job: double, data: 2, caller: 'a', timeoutMs: long })).toBe(4);
    expect(workers).toHaveLength(2);
  });

  it('lets no caller hold all threads', async () => {
    const pool = createWorkerPool({ threads: 2, megabytes: 64 });
    const order: string[] = [];
    const held = ['a1', 'a2', 'a3'].map((label) => startHeld(pool, 'a', { label, order }));
    const other = startHeld(pool, 'b', { order });
    await other.begun;
    await held[0]?.begun;
    expect(order.toSorted()).toEqual(['a1', 'b']);
    for (const { release } of [other, ...held]) release();
    expect(await Promise.all(held.map(({ result }) => result))).toEqual(['a1', 'a2', 'a3']);
    expect(workers).toHaveLength(2);
  });

  it('serves the caller next that was served longest ago', async () => {
    const pool = createWorkerPool({ threads: 1, megabytes: 64 });
    const order: string[] = [];
    const held = [
      startHeld(pool, 'a', { label: 'a1' }),
      startHeld(pool, 'a', { label: 'a2' }),
      startHeld(pool, 'a', { label: 'a3' }),
      startHeld(pool, 'b', { label: 'b1' }),
      startHeld(pool, 'b', { label: 'b2' }),
      startHeld(pool, 'c', { label: 'c1' }),
    ];
    for (const { release } of held) release();
    // Results come through one channel, in the order of the jobs; each job tells its beginning through a port of its own.
    await Promise.all(held.map(async ({ result }) => order.push(await result)));
    expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  });

  it('gives all people of one key what one caller has', async () => {
    const pool = createWorkerPool({ threads: 2, megabytes: 64 });
    const order: string[] = [];
    const held = ['key/ada', 'key/bob', 'key/eve', 'other', 'other'].map((caller) => startHeld(pool, caller, { order }));
    await Promise.all([held[0]?.begun, held[3]?.begun]);
    expect(order.toSorted()).toEqual(['key/ada', 'other']);
    for (const { release } of held) release();
    await Promise.all(held.map(({ result }) => result));
  });

  it('makes room for a caller whose key has less waiting than another', async () => {
    const pool = createWorkerPool({ threads: 1, megabytes: 64, waitingPerCaller: 2, waiting: 4 });
    const first = startHeld(pool, 'key/ada');
    const run = (caller: string): Promise<number> => pool.run({ job: double, data: 1, caller, timeoutMs: long });
    const outcomes = Promise.allSettled([run('key/ada'), run('key/ada'), run('key/bob'), run('key/eve'), run('other'), run('key/joe')]);
    first.release();
    expect((await outcomes).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'rejected',
    ]);
  });

  it('refuses what is more than may wait, of one caller and of all', async () => {
    const pool = createWorkerPool({ threads: 1, megabytes: 64, waitingPerCaller: 1, waiting: 2 });
    const first = startHeld(pool, 'a');
    const run = (caller: string): Promise<number> => pool.run({ job: double, data: 1, caller, timeoutMs: long });
    const waiting = [run('a')];
    await expect(run('a')).rejects.toThrow(TooManyWaiting);
    waiting.push(run('b'));
    await expect(run('c')).rejects.toThrow(TooManyWaiting);
    first.release();
    expect(await Promise.all(waiting)).toEqual([2, 2]);
    expect(await run('c')).toBe(2);
  });
});
