import type { JSX } from 'preact';
import type { RunSummary } from '../../api/api-types.ts';
import { statusWords } from './run-words.ts';

export function Status({ status }: Pick<RunSummary, 'status'>): JSX.Element {
  const { word, tone } = statusWords[status];
  return (
    <span class={`chip run-status ${tone}`}>
      {tone === 'live' && <span class="run-pulse" aria-hidden="true" />}
      {word}
    </span>
  );
}
