import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** Where `TEST_REPORT` names a file, the results are written there as JSON too. */
const report = process.env['TEST_REPORT'];
const reportTo: ['json', { outputFile: string }][] = report === undefined ? [] : [['json', { outputFile: report }]];

/** What Node has stripped and compiled once, the processes of the other test files, and those that tests start, need not do again. */
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/tests', import.meta.url));

/**
 * `unit` runs before every commit. `gateway` asks whole gateways over HTTP, of which it starts two thousand. `slow` is what starts processes or threads
 * by the dozen, moves megabytes, waits for real time limits, or goes through thousands of inputs: such a file is called `….slow.test.ts`.
 */
const slow = ['test/**/*.slow.test.ts'];
const gateway = ['test/{gateway,http,public-surface}/**/*.test.ts'];

/** Gateways that live for milliseconds, by the thousand: with V8's own size a fifth of their time goes to collecting young objects. */
const execArgv = ['--max-semi-space-size=32'];

/** The console in Chromium: the files share the browser. */
const inChromium = ['test/console/**/*.slow.test.ts'];

/** The suites of MCP's own conformance tests, before and behind a gateway. */
const conformance = ['test/conformance/**/*.slow.test.ts'];

/** On a real PostgreSQL, and a real Redis. */
const services = ['test/services/**/*.slow.test.ts'];

/** What is true of the bundle alone, and what starts the program many times to see what it says: from the bundle that takes half as long. */
const bundle = ['test/packaging/bundle.slow.test.ts', 'test/gateway/program/{first-key,start-storage}.slow.test.ts'];
/** Tests that start the program run on its bundle too: those whose subjects are loaded by their names, on demand, or in threads. */
const onBundle = [
  'test/gateway/program/{lost-log,one-process,own-functions}.slow.test.ts',
  'test/docs/{docs-commands,readme}.slow.test.ts',
];

export default defineConfig({
  test: {
    reporters: ['default', ...reportTo],
    // Many tests wait: for processes, for Chromium, for time limits that are real. Others compute meanwhile.
    maxWorkers: 2 * availableParallelism(),
    // The files of a process share what they import. Each cleans up after itself.
    isolate: false,
    // Ends what hangs. A busy machine must not reach it.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 45_000, interval: 20 } },
    // Node loads the sources as it does for the product: no module is mocked, so that nothing needs Vite's transform.
    experimental: { viteModuleRunner: false },
    projects: [
      { extends: true, test: { name: 'unit', execArgv, include: ['test/**/*.test.ts'], exclude: [...gateway, ...slow] } },
      { extends: true, test: { name: 'gateway', execArgv, include: gateway, exclude: slow } },
      { extends: true, test: { name: 'slow', include: slow, exclude: [...bundle, ...inChromium, ...conformance, ...services] } },
      { extends: true, test: { name: 'console', include: inChromium } },
      { extends: true, test: { name: 'conformance', include: conformance } },
      { extends: true, test: { name: 'services', include: services } },
      {
        extends: true,
        test: { name: 'bundle', include: [...bundle, ...onBundle], globalSetup: 'test/_support/provide-bundle.ts' },
      },
    ],
  },
});
