import type { Step } from './steps.ts';

type Stretch = readonly [start: number, end: number];

/** For what a run took its time, in milliseconds. What went on side by side counts once for each kind. */
export interface RunTimes {
  models: number;
  functions: number;
  people: number;
}

/** `now`: the end of what is still under way. */
export function timesOf(steps: readonly Step[], now: number): RunTimes {
  const models = steps.flatMap(({ kind, start, end = now }): Stretch[] => (kind === 'model' ? [[start, end]] : []));
  const waits = steps.flatMap(({ kind, waits }) => (kind === 'call' ? waits : []));
  const people = waits.flatMap(({ kind, start, end }): Stretch[] => (kind === 'person' ? [[start, Math.min(end, now)]] : []));
  // Of an assistant that was called as a tool, the requests and calls within it count.
  const functions = steps.flatMap((step): Stretch[] => (step.kind === 'call' && step.innerCount === 0 ? worked(step, now) : []));
  return { models: lengthOf(models), functions: lengthOf(functions), people: lengthOf(people) };
}

/** What is left of a call's time without its wait, which comes first. */
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
