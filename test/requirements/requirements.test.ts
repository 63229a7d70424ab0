import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

const groups = { S0: 28, S1: 28, S2: 21, S3: 19, S4: 44 };
const expectedIds = Object.entries(groups).flatMap(([group, last]) => Array.from({ length: last }, (_, index) => `${group}-${index + 1}`));

/** `- S1-24: What the gateway owes.`, in rare cases with the reason why no test can show it. */
const requirements = [...read('test/requirements/requirements.md').matchAll(/^- (\S+): (.*?)(?: \(not applicable: (.+)\))?$/gm)].map(
  ([, id = '', behaviour = '', reason]) => ({ id, behaviour, reason }),
);

/** The ids at the end of a title, and the call whose title it is: `test`, `describe.each`, … */
function tagsOf(source: string): { id: string; call: string }[] {
  return [...source.matchAll(/ \[(S\d+-\d+(?:, S\d+-\d+)*)\](?=['"`],)/g)].flatMap(({ 1: ids = '', index }) => {
    const call = [...source.slice(0, index).matchAll(/\b(?:test|it|describe)\b[.\w]*/g)].at(-1)?.[0] ?? 'nothing';
    return ids.split(', ').map((id) => ({ id, call }));
  });
}

describe('the requirements', () => {
  const tags = globSync('test/**/*.test.ts', { cwd: root })
    .filter((path) => !path.endsWith('requirements.test.ts'))
    .flatMap((path) => tagsOf(read(path)).map((tag) => ({ ...tag, path })));

  it('have every id exactly once and in order', () => {
    expect(requirements.map(({ id }) => id)).toEqual(expectedIds);
  });

  it('are each said in a sentence of its own', () => {
    const behaviours = requirements.map(({ behaviour }) => behaviour);
    expect(behaviours.filter((text) => text.length < 20 || text.length > 400 || !/[.:`]$/.test(text))).toEqual([]);
    expect(new Set(behaviours).size).toBe(behaviours.length);
  });

  it('are verified by at least one test each, or say why they cannot be', () => {
    const verified = new Set(tags.map(({ id }) => id));
    expect(requirements.filter(({ id, reason }) => verified.has(id) === (reason !== undefined)).map(({ id }) => id)).toEqual([]);
  });

  it('are named in titles by ids that exist, of tests that always run', () => {
    expect(tags.filter(({ id }) => !expectedIds.includes(id))).toEqual([]);
    expect(tags.filter(({ call }) => !/^(?:test|it|describe)(?:\.each)?$/.test(call))).toEqual([]);
  });
});

describe('reading tags', () => {
  it.each([
    [`test('answers [S1-2]', () => {});`, [{ id: 'S1-2', call: 'test' }]],
    [`it.each(cases)("answers %s [S1-2, S3-4]", (x) => {});`, ['S1-2', 'S3-4'].map((id) => ({ id, call: 'it.each' }))],
    [`test.skip('answers [S1-2]', () => {});`, [{ id: 'S1-2', call: 'test.skip' }]],
    [`test('answers', () => { expect(text).toBe('see [S1-2]'); });`, []],
  ])('finds what stands at the end of a title: %s', (source, tags) => {
    expect(tagsOf(source)).toEqual(tags);
  });
});
