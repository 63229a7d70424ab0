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
  if (isShrinking) shrinkAtRest();
  for (let looks = isShrinking ? 200 : 20; looks > 0 && young() > 2; looks -= 1) await new Promise((resolve) => setTimeout(resolve, 200));
  console.log(JSON.stringify({ grown, left: young(), hasCollector: 'gc' in globalThis }));
`;

async function rest(...args: string[]): Promise<{ grown: number; left: number; hasCollector: boolean }> {
  const flags = ['--max-semi-space-size=16', '--input-type=module', '--eval', program, '--', ...args];
  return JSON.parse((await run(process.execPath, flags)).stdout) as { grown: number; left: number; hasCollector: boolean };
}

it('a process that rests gives the memory of its young generation back', async () => {
  const { grown, left, hasCollector } = await rest('shrinking');
  expect(grown).toBeGreaterThanOrEqual(4);
  expect(left).toBeLessThanOrEqual(2);
  expect(hasCollector).toBe(false);
});

it('by itself it does not', async () => {
  const { grown, left } = await rest();
  expect(grown).toBeGreaterThanOrEqual(4);
  expect(left).toBe(grown);
});
