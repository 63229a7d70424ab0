import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { makeBundle } from '../../src/packaging/make-bundle.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** `toolwharf.js` of a bundle of these sources; undefined where the sources are tested. */
    bundle?: string;
  }
}

/** Makes the bundle once for all tests of the project that run on it. */
export default async function provideBundle(project: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'toolwharf-bundle-'));
  await makeBundle(folder);
  project.provide('bundle', join(folder, 'toolwharf.js'));
  return () => rmSync(folder, { recursive: true, force: true });
}
