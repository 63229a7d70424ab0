import type { ModelInfo } from '@anthropic-ai/sdk/resources/models';

import { limits } from '../../core/limits.ts';
import type { ModelRecord } from '../../core/models/model.ts';
import { isDeeperThan, isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../shared/json/json.ts';

/** What the list of models says about one of them. */
export interface ModelFacts {
  /** The most tokens of an answer. */
  maxTokens?: number;
  /** Absent: nothing is known. */
  thinking?: { isAdaptive: boolean; hasBudget: boolean; canBeOff: boolean };
  /** The values of `output_config.effort`. */
  efforts?: ReadonlySet<string>;
  /** Whether it follows `output_config.format`. */
  hasOutputFormat?: boolean;
}

/** One page of `GET /models`. */
export interface ModelPage {
  records: ModelRecord[];
  /** The last id, if there are more. */
  next: string | undefined;
}

/** Anthropic lists a few dozen; servers that imitate it may list all they have. */
const maxModelsOfPage = 10_000;

/** Undefined if it is not a list. */
export function toModelPage(payload: JsonValue): ModelPage | undefined {
  const data = isJsonObject(payload) ? ownValue(payload, 'data') : undefined;
  if (!isJsonObject(payload) || !Array.isArray(data)) return undefined;
  const records = data.slice(0, maxModelsOfPage).flatMap((entry) => toModelRecord(entry) ?? []);
  const last = ownValue(payload, 'last_id');
  const isMore = ownValue(payload, 'has_more') === true && typeof last === 'string' && last !== '';
  return { records, next: isMore ? last : undefined };
}

function toModelRecord(entry: JsonValue): ModelRecord | undefined {
  if (!isJsonObject(entry) || isDeeperThan(entry, limits.jsonDepth)) return undefined;
  const { id, display_name: name, created_at: createdAt, type: _type, ...details } = entry;
  if (typeof id !== 'string' || id === '') return undefined;
  const created = typeof createdAt === 'string' ? Math.trunc(Date.parse(createdAt) / 1000) : details['created'];
  const context = entry['max_input_tokens' satisfies keyof ModelInfo];
  return {
    id,
    owner: 'anthropic',
    isLocal: false,
    created: typeof created === 'number' && created > 0 ? created : 0,
    capabilities: capabilitiesOf(entry['capabilities']),
    details: {
      ...details,
      ...(typeof name === 'string' && { name }),
      ...(typeof context === 'number' && context > 0 && { context_length: context }),
    },
  };
}

/** All models of Anthropic call functions. Undefined where the list has no capabilities, as older ones and imitators. */
function capabilitiesOf(capabilities: JsonValue | undefined): string[] | undefined {
  if (!isJsonObject(capabilities)) return undefined;
  const vision = isSupported(capabilities, 'image_input') ? ['vision'] : [];
  return ['completion', 'tools', ...vision, ...(isSupported(capabilities, 'thinking') ? ['thinking'] : [])];
}

export function factsIn({ details }: ModelRecord): ModelFacts {
  const { max_tokens: most, capabilities } = details;
  const maxTokens = typeof most === 'number' && most > 0 ? { maxTokens: most } : {};
  if (!isJsonObject(capabilities)) return maxTokens;
  const { thinking, effort } = capabilities;
  const types = isJsonObject(thinking) ? ownValue(thinking, 'types') : undefined;
  return {
    ...maxTokens,
    ...(isJsonObject(types) && {
      thinking: {
        isAdaptive: isSupported(types, 'adaptive'),
        hasBudget: isSupported(types, 'enabled'),
        canBeOff: isSupported(types, 'disabled'),
      },
    }),
    ...(isJsonObject(effort) && { efforts: new Set(Object.keys(effort).filter((level) => isSupported(effort, level))) }),
    ...(isJsonObject(capabilities['structured_outputs']) && { hasOutputFormat: isSupported(capabilities, 'structured_outputs') }),
  };
}

function isSupported(capabilities: JsonObject, name: string): boolean {
  const capability = ownValue(capabilities, name);
  return isJsonObject(capability) && capability['supported'] === true;
}
