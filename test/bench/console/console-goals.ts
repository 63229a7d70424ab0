import { median } from '../measure-latency.ts';
import type { Goal } from '../summary.ts';
import type { ConsoleResults, Watched } from './measure-console.ts';
import { longTaskMs } from './watch-tasks.ts';

const firstLoadKb = 100;
const firstPaintMs = 300;
const timelineNodes = 2_000;

const spread = (values: readonly number[], unit: string): string =>
  `${median(values).toFixed(0)} ${unit} (${Math.min(...values).toFixed(0)} to ${Math.max(...values).toFixed(0)})`;

/** Tasks are judged by the worst repetition, in computing time: that the machine has other work is no fault of the console. */
export function consoleGoals({ firstLoad, cases }: ConsoleResults): Goal[] {
  const { kilobytes, requests, allFirstPaintMs } = firstLoad;
  return [
    {
      name: 'first load, compressed',
      wanted: `<= ${firstLoadKb} kB`,
      found: `${kilobytes.toFixed(1)} kB in ${requests} answers`,
      isMet: kilobytes <= firstLoadKb,
    },
    {
      name: 'first contentful paint',
      wanted: `< ${firstPaintMs} ms`,
      found: spread(allFirstPaintMs, 'ms'),
      isMet: median(allFirstPaintMs) < firstPaintMs,
    },
    ...Object.entries(cases).flatMap(([name, watched]) => caseGoals(name, watched)),
  ];
}

function caseGoals(name: string, watched: readonly Watched[]): Goal[] {
  const longest = watched.map(({ longestCpuMs }) => longestCpuMs);
  const nodes = Math.max(...watched.map((one) => one.nodes));
  return [
    {
      name: `${name}: longest task`,
      wanted: `<= ${longTaskMs} ms`,
      found: spread(longest, 'ms'),
      isMet: Math.max(...longest) <= longTaskMs,
    },
    ...(name.startsWith('a timeline')
      ? [{ name: `${name}: nodes`, wanted: `<= ${timelineNodes}`, found: String(nodes), isMet: nodes <= timelineNodes }]
      : []),
    ...(watched.some(({ isSideways }) => isSideways)
      ? [{ name: `${name}: the page scrolls`, wanted: 'up and down', found: 'sideways', isMet: false }]
      : []),
  ];
}
