import type { Step } from './steps.ts';

type Stretch = readonly [start: number, end: number];

/** How a run spent its time, in milliseconds. Parallel work of one kind counts once. */
export interface RunTimes {
  models: number;
  functions: number;
  people: number;
}

/** `now`: the end of steps that are still running. */
export function timesOf(steps: readonly Step[], now: number): RunTimes {
  const models = steps.flatMap(({ kind, start, end = now }): Stretch[] => (kind === 'model' ? [[start, end]] : []));
  const waits = steps.flatMap(({ kind, waits }) => (kind === 'call' ? waits : []));
  const people = waits.flatMap(({ kind, start, end }): Stretch[] => (kind === 'person' ? [[start, Math.min(end, now)]] : []));
  // For a preset that was called as a tool, only the requests and calls within it count.
  const functions = steps.flatMap((step): Stretch[] => (step.kind === 'call' && step.innerCount === 0 ? worked(step, now) : []));
  return { models: lengthOf(models), functions: lengthOf(functions), people: lengthOf(people) };
}

/** The time of a call after its wait. */
function worked({ start, end, waits: [wait] }: Step, until: number): Stretch[] {
  const begun = wait === undefined ? start : Math.min(wait.end, until);
  return begun < (end ?? until) ? [[begun, end ?? until]] : [];
}

function lengthOf(stretches: readonly Stretch[]): number {
  let length = 0;
  let reached = Number.NEGATIVE_INFINITY;
  for (const [start, end] of stretches.toSorted(([one], [other]) => one - other)) {
    if (end > reached) length += end - Math.max(start, reached);
    reached = Math.max(reached, end);
  }
  return length;
}
