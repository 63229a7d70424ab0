import { Session } from 'node:inspector';
import { PerformanceObserver } from 'node:perf_hooks';
import { StatementSync } from 'node:sqlite';
import { getHeapStatistics } from 'node:v8';
import { watchStops } from '../stops/watch-stops.ts';

/** What the process says about itself since the last time it was asked. */
export interface InsideCounts {
  heapBytes: number;
  /** Collections of garbage. After one `heapBytes` is no longer what was allocated. */
  collections: number;
  /** Calls of each function of `src`, by `file:function`; empty unless calls are counted. */
  calls: Record<string, number>;
  /** Statements that SQLite has run, and rows that it has returned; 0 unless they are counted. */
  statements: number;
  rows: number;
  /** The longest stop of the event loop, from the start of the process on; 0 unless stops are watched. */
  longestStopMs: number;
}

export type InsideQuestion = 'count-calls' | 'count-sql' | 'end-stops' | 'report';
/** The environment variable that has stops watched. Its timer allocates, so they are not watched while bytes are counted. */
export const stopsVariable = 'BENCH_STOPS';

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

const sql = { statements: 0, rows: 0 };
function countSql(): void {
  type Method = (this: StatementSync, ...values: unknown[]) => unknown;
  for (const name of ['all', 'get', 'run'] as const) {
    const method = Reflect.get(StatementSync.prototype, name) as Method;
    const counting: Method = function (...values) {
      const result = method.apply(this, values);
      sql.statements += 1;
      if (name !== 'run') sql.rows += Array.isArray(result) ? result.length : Number(result !== undefined);
      return result;
    };
    Object.assign(StatementSync.prototype, { [name]: counting });
  }
}

const stops = process.env[stopsVariable] === undefined ? undefined : watchStops();
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
  if (question === 'count-sql') countSql();
  if (question === 'end-stops') stops?.end();
  const heapBytes = getHeapStatistics().used_heap_size;
  const calls = countsCalls ? reportCalls() : {};
  const counts: InsideCounts = { heapBytes, collections, calls, ...sql, longestStopMs: stops?.takeLongestMs() ?? 0 };
  Object.assign(sql, { statements: 0, rows: 0 });
  collections = 0;
  process.send?.(counts);
});
// The channel alone keeps no process alive.
process.channel?.unref();
