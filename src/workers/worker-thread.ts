import { parentPort } from 'node:worker_threads';
import type { FromWorker, ToWorker } from './worker-pool.ts';

/** The code of each thread of `worker-pool.ts`: runs one job after the other. */
parentPort?.on('message', (message: ToWorker) => void runJob(message));

async function runJob({ url, name, data }: ToWorker): Promise<void> {
  try {
    const module = (await import(url)) as Record<string, (data: unknown) => unknown>;
    const run = module[name];
    if (run === undefined) throw new Error(`${url} exports no function "${name}"`);
    post({ type: 'begun', processorMs: processorMs() });
    post({ type: 'done', result: await run(data) });
  } catch (error) {
    post({ type: 'failed', error: error instanceof Error ? error : new Error(String(error)) });
  }
}

/** Of this thread; undefined before Node 23.9. */
function processorMs(): number | undefined {
  const used = process.threadCpuUsage?.();
  return used && (used.user + used.system) / 1_000;
}

function post(message: FromWorker): void {
  // eslint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(message);
}
