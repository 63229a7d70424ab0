import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const entry = fileURLToPath(new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url));

const maxRunAgain = 4;

/** One check of a scenario. */
export interface Check {
  scenario: string;
  id: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  /** What the suite says about a failure. */
  why: string;
}

/** Runs `@modelcontextprotocol/conformance` with these arguments, and gives what its scenarios have checked. @throws if it has run none */
export async function runSuite(args: readonly string[]): Promise<Check[]> {
  const folder = mkdtempSync(join(tmpdir(), 'conformance-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const suite = spawn(process.execPath, [entry, ...args, '--output-dir', folder]);
  const output = Promise.all([text(suite.stdout), text(suite.stderr)]);
  await once(suite, 'close');
  const checks = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(`${sep}checks.json`))
    .flatMap((path) => checksIn(join(folder, path), scenarioOf(path)));
  if (checks.length === 0) throw new Error(`The suite has checked nothing:\n${(await output).join('\n')}`);
  return checks;
}

/**
 * The checks with those of a second run for scenarios in which something unexpected fails: some give a server half a second to answer, which a busy machine
 * exceeds. Many such scenarios are a fault.
 */
export async function runAgain(
  checks: readonly Check[],
  isUnexpected: (check: Check) => boolean,
  run: (scenario: string) => Promise<Check[]>,
): Promise<Check[]> {
  const scenarios = new Set(checks.filter(isUnexpected).map(({ scenario }) => scenario));
  if (scenarios.size > maxRunAgain) return [...checks];
  let settled = [...checks];
  for (const scenario of scenarios) settled = [...settled.filter((check) => check.scenario !== scenario), ...(await run(scenario))];
  return settled;
}

/** Its folder is called by the scenario and the time. */
function scenarioOf(path: string): string {
  return path
    .split(sep)
    .slice(0, -1)
    .join('/')
    .replace(/^server-(?=.)/, '')
    .replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '');
}

function checksIn(file: string, scenario: string): Check[] {
  const checks = JSON.parse(readFileSync(file, 'utf8')) as {
    id: string;
    status: Check['status'];
    errorMessage?: string;
    description?: string;
  }[];
  return checks.map(({ id, status, errorMessage, description }) => ({ scenario, id, status, why: errorMessage ?? description ?? '' }));
}
