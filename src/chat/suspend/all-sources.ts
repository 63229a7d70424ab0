import type { Source } from '../../core/chat/chat.ts';

/** The sources of a run that continues another one. Once it has emitted the earlier ones again, they are the first of its own. */
export function allSources(emitted: readonly Source[], earlier: readonly Source[]): Source[] {
  return [...(emitted.length < earlier.length ? earlier : emitted)];
}
