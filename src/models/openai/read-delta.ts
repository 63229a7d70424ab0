import { isJsonObject } from '../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';

/** `content` as a string, or as parts of which those with text count (Mistral). */
export function readContent(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part) => (isJsonObject(part) && part['type'] === 'text' && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('');
}

/** Reasoning that the backend parted itself. */
export function readReasoning(delta: JsonObject): string {
  const field = reasoningFieldOf(delta);
  const text = field === undefined ? undefined : delta[field];
  return typeof text === 'string' ? text : readThinkingParts(delta['content']);
}

/** Servers in transition send the same words under two names: the first name that says something counts. */
export function reasoningFieldOf(delta: JsonObject): string | undefined {
  for (const field of reasoningFields) {
    const value = delta[field];
    if (typeof value === 'string' && value !== '') return field;
  }
  return undefined;
}

const reasoningFields = ['reasoning_content', 'reasoning', 'thinking'] as const;

/** Mistral's `{"type":"thinking","thinking":[{"type":"text","text":…}]}`. */
function readThinkingParts(content: JsonValue | undefined): string {
  if (!Array.isArray(content)) return '';
  return content
    .map((part) => {
      if (!isJsonObject(part) || part['type'] !== 'thinking') return '';
      return typeof part['thinking'] === 'string' ? part['thinking'] : readContent(part['thinking']);
    })
    .join('');
}
