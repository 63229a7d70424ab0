import type { Scenario } from './measure-load.ts';

/** The plain chat in its three forms. */
export const scenarios: readonly Scenario[] = [
  { name: 'json', stream: false, concurrency: 32, plan: { chunks: 50, gapMs: 0 } },
  { name: 'burst', stream: true, concurrency: 32, plan: { chunks: 50, gapMs: 0 } },
  { name: 'paced', stream: true, concurrency: 200, plan: { chunks: 50, gapMs: 20 } },
];
