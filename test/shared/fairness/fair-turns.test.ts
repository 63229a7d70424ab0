import { expect, it } from 'vitest';
import { createFairTurns } from '../../../src/shared/fairness/fair-turns.ts';

/** Works that begin when it is their turn and end when the test says so. */
function openTurns(places: number) {
  const turns = createFairTurns(places);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const leave = new AbortController();
  const run = (name: string, signal = leave.signal): Promise<void> =>
    turns.run(name.slice(0, 1), signal, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
    });
  async function end(name?: string): Promise<void> {
    if (name !== undefined) ends.get(name)?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { run, end, begun };
}

const names = (caller: string, count: number): string[] => Array.from({ length: count }, (_, index) => `${caller}${index + 1}`);

it('whoever asks for everything leaves a place to others, who need not wait', async () => {
  const { run, end, begun } = openTurns(4);
  for (const name of names('e', 20)) void run(name);
  void run('a1');
  await end();
  expect(begun).toEqual(['e1', 'e2', 'e3', 'a1']);
});

it('a free place goes to whoever has the fewest', async () => {
  const { run, end, begun } = openTurns(4);
  for (const name of [...names('e', 6), ...names('a', 3), 'b1']) void run(name);
  await end();
  expect(begun).toEqual(['e1', 'e2', 'e3', 'a1']);
  await end('e1');
  expect(begun.at(-1)).toBe('b1');
  await end('e2');
  expect(begun.at(-1)).toBe('a2');
  await end('a1');
  await end('b1');
  expect(begun.slice(-2).toSorted()).toEqual(['a3', 'e4']);
});

it('equals take turns', async () => {
  const { run, end, begun } = openTurns(1);
  for (const name of [...names('e', 3), ...names('a', 2)]) void run(name);
  await end();
  for (let turn = 0; turn < 4; turn += 1) await end(begun.at(-1) ?? '');
  expect(begun).toEqual(['e1', 'a1', 'e2', 'a2', 'e3']);
});

it('who leaves while waiting never begins, and a work that throws gives its place back', async () => {
  const { run, end, begun } = openTurns(1);
  const turns = createFairTurns(1);
  await expect(turns.run('a', new AbortController().signal, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(await turns.run('a', new AbortController().signal, async () => 'done')).toBe('done');
  void run('e1');
  const leave = new AbortController();
  const waiting = run('a1', leave.signal);
  void run('b1');
  leave.abort(new Error('left'));
  await expect(waiting).rejects.toThrow('left');
  await end('e1');
  expect(begun).toEqual(['e1', 'b1']);
});

it('the people of one key share what one caller has', async () => {
  const turns = createFairTurns(3);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const run = (caller: string): Promise<void> =>
    turns.run(caller, new AbortController().signal, async () => {
      begun.push(caller);
      await new Promise<void>((resolve) => ends.set(caller, resolve));
    });
  for (const person of ['ada', 'bob', 'eve', 'joe']) void run(`key/${person}`);
  void run('other');
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toEqual(['key/ada', 'key/bob', 'other']);
  void run('another');
  ends.get('key/ada')?.();
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun.at(-1)).toBe('another');
});
