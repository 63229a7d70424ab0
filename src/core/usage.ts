import type { Usage } from './chat.ts';
import { isJsonObject } from '../shared/json.ts';
import type { JsonObject } from '../shared/json.ts';

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
