import type { Requirement } from './requirement.ts';

/** A test as a run reported it. `name` has the form of the manifest: `<file> > <describe> > … > <test>`. */
export interface ReportedTest {
  name: string;
  state: string;
}

/** The file of a test's name in the manifest, relative to the project. */
export function fileOf(testName: string): string {
  return testName.split(' > ', 1)[0] ?? '';
}

/** All files that the manifest names, each once. */
export function namedFiles(requirements: readonly Requirement[]): Set<string> {
  return new Set(requirements.flatMap((entry) => (entry.status === 'verified' ? entry.tests.map(fileOf) : [])));
}

/**
 * What a run says against the manifest, a line each: a named test that the run did not have, or that did anything but pass.
 * Only files that were part of the run are judged. A skipped test proves nothing.
 */
export function findProblems(
  requirements: readonly Requirement[],
  filesRun: ReadonlySet<string>,
  reported: readonly ReportedTest[],
): string[] {
  const statesByName = Map.groupBy(reported, (test) => test.name);
  return requirements.flatMap((entry) => {
    if (entry.status !== 'verified') return [];
    const judged = entry.tests.filter((name) => filesRun.has(fileOf(name)));
    return judged.flatMap((name) => {
      const found = statesByName.get(name) ?? [];
      if (found.length === 0) return [`${entry.id}: no test is named "${name}"`];
      const notPassed = found.find((test) => test.state !== 'passed');
      return notPassed === undefined ? [] : [`${entry.id}: "${name}" ${notPassed.state}`];
    });
  });
}

/** `requirements: N verified, N planned, N not applicable` */
export function summaryOf(requirements: readonly Requirement[]): string {
  const count = (status: Requirement['status']): number => requirements.filter((entry) => entry.status === status).length;
  return `requirements: ${count('verified')} verified, ${count('planned')} planned, ${count('not_applicable')} not applicable`;
}
