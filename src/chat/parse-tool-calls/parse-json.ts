import { jsonrepair } from 'jsonrepair';
import { parse } from 'secure-json-parse';
import { isJsonObject } from '../../core/json.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';
import { limits } from '../../core/limits.ts';

/** The repair takes time that grows with the square of the text in the worst case; longer texts are read strictly or not at all. */
export const maxMendable = 32 * 1024;

export interface ParsedJson {
  value: JsonValue;
  isRepaired: boolean;
}

/** JSON as the standard has it, without prototype keys, infinite numbers and bottomless nesting. Undefined when it is none. */
export function parseStrictly(text: string): JsonValue | undefined {
  try {
    const value = parse(text, undefined, { protoAction: 'remove', constructorAction: 'remove' }) as JsonValue;
    return isSound(value, limits.jsonDepth) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** First as it stands, then repaired. The text has to be whole: the repair would complete a truncated one, and half a call must not run. */
export function parseTolerantly(text: string): ParsedJson | undefined {
  const strict = parseStrictly(text);
  if (strict !== undefined) return { value: strict, isRepaired: false };
  if (text.length > maxMendable) return undefined;
  try {
    const value = parseStrictly(jsonrepair(text));
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
  return Object.values(value).every((child) => child === undefined || isSound(child, depth - 1));
}
