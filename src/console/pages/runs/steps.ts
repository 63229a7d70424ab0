import type { Run } from '../../api/api-types.ts';
import { formatCount } from '../../parts/formats.ts';
import { textOf } from '../../parts/text-of.ts';

type RunEvent = Run['events'][number];

/** One line of the timeline: a question to the model, a call, or something that happened at one moment. */
export interface Step {
  key: string;
  kind: 'model' | 'call' | 'note' | 'problem';
  title: string;
  /** Why, and what came of it. */
  about: string;
  /** Milliseconds from the start of the run. */
  start: number;
  /** Undefined: it has not ended. Equal to `start`: a moment. */
  end: number | undefined;
  isFailed: boolean;
  events: RunEvent[];
}

/** Pairs what begins with what ends it. In the order of the events. */
export function stepsOf({ created, events, status }: Pick<Run, 'created' | 'events' | 'status'>): Step[] {
  const zero = new Date(created).getTime();
  const steps: Step[] = [];
  const open = new Map<string, Step>();
  for (const [index, event] of events.entries()) {
    const at = Math.max(0, new Date(event.time).getTime() - zero);
    const pair = pairOf(event);
    const begun = pair === undefined ? undefined : open.get(pair);
    if (begun !== undefined) {
      begun.events.push(event);
      if (isEnd(event)) {
        begun.end = at;
        begun.isFailed = event.data['error'] !== undefined;
        open.delete(pair ?? '');
      }
      begun.about = aboutOf(begun.events);
      continue;
    }
    const isLong = pair !== undefined && !isEnd(event);
    const step: Step = {
      key: `${index}`,
      kind: kindOf(event),
      title: titleOf(event),
      about: aboutOf([event]),
      start: at,
      end: isLong ? undefined : at,
      isFailed: event.type === 'run.end' && event.data['status'] === 'failed',
      events: [event],
    };
    if (isLong) open.set(pair, step);
    steps.push(step);
  }
  // What has no end in a run that is over was cut off with it.
  const last = events.at(-1);
  if (status !== 'running' && status !== 'waiting' && last !== undefined)
    for (const step of open.values()) step.end = Math.max(step.start, new Date(last.time).getTime() - zero);
  return steps;
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
  if (type.startsWith('tool.')) return 'call';
  return type === 'warning' || type === 'limit.reached' || type === 'error' ? 'problem' : 'note';
}

const purposes: Readonly<Record<string, string>> = {
  round: 'Ask the model',
  selection: 'Choose functions',
  last: 'Ask for the answer',
};

const titles: Readonly<Record<string, string>> = {
  'run.start': 'Start',
  'run.end': 'End',
  warning: 'Warning',
  'limit.reached': 'Limit reached',
  'approval.request': 'Approval asked',
  'approval.response': 'Approval answered',
  'connect.request': 'Sign-in asked',
  'connect.response': 'Sign-in answered',
};

function titleOf({ type, data }: RunEvent): string {
  if (type === 'model.request') return purposes[textOf(data['purpose'])] ?? `Ask the model (${textOf(data['purpose'])})`;
  if (type === 'tool.call') return textOf(data['tool']);
  return titles[type] ?? type;
}

function aboutOf(events: readonly RunEvent[]): string {
  return events
    .map(({ type, data }) => sentenceOf(type, data))
    .filter((text) => text !== '')
    .join(' · ');
}

function sentenceOf(type: string, data: Readonly<Record<string, unknown>>): string {
  const text = (name: string): string => textOf(data[name]);
  const error = data['error'] as { code?: string; message?: string } | undefined;
  switch (type) {
    case 'run.start':
      return `${text('model')}, mode ${text('mode')}, ${formatCount(Number(data['tools'] ?? 0), 'function')} on offer`;
    case 'run.end':
      return error === undefined ? text('status') : `${text('status')}: ${error.message ?? error.code ?? ''}`;
    case 'model.request':
      return [
        `round ${text('round') || text('question')}`,
        formatCount(Number(data['messages'] ?? 0), 'message'),
        data['functions'] === undefined ? '' : formatCount(Number(data['functions']), 'function'),
      ]
        .filter(Boolean)
        .join(', ');
    case 'model.response':
      return error === undefined ? answered(data) : `failed: ${error.message ?? error.code ?? ''}`;
    case 'tool.call':
      return brief(data['args']);
    case 'tool.result':
      return error === undefined
        ? data['cached'] === true
          ? 'from the cache'
          : 'done'
        : `${error.code ?? 'failed'}: ${error.message ?? ''}`;
    case 'tool.progress':
      return text('status');
    case 'approval.response':
    case 'connect.response':
      return text('decision');
    case 'approval.request':
      return 'waits for a person';
    case 'connect.request':
      return 'waits for a sign-in';
    case 'warning':
      return text('message');
    case 'limit.reached':
      return `${text('limit')}: ${text('value')}`;
    default:
      return brief(data);
  }
}

function answered(data: Readonly<Record<string, unknown>>): string {
  const calls = Number(data['calls'] ?? 0);
  const usage = data['usage'] as { total_tokens?: number } | undefined;
  const gave = calls > 0 ? `${calls} ${calls === 1 ? 'call' : 'calls'}` : `${Number(data['characters'] ?? 0)} characters`;
  return usage?.total_tokens === undefined ? gave : `${gave}, ${usage.total_tokens} tokens`;
}

const maxBrief = 160;

function brief(value: unknown): string {
  const text = value === undefined ? '' : JSON.stringify(value);
  return text.length > maxBrief ? `${text.slice(0, maxBrief)}…` : text === '{}' ? '' : text;
}
