import { Session } from 'node:inspector';
import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

/** What the process says about itself since the last time it was asked. */
export interface InsideCounts {
  heapBytes: number;
  /** Collections of garbage. After one `heapBytes` is no longer what was allocated. */
  collections: number;
  /** Calls of each function of `src`, by `file:function`; empty unless calls are counted. */
  calls: Record<string, number>;
}

export type InsideQuestion = 'count-calls' | 'report';

/** Imported into the gateway's process before it starts; answers questions of its parent. */
const inspector = new Session();
inspector.connect();
let collections = 0;
new PerformanceObserver((list) => (collections += list.getEntries().length)).observe({ entryTypes: ['gc'] });

function reportCalls(): Record<string, number> {
  const calls: Record<string, number> = {};
  inspector.post('Profiler.takePreciseCoverage', (error, taken) => {
    if (error !== null) return;
    for (const { url, functions } of taken.result) {
      const file = url.split('/src/')[1];
      if (file === undefined || url.includes('/node_modules/')) continue;
      for (const { functionName, ranges, isBlockCoverage } of functions) {
        const count = ranges[0]?.count ?? 0;
        if (count > 0 && (isBlockCoverage || functionName !== '')) {
          const name = `${file}:${functionName}:${ranges[0]?.startOffset ?? 0}`;
          calls[name] = (calls[name] ?? 0) + count;
        }
      }
    }
  });
  return calls;
}

let countsCalls = false;
process.on('message', (question: InsideQuestion) => {
  if (question === 'count-calls') {
    countsCalls = true;
    inspector.post('Profiler.enable');
    inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    reportCalls();
    process.send?.({});
    return;
  }
  const heapBytes = getHeapStatistics().used_heap_size;
  const counts: InsideCounts = { heapBytes, collections, calls: countsCalls ? reportCalls() : {} };
  collections = 0;
  process.send?.(counts);
});
// The channel alone keeps no process alive.
process.channel?.unref();
