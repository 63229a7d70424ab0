import type { Usage } from './chat.ts';
import { isJsonObject, type JsonObject } from '../../shared/json/json.ts';

export const noUsage: Usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

/** A count among the details of a usage, such as `cached_tokens` in `prompt_tokens_details`; undefined where the backend does not say. */
export function usageDetail(usage: Usage | undefined, group: string, name: string): number | undefined {
  const details = usage?.[group];
  const count = isJsonObject(details) ? details[name] : undefined;
  return typeof count === 'number' ? count : undefined;
}

/** Sums usage: every number is added, nested details included. */
export function addUsage(sum: Usage | undefined, usage: Usage): Usage {
  return sum === undefined ? usage : (addNumbers(sum, usage) as Usage);
}

function addNumbers(left: JsonObject, right: JsonObject): JsonObject {
  const sum: JsonObject = { ...left };
  for (const [key, value] of Object.entries(right)) {
    const before = sum[key];
    if (typeof value === 'number' && typeof before === 'number') sum[key] = before + value;
    else if (isJsonObject(value) && isJsonObject(before)) sum[key] = addNumbers(before, value);
    else if (value !== undefined && value !== null) sum[key] = value;
  }
  return sum;
}
