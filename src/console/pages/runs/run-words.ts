import type { RunSummary } from '../../api/api-types.ts';

/** What is said of a run, for people who do not know the gateway's own words. */

export const statusWords: Readonly<Record<RunSummary['status'], { word: string; tone: 'good' | 'bad' | 'warn' | 'live' | '' }>> = {
  running: { word: 'running', tone: 'live' },
  waiting: { word: 'waiting', tone: 'warn' },
  completed: { word: 'completed', tone: 'good' },
  failed: { word: 'failed', tone: 'bad' },
  cancelled: { word: 'cancelled', tone: '' },
};

export const modeWords: Readonly<Record<string, { word: string; about: string }>> = {
  none: { word: 'no functions', about: 'The model had no functions to call.' },
  native: { word: 'native', about: 'The model calls functions by itself.' },
  default: { word: 'by a prompt', about: 'The model is asked in words which functions to call, and then for the answer.' },
  react: { word: 'step by step', about: 'The model is asked in words for one step after another: think, call, read the result.' },
};

/** Running or waiting: it can still change, and be cancelled. */
export function isUnderWay({ status }: Pick<RunSummary, 'status'>): boolean {
  return status === 'running' || status === 'waiting';
}

/** What a run does at the moment, from its last event. */
export function doingOf({ last_event: last, model_requests: requests = 0 }: RunSummary): string {
  const tool = last?.tool ?? 'a function';
  switch (last?.type ?? '') {
    case 'model.request':
      return requests > 1 ? `asks the model (request ${requests})` : 'asks the model';
    case 'model.response':
    case 'selection':
      return 'has an answer of the model';
    case 'tool.call':
    case 'tool.progress':
    case 'approval.response':
    case 'connect.response':
      return `calls ${tool}`;
    case 'tool.result':
      return `has the result of ${tool}`;
    case 'approval.request':
      return `waits for the approval of ${tool}`;
    case 'connect.request':
      return `waits for a sign-in, for ${tool}`;
    default:
      return 'has begun';
  }
}
