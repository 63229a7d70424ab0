import type { Run } from '../../api/api-types.ts';
import { textOf } from '../../parts/text/text-of.ts';

export type RunEvent = Run['events'][number];

/** A part of a step's time in which it waited. */
export interface Wait {
  kind: 'person' | 'turn' | 'first-token';
  start: number;
  end: number;
}

/** One line of the timeline: a model request, a call, or a single event. Times are milliseconds from the start of the run. */
export interface Step {
  key: string;
  kind: 'model' | 'call' | 'note' | 'problem';
  /** The number of presets, called as tools, around this step. */
  depth: number;
  start: number;
  /** Undefined: still running. Equal to `start`: a single event. */
  end: number | undefined;
  isFailed: boolean;
  waits: Wait[];
  /** Steps that happened within it. */
  innerCount: number;
  events: RunEvent[];
}

interface StepNode {
  step: Step;
  inner: StepNode[];
}

/** Pairs the events that begin and end a step. Steps are in the order of their start, and the steps within a call follow it. */
export function stepsOf({ created, events, status }: Pick<Run, 'created' | 'events' | 'status'>): Step[] {
  const zero = new Date(created).getTime();
  const top: StepNode[] = [];
  const open = new Map<string, Step>();
  const calls = new Map<string, StepNode>();
  for (const [index, event] of events.entries()) {
    const at = Math.max(0, new Date(event.time).getTime() - zero);
    const pair = pairOf(event);
    const begun = pair === undefined ? undefined : open.get(pair);
    if (begun !== undefined) {
      begun.events.push(event);
      if (isEnd(event) && pair !== undefined) {
        begun.end = at;
        begun.isFailed = event.data['error'] !== undefined;
        open.delete(pair);
      }
      continue;
    }
    const outer = calls.get(textOf(event.data['within']));
    const isLong = pair !== undefined && !isEnd(event);
    const step: Step = {
      key: `${index}`,
      kind: kindOf(event),
      depth: outer === undefined ? 0 : outer.step.depth + 1,
      start: at,
      end: isLong ? undefined : at,
      isFailed: event.type === 'run.end' && event.data['status'] === 'failed',
      waits: [],
      innerCount: 0,
      events: [event],
    };
    const node: StepNode = { step, inner: [] };
    if (isLong) open.set(pair, step);
    if (isLong && step.kind === 'call') calls.set(textOf(event.data['id']), node);
    (outer?.inner ?? top).push(node);
    if (outer !== undefined) outer.step.innerCount += 1;
  }
  // Steps without an end were cut off when the run ended.
  const last = events.at(-1);
  if (status !== 'running' && status !== 'waiting' && last !== undefined)
    for (const step of open.values()) step.end = Math.max(step.start, new Date(last.time).getTime() - zero);
  /** When the calls so far are done, by depth. */
  const busyUntil: number[] = [];
  return flat(top, (step) => {
    const { kind, depth, start, end = Number.POSITIVE_INFINITY } = step;
    const isBehind = (busyUntil[depth] ?? 0) > start;
    step.waits = waitsOf(step, { zero, isBehind });
    if (kind === 'call') busyUntil[depth] = Math.max(busyUntil[depth] ?? 0, end);
  });
}

function flat(nodes: readonly StepNode[], each: (step: Step) => void): Step[] {
  const steps: Step[] = [];
  const add = ({ step, inner }: StepNode): void => {
    each(step);
    steps.push(step);
    for (const node of inner) add(node);
  };
  for (const node of nodes) add(node);
  return steps;
}

/** The first event of this type, if it is there. */
export function eventOf({ events }: Pick<Step, 'events'>, type: string): RunEvent | undefined {
  return events.find((event) => event.type === type);
}

function pairOf({ type, data }: RunEvent): string | undefined {
  if (type === 'model.request' || type === 'model.response') return `model ${textOf(data['question'])}`;
  if (/^(?:tool|approval|connect)\./.test(type) && data['id'] !== undefined) return `call ${textOf(data['id'])}`;
  return undefined;
}

function isEnd({ type }: RunEvent): boolean {
  return type === 'model.response' || type === 'tool.result';
}

function kindOf({ type }: RunEvent): Step['kind'] {
  if (type.startsWith('model.')) return 'model';
  if (/^(?:tool|approval|connect)\./.test(type)) return 'call';
  return type === 'warning' || type === 'limit.reached' || type === 'error' ? 'problem' : 'note';
}

function waitsOf({ kind, start, end, events }: Step, { zero, isBehind }: { zero: number; isBehind: boolean }): Wait[] {
  const at = (event: RunEvent): number => Math.max(start, new Date(event.time).getTime() - zero);
  if (kind === 'model') {
    const first = Number(events.find(({ type }) => type === 'model.response')?.data['first_token_ms'] ?? Number.NaN);
    return Number.isNaN(first) || end === undefined ? [] : [{ kind: 'first-token', start, end: Math.min(end, start + first) }];
  }
  if (kind !== 'call' || end === start) return [];
  const waits: Wait[] = [];
  let asked: number | undefined;
  for (const event of events) {
    if (event.type.endsWith('.request')) asked ??= at(event);
    else if (asked !== undefined && /\.(?:response|result)$/.test(event.type)) {
      waits.push({ kind: 'person', start: asked, end: at(event) });
      asked = undefined;
    }
  }
  if (asked !== undefined) waits.push({ kind: 'person', start: asked, end: end ?? Number.POSITIVE_INFINITY });
  const worked = Number(events.find(({ type }) => type === 'tool.result')?.data['duration_ms'] ?? Number.NaN);
  // Time without work, without a person and during other calls was spent waiting for these.
  if (isBehind && waits.length === 0 && end !== undefined && end - worked > start + shortestWaitMs)
    waits.push({ kind: 'turn', start, end: end - worked });
  return waits;
}

/** A shorter wait is within the difference between the clocks of two events. */
const shortestWaitMs = 20;
