import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { parseStrictly } from './parse-json.ts';
import type { ReadContext } from '../read-context.ts';

export interface ParsedJson {
  value: JsonValue;
  isRepaired: boolean;
}

/** Parses strictly, then with repair. The text must be complete: see `repairJson`. */
export function parseTolerantly(text: string, { repairs, input }: ReadContext): ParsedJson | undefined {
  const strict = parseStrictly(text);
  if (strict !== undefined) return { value: strict, isRepaired: false };
  const repaired = repairs.repair(text);
  if (repaired === 'not_known_yet') return input.pause();
  const { value } = repaired;
  return value === undefined ? undefined : { value, isRepaired: true };
}

/** An object as it is, a JSON string decoded once, null or nothing as an empty object; undefined for everything else. */
export function toArguments(value: JsonValue | undefined, context: ReadContext): JsonObject | undefined {
  if (isJsonObject(value)) return value;
  if (value === undefined || value === null) return {};
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  if (text === '' || text === 'null') return {};
  if (!text.startsWith('{') || !text.endsWith('}')) return undefined;
  const decoded = parseTolerantly(text, context)?.value;
  return isJsonObject(decoded) ? decoded : undefined;
}
