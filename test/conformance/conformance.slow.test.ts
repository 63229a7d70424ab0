import { readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseToolServerConnections } from '../../src/storage/tool-server-connection.ts';
import { listen, testApp } from '../_support/build-app.ts';
import { startExampleServer } from './example-server.ts';
import { startNamingProxy } from './naming-proxy.ts';
import { runAgain, runSuite, type Check } from './run-suite.ts';
import { startDriver } from './start-driver.ts';

const timeout = 400_000;
/** Of one scenario. They run at the same time, on a machine that may be busy. */
const scenarioMs = '90000';
const quiet = { TOOLWHARF_DEMO: 'false', OLLAMA_BASE_URLS: 'http://127.0.0.1:9' };

const docs = readFileSync(new URL('../../docs/mcp.md', import.meta.url), 'utf8');

/** The checks of a suite that docs/mcp.md lists with the reason why they fail, as `<scenario> <check>`. */
function expectedOf(suite: string): string[] {
  const rows = docs.split('\n').map((line) => line.split(' | ').map((cell) => cell.replace(/^\| /, '')));
  return rows
    .filter(([of = '', , , why]) => why !== undefined && of.split(', ').includes(suite))
    .flatMap(([, scenario = '', checks = '']) => namesIn(checks).map((check) => `${namesIn(scenario).join(' ')} ${check}`))
    .toSorted();
}

function namesIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}

/** Warnings too: a scenario with one has failed as a whole. */
const hasFailed = ({ status }: Check): boolean => status === 'FAILURE' || status === 'WARNING';
const nameOf = ({ scenario, id }: Check): string => `${scenario} ${id}`;

function failuresOf(checks: readonly Check[]): string[] {
  return [...new Set(checks.filter(hasFailed).map(nameOf))].toSorted();
}

function passesOf(checks: readonly Check[]): string[] {
  const failed = new Set(failuresOf(checks));
  return [...new Set(checks.map(nameOf))].filter((check) => !failed.has(check));
}

/**
 * Runs a suite. A check outside of its list fails, or one of the list passes: both have to be looked at.
 * @throws AssertionError
 */
async function passesButListed(suite: string, args: readonly string[]): Promise<Check[]> {
  const expected = expectedOf(suite);
  const isUnexpected = (check: Check): boolean => hasFailed(check) && !expected.includes(nameOf(check));
  const all = await runSuite([...args, '--suite', 'all']);
  const checks = await runAgain(all, isUnexpected, (scenario) => runSuite([...args, '--scenario', scenario]));
  expect({ found: failuresOf(checks), unexpected: checks.filter(isUnexpected) }).toEqual({ found: expected, unexpected: [] });
  return checks;
}

describe('the server suite in front of /mcp', () => {
  it.each([
    ['2025-11-25', 80],
    ['2026-07-28', 115],
  ])('passes all checks of %s but the listed ones', { timeout }, async (version, leastPassed) => {
    const toolServers = parseToolServerConnections([{ id: 'example', type: 'mcp', url: await startExampleServer() }], 'file');
    const app = await testApp(quiet, { config: { toolServers } });
    onTestFinished(() => app.close());
    const url = await startNamingProxy(await listen(app), 'example');
    const args = ['server', '--url', url, '--spec-version', version, '--timeout', scenarioMs];
    const checks = await passesButListed(`server ${version}`, args);
    expect(passesOf(checks).length).toBeGreaterThan(leastPassed);
  });
});

describe('the client suite behind the gateway', () => {
  it.each([
    ['client', [], 48],
    ['client 2026-07-28', ['--spec-version', '2026-07-28'], 33],
  ])(
    'passes all checks of %s but the listed ones, people signing in at its authorization servers included',
    { timeout },
    async (suite, version, scenarios) => {
      const publicUrl = 'https://conformance-test.local';
      const key = 'sk-tw-fixed-administrator';
      const app = await testApp({ ...quiet, TOOLWHARF_ADMIN_KEY: key, PUBLIC_URL: publicUrl });
      onTestFinished(() => app.close());
      const command = await startDriver({ url: await listen(app), publicUrl, adminKey: key });
      const checks = await passesButListed(suite, ['client', '--command', command, '--timeout', scenarioMs, ...version]);
      expect(new Set(checks.map(({ scenario }) => scenario)).size).toBe(scenarios);
    },
  );
});
