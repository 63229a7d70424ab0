import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { allRequirements } from './requirements/all-requirements.ts';
import { fileOf, findProblems, summaryOf } from './requirements/find-problems.ts';
import type { Requirement } from './requirements/requirement.ts';

const projectRoot = fileURLToPath(new URL('..', import.meta.url));
const lastNumber: Record<string, number> = { S0: 28, S1: 28, S2: 21, S3: 19, S4: 44 };
const maxLength = 400;

const expectedIds = Object.entries(lastNumber).flatMap(([group, last]) =>
  Array.from({ length: last }, (_, index) => `${group}-${index + 1}`),
);

/** Whether a file's source holds every part of a test's name as a literal, in whichever quotes. */
function holdsName(source: string, testName: string): boolean {
  const plain = source.replaceAll('\\', '');
  return testName
    .split(' > ')
    .slice(1)
    .every((part) => plain.includes(part.replaceAll('\\', '')));
}

describe('the manifest of requirements', () => {
  test('has every id exactly once and in order', () => {
    expect(allRequirements.map((entry) => entry.id)).toEqual(expectedIds);
  });

  test('states every behaviour in a sentence of its own', () => {
    const behaviours = allRequirements.map((entry) => entry.behaviour);
    const isSentence = (text: string): boolean =>
      text.trim() === text && text.length >= 20 && text.length <= maxLength && /[.:`]$/.test(text);
    expect(behaviours.filter((text) => !isSentence(text))).toEqual([]);
    expect(behaviours.filter((text, index) => behaviours.indexOf(text) !== index)).toEqual([]);
  });

  test('gives a reason for whatever is not applicable', () => {
    const reasons = allRequirements.flatMap((entry) => (entry.status === 'not_applicable' ? [entry.reason] : []));
    expect(reasons.filter((reason) => reason.trim().length < 20 || reason.length > maxLength)).toEqual([]);
  });

  test('names at least one test for everything verified, and each in a file that has it', () => {
    const problems = allRequirements.flatMap((entry) => {
      if (entry.status !== 'verified') return [];
      if (entry.tests.length === 0) return [`${entry.id}: names no test`];
      return entry.tests.flatMap((name) => problemsOfName(entry.id, name));
    });
    expect(problems).toEqual([]);
  });
});

function problemsOfName(id: string, name: string): string[] {
  const file = fileOf(name);
  if (!/^test\/.+\.test\.ts$/.test(file) || !name.includes(' > ')) return [`${id}: "${name}" has not the form "test/….test.ts > …"`];
  if (!existsSync(`${projectRoot}${file}`)) return [`${id}: ${file} does not exist`];
  return holdsName(readFileSync(`${projectRoot}${file}`, 'utf8'), name) ? [] : [`${id}: ${file} does not hold "${name}"`];
}

describe('the check of a run against the manifest', () => {
  const file = 'test/chat/loop/run-chat.test.ts';
  const name = `${file} > rounds > asks again`;
  const requirements: Requirement[] = [
    { id: 'S9-1', behaviour: 'Asks again.', status: 'verified', tests: [name] },
    { id: 'S9-2', behaviour: 'Comes later.', status: 'planned', part: 'loop' },
    { id: 'S9-3', behaviour: 'Never comes.', status: 'not_applicable', reason: 'It has no meaning here.' },
  ];
  const filesRun = new Set([file]);

  test('is content with a named test that passed', () => {
    expect(findProblems(requirements, filesRun, [{ name, state: 'passed' }])).toEqual([]);
  });

  test.each(['failed', 'skipped', 'pending'])('objects to a named test that is %s', (state) => {
    expect(findProblems(requirements, filesRun, [{ name, state }])).toEqual([`S9-1: "${name}" ${state}`]);
  });

  test('objects to a named test that the run did not have', () => {
    const reported = [{ name: `${file} > rounds > asks once`, state: 'passed' }];
    expect(findProblems(requirements, filesRun, reported)).toEqual([`S9-1: no test is named "${name}"`]);
  });

  test('objects when one of two tests with the same name did not pass', () => {
    const reported = [
      { name, state: 'passed' },
      { name, state: 'failed' },
    ];
    expect(findProblems(requirements, filesRun, reported)).toHaveLength(1);
  });

  test('does not judge files that were no part of the run', () => {
    expect(findProblems(requirements, new Set(['test/other.test.ts']), [])).toEqual([]);
  });

  test('sums up in one line', () => {
    expect(summaryOf(requirements)).toBe('requirements: 1 verified, 1 planned, 1 not applicable');
  });

  test('finds a name in its source in whichever quotes, and only a whole one', () => {
    const source = `describe('rounds', () => { test('the model\\'s turn', () => {}) })`;
    expect(holdsName(source, `${file} > rounds > the model's turn`)).toBe(true);
    expect(holdsName(source, `${file} > rounds > the model's turns`)).toBe(false);
    expect(holdsName(source, `${file} > another > the model's turn`)).toBe(false);
  });
});
