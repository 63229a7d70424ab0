import { hash } from 'node:crypto';
import type { FoundModel, ModelRecord } from '../../../core/models/model.ts';
import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';

/** The version of Ollama whose API this is. Clients choose by it which features they use. */
export const ollamaVersion = '0.32.15';

/** The values that clients assume when a server names none. */
const assumedContext = 32_768;
/** Those that Ollama knows; other backends have more. */
const ollamaCapabilities = ['completion', 'tools', 'insert', 'vision', 'embedding', 'thinking', 'audio', 'image'];

/** An entry of `GET /api/tags`. Clients insist on every field. */
export function toTag(record: ModelRecord): JsonObject {
  const { id, created } = record;
  const { modified_at: modified, size, digest } = ollamaFieldsOf(record);
  return {
    name: id,
    model: id,
    modified_at: typeof modified === 'string' ? modified : new Date(created * 1000).toISOString(),
    size: typeof size === 'number' ? size : 0,
    digest: typeof digest === 'string' ? digest : digestOf(id),
    details: detailsOf(record),
    capabilities: capabilitiesOf(record),
  };
}

/** An entry of `GET /api/ps`: what an Ollama says, under the gateway's name of the model. */
export function toRunning(entry: JsonObject, id: string): JsonObject {
  return { ...entry, name: id, model: id };
}

/** The answer of `POST /api/show`. `shown`: that of the model's own Ollama, if it has one. */
export function toShown({ record, contextTokens }: FoundModel, shown: JsonObject | undefined): JsonObject {
  const tag = toTag(record);
  const own = ownInfo(shown);
  const stated = typeof own['general.architecture'] === 'string' ? own['general.architecture'] : undefined;
  const architecture = stated ?? familyOf(record);
  const context = typeof record.details['context_length'] === 'number' ? record.details['context_length'] : contextTokens;
  return {
    license: '',
    modelfile: '',
    parameters: '',
    template: '',
    ...shown,
    details: { ...(tag['details'] as JsonObject), ...objectIn(shown, 'details') },
    modified_at: ownText(shown, 'modified_at') ?? tag['modified_at'],
    model_info: {
      'general.architecture': architecture,
      'general.basename': record.id,
      [`${architecture}.context_length`]: context ?? assumedContext,
      ...own,
    },
    capabilities: capabilitiesOf({ ...record, capabilities: wordsIn(shown) ?? record.capabilities }),
  };
}

/** Every model that chats has tools here, be it by a prompt, whatever its backend says. */
function capabilitiesOf({ capabilities = ['completion'] }: Pick<ModelRecord, 'capabilities'>): string[] {
  const known = capabilities.filter((word) => ollamaCapabilities.includes(word));
  return known.includes('completion') ? [...new Set([...known, 'tools'])] : known;
}

function detailsOf(record: ModelRecord): JsonObject {
  const family = familyOf(record);
  return {
    parent_model: '',
    format: 'gguf',
    family,
    families: [family],
    parameter_size: '',
    quantization_level: '',
    ...objectIn(ollamaFieldsOf(record), 'details'),
  };
}

/** For a model that is not Ollama's: who owns it, in the letters of an architecture's name. */
function familyOf({ owner }: ModelRecord): string {
  return owner
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .slice(0, 100);
}

function ollamaFieldsOf({ owner, details }: ModelRecord): JsonObject {
  return owner === 'ollama' ? details : {};
}

/** The same at each start, as clients remember models by it. */
function digestOf(id: string): string {
  return hash('sha256', id, 'hex');
}

function objectIn(value: JsonObject | undefined, key: string): JsonObject {
  const found = value === undefined ? undefined : ownValue(value, key);
  return isJsonObject(found) ? found : {};
}

function ownInfo(shown: JsonObject | undefined): JsonObject {
  return objectIn(shown, 'model_info');
}

function ownText(value: JsonObject | undefined, key: string): string | undefined {
  const found: JsonValue | undefined = value === undefined ? undefined : ownValue(value, key);
  return typeof found === 'string' ? found : undefined;
}

function wordsIn(shown: JsonObject | undefined): string[] | undefined {
  const words = shown === undefined ? undefined : ownValue(shown, 'capabilities');
  return Array.isArray(words) ? words.filter((word) => typeof word === 'string') : undefined;
}
