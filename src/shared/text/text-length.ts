import { isContainer, type JsonValue } from '../json/json.ts';

/** Whether the texts in a value have more characters than this. Its JSON is at least as long, but takes ten times as long to make. */
export function hasMoreTextThan(value: JsonValue, maxCharacters: number): boolean {
  return textWithin(value, maxCharacters) > maxCharacters;
}

/** Stops counting beyond `maxCharacters`. */
function textWithin(value: JsonValue | undefined, maxCharacters: number): number {
  if (typeof value === 'string') return value.length;
  if (!isContainer(value)) return 0;
  let characters = 0;
  if (Array.isArray(value)) {
    for (const child of value) {
      characters += typeof child === 'string' ? child.length : textWithin(child, maxCharacters - characters);
      if (characters > maxCharacters) break;
    }
    return characters;
  }
  // Faster than `Object.values`.
  for (const name in value) {
    const child = value[name];
    characters += typeof child === 'string' ? child.length : textWithin(child, maxCharacters - characters);
    if (characters > maxCharacters) break;
  }
  return characters;
}
