import { jsonrepair } from 'jsonrepair';
import { parse } from 'secure-json-parse';
import { isJsonObject } from '../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';

/** Characters. Repair takes quadratic time in the worst case, so longer texts are parsed strictly or not at all. */
export const maxMendable = 32 * 1024;

export interface ParsedJson {
  value: JsonValue;
  isRepaired: boolean;
}

const withoutPrototypes = { protoAction: 'remove', constructorAction: 'remove' } as const;

/** Parses standard JSON and drops prototype keys. Undefined if it is invalid, nested too deep, or has numbers that overflow to infinity. */
export function parseStrictly(text: string): JsonValue | undefined {
  try {
    const value = parse(text, undefined, withoutPrototypes) as JsonValue;
    return isSound(value, limits.jsonDepth) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A backslash that begins no escape (`\d`, `C:\Users`) is kept literally. The repair would drop it, and the call would run with another value. */
const strayBackslash = /\\(?:(["\\/bfnrt'\n\r]|u[\da-fA-F]{4})|(?=.))/g;

/** A JavaScript template literal with a substitution as a value: the repair would turn it into a plain string. */
const filledInText = /["']\s{0,9}:\s{0,9}`[^`\n]{0,999}\$\{/;

/** Parses strictly, then with repair. The text must be complete: the repair would complete a truncated call, which must not run. */
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

/** An object as it is, a JSON string decoded once, null or nothing as an empty object; undefined for everything else. */
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

/** `JSON.parse` reads `1e999` as Infinity, which JSON cannot represent. */
function isSound(value: JsonValue, depth: number): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth <= 0) return false;
  if (Array.isArray(value)) return value.every((child) => isSound(child, depth - 1));
  // `for…in` is five times as fast as `Object.values`, and safe: parsed JSON has no inherited enumerable properties.
  for (const key in value) if (!isSound(value[key] ?? null, depth - 1)) return false;
  return true;
}

/** Builds arguments that were not written as JSON; drops `__proto__`, as `parseStrictly` does. */
export function objectOfEntries(entries: [string, JsonValue][]): JsonObject {
  return Object.fromEntries(entries.filter(([key]) => key !== '__proto__'));
}
