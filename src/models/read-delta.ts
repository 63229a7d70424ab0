import { isJsonObject } from '../core/json.ts';
import type { JsonObject, JsonValue } from '../core/json.ts';

/** `content` as a string, or as parts of which those with text count (Mistral). */
export function readContent(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part) => (isJsonObject(part) && part['type'] === 'text' && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('');
}

/** Reasoning that the backend parted itself. Servers in transition send the same words under two names: the first name that says something counts. */
export function readReasoning(delta: JsonObject): string {
  for (const value of [delta['reasoning_content'], delta['reasoning'], delta['thinking']]) {
    if (typeof value === 'string' && value !== '') return value;
  }
  return readThinkingParts(delta['content']);
}

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
