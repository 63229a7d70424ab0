import type { JSX } from 'preact';
import type { Backend } from './backend-draft.ts';

/** The state of a backend in a word or two. */
export function BackendState({ backend: { state, optional, model_count: count } }: { backend: Backend }): JSX.Element {
  if (state === 'ok') return count === 0 ? <span class="chip warn">no models</span> : <span class="chip good">ready</span>;
  if (state === 'partly_unreachable') return <span class="chip warn">partly unreachable</span>;
  if (optional === true) return <span class="chip">not running</span>;
  if (state === 'key_refused') return <span class="chip bad">key rejected</span>;
  if (state === 'secret_unreadable') return <span class="chip bad">key unreadable</span>;
  return <span class="chip bad">unreachable</span>;
}

export const typeNames: Record<Backend['type'], string> = {
  ollama: 'Ollama',
  openai: 'OpenAI API',
  anthropic: 'Anthropic',
  'openai-responses': 'OpenAI Responses API',
};

/** Where a backend is changed if not here. */
export const originNames: Record<Backend['origin'], string> = {
  api: 'added here',
  file: 'toolwharf.yaml',
  environment: 'the environment',
};
