import type { BackendConfig } from '../../core/models/backend-config.ts';
import type { ModelRecord, ToolPictures } from '../../core/models/model.ts';
import { statesSight } from './model-facts.ts';

/** Servers of vendors whose current models see, and whose lists say nothing about it. */
const seeingHosts: ReadonlySet<string> = new Set(['api.openai.com', 'generativelanguage.googleapis.com']);

/** How a backend takes pictures in results of tools; undefined: not at all. */
export function picturesOfBackend({ kind, url, toolImages }: BackendConfig): ToolPictures | undefined {
  if (toolImages === 'never') return undefined;
  switch (kind) {
    case 'anthropic':
    case 'openai-responses':
      return { place: 'in_result', isKnownToSee: true };
    case 'openai':
      // Its tool messages take only text.
      return { place: 'after_results', isKnownToSee: seeingHosts.has(new URL(url).hostname) };
    case 'ollama':
      // Most of its templates render images of user messages only.
      return { place: 'after_results', isKnownToSee: false };
  }
}

/** The same for one model, whose record may say whether it sees. */
export function picturesForModel(pictures: ToolPictures | undefined, record: ModelRecord): ToolPictures | undefined {
  if (pictures === undefined) return undefined;
  const sees = statesSight(record);
  if (sees === undefined) return pictures;
  return sees ? { ...pictures, isKnownToSee: true } : undefined;
}
