import { jsonrepair } from 'jsonrepair';
import { parse } from 'secure-json-parse';
import { isJsonObject } from '../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';

/** The repair takes time that grows with the square of the text in the worst case; longer texts are read strictly or not at all. */
export const maxMendable = 32 * 1024;

export interface ParsedJson {
  value: JsonValue;
  isRepaired: boolean;
}

const withoutPrototypes = { protoAction: 'remove', constructorAction: 'remove' } as const;

/** JSON as the standard has it, without prototype keys, infinite numbers and bottomless nesting. Undefined when it is none. */
export function parseStrictly(text: string): JsonValue | undefined {
  try {
    const value = parse(text, undefined, withoutPrototypes) as JsonValue;
    return isSound(value, limits.jsonDepth) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A backslash before what is no escape (`\d`, `C:\Users`) is meant as itself. The repair would drop it, and the call would run with another value. */
const strayBackslash = /\\(?:(["\\/bfnrt'\n\r]|u[\da-fA-F]{4})|(?=.))/g;

/** A template string of JavaScript as a value, in which something is to be filled in: the repair would take it for a text. */
const filledInText = /["']\s{0,9}:\s{0,9}`[^`\n]{0,999}\$\{/;

/** First as it stands, then repaired. The text has to be whole: the repair would complete a truncated one, and half a call must not run. */
export function parseTolerantly(text: string): ParsedJson | undefined {
  const strict = parseStrictly(text);
  if (strict !== undefined) return { value: strict, isRepaired: false };
  if (text.length > maxMendable || filledInText.test(text)) return undefined;
  try {
    const value = parseStrictly(jsonrepair(text.replaceAll(strayBackslash, (found, escape) => (escape === undefined ? '\\\\' : found))));
    return value === undefined ? undefined : { value, isRepaired: true };
  } catch {
    return undefined;
  }
}

/** Arguments as they are, JSON text decoded once, nothing as an empty object; undefined for everything else. */
export function toArguments(value: JsonValue | undefined): JsonObject | undefined {
  if (isJsonObject(value)) return value;
  if (value === undefined || value === null) return {};
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  if (text === '' || text === 'null') return {};
  if (!text.startsWith('{') || !text.endsWith('}')) return undefined;
  const decoded = parseTolerantly(text)?.value;
  return isJsonObject(decoded) ? decoded : undefined;
}

/** `JSON.parse` makes `1e999` infinite, which no JSON could say again. */
function isSound(value: JsonValue, depth: number): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth <= 0) return false;
  if (Array.isArray(value)) return value.every((child) => isSound(child, depth - 1));
  // `for…in`, because a list of the values takes five times as long; JSON inherits nothing that it could find.
  for (const key in value) if (!isSound(value[key] ?? null, depth - 1)) return false;
  return true;
}

/** Arguments that were not written as JSON, without `__proto__` as those of JSON. */
export function objectOfEntries(entries: [string, JsonValue][]): JsonObject {
  return Object.fromEntries(entries.filter(([key]) => key !== '__proto__'));
}
