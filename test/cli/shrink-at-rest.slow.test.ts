import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);
const module = new URL('../../src/cli/shrink-at-rest.ts', import.meta.url).href;

/** A process that lets its young generation grow, rests, and prints the megabytes of it before and after. */
const program = `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { shrinkAtRest } from '${module}';
  const young = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size / 2 ** 20;
  const kept = [];
  for (let index = 0; index < 2_000_000 && young() < 16; index += 1) kept[index % 100_000] = { text: [index] };
  const grown = young();
  const isShrinking = process.argv[1] === 'shrinking';
  if (isShrinking) shrinkAtRest(100);
  const rest = async (looks) => {
    let taken = 0;
    for (; taken < looks && young() > 2; taken += 1) await new Promise((resolve) => setTimeout(resolve, 100));
    return taken;
  };
  await rest(isShrinking ? 400 : 40);
  const left = young();
  for (let index = 0; index < 2_000_000 && young() < 16; index += 1) kept[index % 100_000] = { text: [index] };
  const grownAgain = young();
  const looksAgain = isShrinking ? await rest(400) : 0;
  console.log(JSON.stringify({ grown, left, grownAgain, leftAgain: young(), looksAgain, hasCollector: 'gc' in globalThis }));
`;

interface Rested {
  /** Megabytes. */
  grown: number;
  left: number;
  grownAgain: number;
  leftAgain: number;
  /** Tenths of a second until it was given back again. */
  looksAgain: number;
  hasCollector: boolean;
}

async function rest(...args: string[]): Promise<Rested> {
  const flags = ['--max-semi-space-size=16', '--input-type=module', '--eval', program, '--', ...args];
  return JSON.parse((await run(process.execPath, flags)).stdout) as Rested;
}

it('a process that rests gives the memory of its young generation back', async () => {
  const { grown, left, grownAgain, leftAgain, looksAgain, hasCollector } = await rest('shrinking');
  expect(grown).toBeGreaterThanOrEqual(4);
  expect(left).toBeLessThanOrEqual(2);
  expect(hasCollector).toBe(false);
  // A checker that looks each tenth of a second waits for twenty of them: the next burst needs the memory.
  expect(grownAgain).toBeGreaterThanOrEqual(4);
  expect(leftAgain).toBeLessThanOrEqual(2);
  expect(looksAgain).toBeGreaterThan(12);
});

it('by itself it does not', async () => {
  const { grown, left } = await rest();
  expect(grown).toBeGreaterThanOrEqual(4);
  expect(left).toBe(grown);
});
