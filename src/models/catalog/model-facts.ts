import type { ModelFacts } from '../../core/models/backend-report.ts';
import type { ModelRecord } from '../../core/models/model.ts';
import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../shared/json/json.ts';

const wordsForSight = /^(?:vision|multimodal|image|images|image_input|image-input)$/i;

/** The names of the context length in lists (Ollama, OpenRouter, vLLM, llama.cpp). */
const contextFields = ['context_length', 'max_model_len', 'n_ctx'];

/** What a list says about a model. `id`: as clients name it. */
export function toModelFacts({ capabilities, details }: ModelRecord, id: string): ModelFacts {
  const context = statedContext(details);
  const bytes = ownValue(details, 'size');
  const form = ownValue(details, 'details');
  const parameters = isJsonObject(form) ? ownValue(form, 'parameter_size') : undefined;
  const vision = statesSight({ capabilities, details });
  return {
    id,
    ...(context !== undefined && { context }),
    ...(typeof bytes === 'number' && bytes > 0 && { bytes }),
    ...(typeof parameters === 'string' && parameters !== '' && { parameters }),
    ...(capabilities !== undefined && { tools: capabilities.includes('tools') }),
    ...(vision !== undefined && { vision }),
  };
}

/** The context in tokens that the list states. */
export function statedContext(details: JsonObject): number | undefined {
  return contextFields.map((field) => details[field]).find((value): value is number => typeof value === 'number' && value > 0);
}

/** Undefined if the backend does not say. */
export function statesSight({ capabilities, details }: Pick<ModelRecord, 'capabilities' | 'details'>): boolean | undefined {
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
