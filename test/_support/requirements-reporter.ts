import { relative } from 'node:path';
import type { Reporter, TestModule, TestSpecification, Vitest } from 'vitest/node';
import { allRequirements } from '../requirements/all-requirements.ts';
import { findProblems, namedFiles, summaryOf } from '../requirements/find-problems.ts';

/**
 * Holds every run against the manifest: what it calls verified must have been tested and have passed, or the run fails.
 * Runs that a filter narrows below whole files say nothing about the manifest and are left alone.
 * Vitest constructs it: a reporter named by its path is a default-exported class.
 */
export default class RequirementsReporter implements Reporter {
  #vitest: Vitest | undefined;
  /** Files of which a line, a name or a tag chose some tests only. */
  #narrowed = new Set<string>();

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    const narrowed = specifications.filter(choosesTests);
    this.#narrowed = new Set(narrowed.map((file) => file.moduleId));
  }

  onTestRunEnd(modules: readonly TestModule[], _errors: readonly unknown[], reason: string): void {
    const vitest = this.#vitest;
    if (vitest === undefined || reason === 'interrupted' || isNarrowed(vitest)) return;
    const whole = modules.filter((module) => !this.#narrowed.has(module.moduleId));
    const fileName = (module: TestModule): string => relative(vitest.config.root, module.moduleId).replaceAll('\\', '/');
    const filesRun = new Set(whole.map(fileName));
    const reported = whole.flatMap((module) =>
      [...module.children.allTests()].map((test) => ({ name: `${fileName(module)} > ${test.fullName}`, state: test.result().state })),
    );

    const problems = findProblems(allRequirements, filesRun, reported);
    for (const problem of problems) vitest.logger.error(`requirement ${problem}`);
    if (problems.length > 0) process.exitCode = 1;
    if (isFullRun(vitest, filesRun)) vitest.logger.log(summaryOf(allRequirements));
  }
}

/** A file named without a line comes with empty lists. */
function choosesTests(file: TestSpecification): boolean {
  const lists = [file.testLines, file.testIds, file.testNames, file.testTagsFilter];
  return file.testNamePattern !== undefined || lists.some((list) => list !== undefined && list.length > 0);
}

function isNarrowed(vitest: Vitest): boolean {
  const tags = vitest.config.tagsFilter;
  return vitest.getGlobalTestNamePattern() !== undefined || (tags !== undefined && tags.length > 0);
}

/** Both projects, and no file of the manifest left out. */
function isFullRun(vitest: Vitest, filesRun: ReadonlySet<string>): boolean {
  const projects = new Set(vitest.projects.map((project) => project.name));
  return projects.has('quick') && projects.has('slow') && [...namedFiles(allRequirements)].every((file) => filesRun.has(file));
}
