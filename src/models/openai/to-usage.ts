import type { Usage } from '../../core/chat/chat.ts';
import { isDeeperThan, isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';

/** All known servers nest the details of usage one level deep. */
const maxDepth = 3;

/**
 * Normalizes token counts so that they can be summed: every number is finite and not negative (others become 0), details and further fields are kept,
 * a missing total is computed. Undefined if no usage was reported.
 */
export function toUsage(value: JsonValue | undefined): Usage | undefined {
  if (!isJsonObject(value) || isDeeperThan(value, maxDepth)) return undefined;
  const usage = cleanNumbers(value);
  const prompt = toCount(usage['prompt_tokens'] ?? usage['input_tokens']);
  const completion = toCount(usage['completion_tokens'] ?? usage['output_tokens']);
  const total = toCount(usage['total_tokens']);
  const counts = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total === 0 ? prompt + completion : total };
  return Object.assign(usage, counts);
}

function cleanNumbers(object: JsonObject): JsonObject {
  const clean = { ...object };
  for (const key in clean) {
    const value = clean[key];
    if (typeof value === 'number') clean[key] = isPlausible(value) ? value : 0;
    else if (isJsonObject(value)) clean[key] = cleanNumbers(value);
  }
  return clean;
}

/** Numbers are plausible by then. */
function toCount(value: JsonValue | undefined): number {
  if (typeof value === 'number') return Math.round(value);
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : 0;
}

function isPlausible(count: number): boolean {
  return count >= 0 && count <= Number.MAX_SAFE_INTEGER;
}
