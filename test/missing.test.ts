import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { skipWithout } from './_support/missing.ts';

const folder = fileURLToPath(new URL('.', import.meta.url));

afterEach(() => vi.unstubAllEnvs());

describe('a test that needs what a machine lacks', () => {
  const skip = vi.fn<() => never>();

  it('is skipped, and says why', () => {
    vi.stubEnv('REQUIRE_ALL', undefined);
    skipWithout('THING names nothing', { skip });
    expect(skip.mock.calls).toEqual([['THING names nothing']]);
  });

  it('fails where nothing may be skipped', () => {
    vi.stubEnv('REQUIRE_ALL', '1');
    expect(() => skipWithout('THING names nothing', { skip })).toThrow('THING names nothing');
  });

  it('runs where it is there', () => {
    vi.stubEnv('REQUIRE_ALL', '1');
    expect(() => skipWithout(undefined, { skip })).not.toThrow();
  });

  it('is never skipped in another way, unless it is about another system or user', () => {
    const files = globSync('**/*.test.ts', { cwd: folder }).filter(
      (name) => !/^(?:missing|requirements\/requirements)\.test\.ts$/.test(name),
    );
    const isOfSystem = (use: string): boolean => /^\.(?:skipIf|runIf)\(process\.(?:platform|getuid\?\.\(\)) [!=]== /.test(use);
    const uses = files.flatMap((name) =>
      [...readFileSync(join(folder, name), 'utf8').matchAll(/\.(?:skip|skipIf|runIf|todo)\(.*/g)].map(([use]) => ({ name, use })),
    );
    expect(files.length).toBeGreaterThan(300);
    expect(uses.length).toBeGreaterThan(0);
    expect(uses.filter(({ use }) => !isOfSystem(use))).toEqual([]);
  });
});
