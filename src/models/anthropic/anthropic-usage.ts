import type { Usage } from '../../core/chat/chat.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';

/** What is read of the usage. */
export const usageFields = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'output_tokens_details',
] as const;

/**
 * Anthropic's `input_tokens` are those that were neither read from its cache nor written to it; OpenAI's `prompt_tokens` are all of them. Undefined if no
 * usage was reported.
 */
export function toAnthropicUsage(usage: JsonObject): Usage | undefined {
  if (usage['input_tokens'] === undefined && usage['output_tokens'] === undefined) return undefined;
  const cached = toCount(usage['cache_read_input_tokens']);
  const created = toCount(usage['cache_creation_input_tokens']);
  const prompt = toCount(usage['input_tokens']) + cached + created;
  const completion = toCount(usage['output_tokens']);
  const details = usage['output_tokens_details'];
  const thinking = isJsonObject(details) ? details['thinking_tokens'] : undefined;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached, cache_creation_tokens: created },
    ...(typeof thinking === 'number' && { completion_tokens_details: { reasoning_tokens: toCount(thinking) } }),
  };
}

function toCount(value: JsonValue | undefined): number {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? Math.round(value) : 0;
}
