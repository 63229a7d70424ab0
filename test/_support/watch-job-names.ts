import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { onTestFinished } from 'vitest';
import type { WorkerJobEvent } from '../../src/workers/worker-pool.ts';

/** The names of the jobs that have begun in worker threads since this was called, in order. */
export function watchJobNames(): string[] {
  const begun: string[] = [];
  const listen = (message: unknown): void => {
    const { type, name } = message as WorkerJobEvent;
    if (type === 'begun') begun.push(name);
  };
  subscribe('toolwharf.worker-job', listen);
  onTestFinished(() => void unsubscribe('toolwharf.worker-job', listen));
  return begun;
}
