import type { RunSummary } from '../../api/api-types.ts';

/** How runs are described to people who do not know the gateway's own terms. */

export const statusWords: Readonly<Record<RunSummary['status'], { word: string; tone: 'good' | 'bad' | 'warn' | 'live' | '' }>> = {
  running: { word: 'running', tone: 'live' },
  waiting: { word: 'waiting', tone: 'warn' },
  completed: { word: 'completed', tone: 'good' },
  failed: { word: 'failed', tone: 'bad' },
  cancelled: { word: 'cancelled', tone: '' },
};

export const modeWords: Readonly<Record<string, { word: string; about: string }>> = {
  none: { word: 'no functions', about: 'The model had no functions to call.' },
  native: { word: 'native', about: 'The model calls functions itself.' },
  default: { word: 'prompt', about: 'A prompt asks the model which functions to call, and then for the answer.' },
  react: { word: 'step by step', about: 'The model works step by step in text: think, call, read the result.' },
};

/** Running or waiting, so that it can still change or be cancelled. */
export function isActive({ status }: Pick<RunSummary, 'status'>): boolean {
  return status === 'running' || status === 'waiting';
}

/** What a run is doing now, from its last event. */
export function activityOf({ last_event: last, model_requests: requests = 0 }: RunSummary): string {
  const tool = last?.tool ?? 'a function';
  switch (last?.type ?? '') {
    case 'model.request':
      return requests > 1 ? `asking the model (request ${requests})` : 'asking the model';
    case 'model.response':
    case 'selection':
      return 'got a response from the model';
    case 'tool.call':
    case 'tool.progress':
    case 'approval.response':
    case 'connect.response':
      return `calling ${tool}`;
    case 'tool.result':
      return `got the result of ${tool}`;
    case 'approval.request':
      return `waiting for approval of ${tool}`;
    case 'queue':
      return 'waiting for a busy backend';
    case 'connect.request':
      return `waiting for sign-in for ${tool}`;
    default:
      return 'started';
  }
}
