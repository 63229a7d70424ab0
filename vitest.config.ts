import { defineConfig } from 'vitest/config';

/** Where `TEST_REPORT` names a file, the results are written there as JSON too. */
const report = process.env['TEST_REPORT'];
const reportTo: ['json', { outputFile: string }][] = report === undefined ? [] : [['json', { outputFile: report }]];

/** `quick` runs before every commit; `slow` holds what starts processes, moves megabytes or waits for real time limits. */
export default defineConfig({
  test: {
    reporters: ['default', ...reportTo],
    // Half of a small machine would stand idle otherwise.
    maxWorkers: '100%',
    testTimeout: 15_000,
    hookTimeout: 15_000,
    projects: [
      { extends: true, test: { name: 'quick', include: ['test/**/*.test.ts'], exclude: ['test/slow/**'], isolate: false } },
      { extends: true, test: { name: 'slow', include: ['test/slow/**/*.test.ts'], testTimeout: 60_000 } },
    ],
  },
});
