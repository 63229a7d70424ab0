import type { Browser, Page } from 'playwright-core';

/** The tasks of a page's main thread while it was watched. */
export interface Tasks {
  /** Computing time of the longest, in milliseconds. Another program that has the processor meanwhile does not count. */
  longestCpuMs: number;
  /** From its beginning to its end, whatever else the machine did. */
  longestMs: number;
  /** Of more than 50 ms of computing time. */
  long: number;
}

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  /** Microseconds: from beginning to end, and of computing. */
  dur?: number;
  tdur?: number;
  args?: { name?: string };
}

export const longTaskMs = 50;

/** Watches the main threads of all pages by the browser's own trace. */
export async function watchTasks(browser: Browser, page: Page, work: () => Promise<unknown>): Promise<Tasks> {
  await browser.startTracing(page, { categories: ['toplevel', 'disabled-by-default-devtools.timeline', 'devtools.timeline'] });
  try {
    await work();
  } catch (error) {
    await browser.stopTracing();
    throw error;
  }
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  const threadOf = ({ pid, tid }: TraceEvent): string => `${pid} ${tid}`;
  const main = new Set(traceEvents.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain').map(threadOf));
  const tasks = traceEvents.filter((event) => event.name === 'RunTask' && event.ph === 'X' && main.has(threadOf(event)));
  if (tasks.length === 0) throw new Error('The trace of the browser has no tasks; is this still Chromium?');
  const longest = (figure: (task: TraceEvent) => number | undefined): number =>
    tasks.reduce((most, task) => Math.max(most, figure(task) ?? 0), 0) / 1_000;
  return {
    longestCpuMs: longest(({ tdur }) => tdur),
    longestMs: longest(({ dur }) => dur),
    long: tasks.filter(({ tdur = 0 }) => tdur > longTaskMs * 1_000).length,
  };
}
