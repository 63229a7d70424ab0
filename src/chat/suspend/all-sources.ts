import type { Source } from '../../core/chat/chat.ts';

/** The sources of a run that continues another one. Those of the earlier run come first; once they are emitted again, they belong to this run. */
export function allSources(emitted: readonly Source[], earlier: readonly Source[]): Source[] {
  return [...(emitted.length < earlier.length ? earlier : emitted)];
}
