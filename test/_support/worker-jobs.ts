import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { onTestFinished } from 'vitest';
import type { WorkerJobEvent } from '../../src/workers/worker-pool.ts';

/** What goes aside until the end of the test: the list grows as jobs begin and end. */
export function watchWorkerJobs(): WorkerJobEvent[] {
  const events: WorkerJobEvent[] = [];
  const onEvent = (event: unknown): void => void events.push(event as WorkerJobEvent);
  subscribe('toolwharf.worker-job', onEvent);
  onTestFinished(() => void unsubscribe('toolwharf.worker-job', onEvent));
  return events;
}

/** How many jobs have begun. */
export function begunJobs(events: readonly WorkerJobEvent[]): number {
  return events.filter(({ type }) => type === 'begun').length;
}
