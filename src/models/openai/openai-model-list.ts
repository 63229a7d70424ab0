import { isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import type { ModelRecord } from '../../core/models/model.ts';

/** The largest public list has about a thousand. */
const maxModels = 10_000;
const namesOfTools = new Set(['tools', 'tool_use', 'tool_calls', 'tool_calling', 'function_calling', 'function_call']);

/**
 * Reads the response of `GET /models`: `{"data":[…]}`, `{"models":[…]}` or a bare array. llama.cpp sends both lists, with capabilities in the second one.
 * Undefined if it is not a list.
 */
export function toModelRecords(payload: unknown): ModelRecord[] | undefined {
  const list: unknown = isJsonObject(payload) ? (payload['data'] ?? payload['models']) : payload;
  if (!Array.isArray(list)) return undefined;
  const records = list.slice(0, maxModels).flatMap((entry: unknown) => toModelRecord(entry) ?? []);
  const others = isJsonObject(payload) && list !== payload['models'] ? payload['models'] : undefined;
  return Array.isArray(others) ? withCapabilities(records, others.slice(0, maxModels)) : records;
}

/** Adds the capabilities that another list gives for the same models. llama.cpp's names no functions, so models are taken to support them. */
function withCapabilities(records: ModelRecord[], others: readonly unknown[]): ModelRecord[] {
  const known = new Map(others.flatMap((entry) => toModelRecord(entry) ?? []).map(({ id, capabilities }) => [id, capabilities]));
  const namesTools = known.values().some((capabilities) => capabilities?.includes('tools') === true);
  return records.map((record) => {
    const stated = record.capabilities === undefined ? known.get(record.id) : undefined;
    if (stated === undefined) return record;
    return { ...record, capabilities: namesTools ? stated : [...stated, 'tools'] };
  });
}

function toModelRecord(entry: unknown): ModelRecord | undefined {
  if (!isJsonObject(entry)) return undefined;
  const { id = entry['name'], owned_by: owner, created, object: _object, ...details } = entry;
  if (typeof id !== 'string' || id === '') return undefined;
  return {
    id,
    owner: typeof owner === 'string' && owner !== '' ? owner : 'openai',
    isLocal: false,
    created: typeof created === 'number' && Number.isFinite(created) && created > 0 ? Math.trunc(created) : 0,
    capabilities: readCapabilities(entry),
    details,
  };
}

/** An array of names (llama.cpp), an object of booleans (Mistral), or the supported parameters (OpenRouter). */
function readCapabilities(entry: JsonObject): string[] | undefined {
  const words = toWords(entry['capabilities']);
  if (words !== undefined) return [...new Set(words.map((word) => toOurWord(word)))];
  if (!Array.isArray(entry['supported_parameters'])) return undefined;
  return entry['supported_parameters'].includes('tools') ? ['completion', 'tools'] : ['completion'];
}

function toWords(capabilities: JsonValue | undefined): string[] | undefined {
  if (Array.isArray(capabilities)) return capabilities.filter((word) => typeof word === 'string');
  if (!isJsonObject(capabilities)) return undefined;
  return Object.keys(capabilities).filter((word) => capabilities[word] === true);
}

function toOurWord(word: string): string {
  const plain = word.toLowerCase().replaceAll('-', '_');
  if (namesOfTools.has(plain)) return 'tools';
  return plain === 'completion_chat' ? 'completion' : word;
}
