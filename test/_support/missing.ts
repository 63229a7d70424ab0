import { describe, it } from 'vitest';
import type { TestContext } from 'vitest';

/**
 * Ends a test that needs what this machine lacks: it is skipped, or fails with `REQUIRE_ALL=1`. `missing` says what it is, and how to get it; undefined
 * where nothing is missing.
 */
export function skipWithout(missing: string | undefined, context: Pick<TestContext, 'skip'>): void {
  if (missing === undefined) return;
  if (process.env['REQUIRE_ALL'] === '1') throw new Error(`REQUIRE_ALL=1 lets no test be skipped: ${missing}.`);
  context.skip(missing);
}

/** Tests that all need the same. Where it is missing, a single test stands in their place, whose title says why. */
export function describeUnless(missing: string | undefined, title: string, tests: () => void): void {
  if (missing === undefined) describe(title, tests);
  else it(`${title} (skipped: ${missing})`, (context) => skipWithout(missing, context));
}

/** What is missing where an environment variable names no data of other people. */
export function missingVariable(name: 'OPENAPI_CORPUS' | 'MODEL_OUTPUTS'): string | undefined {
  const value = process.env[name];
  return value === undefined || value === '' ? `${name} names nothing` : undefined;
}
