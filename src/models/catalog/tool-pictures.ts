import type { BackendConfig } from '../../core/models/backend-config.ts';
import type { ModelRecord, ToolPictures } from '../../core/models/model.ts';
import { isJsonObject, ownValue, type JsonValue } from '../../shared/json/json.ts';

/** Servers of vendors whose current models see, and whose lists say nothing about it. */
const seeingHosts: ReadonlySet<string> = new Set(['api.openai.com', 'generativelanguage.googleapis.com']);
const wordsForSight = /^(?:vision|multimodal|image|images|image_input|image-input)$/i;

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

/** Undefined if the backend does not say. */
function statesSight({ capabilities, details }: ModelRecord): boolean | undefined {
  // OpenRouter. Its capabilities are those of its parameters.
  const architecture = ownValue(details, 'architecture');
  const modalities = isJsonObject(architecture) ? ownValue(architecture, 'input_modalities') : undefined;
  if (Array.isArray(modalities)) return hasWordForSight(modalities);
  if (ownValue(details, 'supported_parameters') !== undefined) return undefined;
  return capabilities === undefined ? undefined : hasWordForSight(capabilities);
}

function hasWordForSight(words: readonly (JsonValue | undefined)[]): boolean {
  return words.some((word) => typeof word === 'string' && wordsForSight.test(word));
}
