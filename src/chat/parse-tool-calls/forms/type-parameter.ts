import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { parseStrictly } from '../json/parse-json.ts';
import { parsePythonLiteral } from './python-literal.ts';
import { ExactNumber, isWhole } from '../../../shared/json/exact-number.ts';

/**
 * The value of a parameter that was written as bare text between tags. If the schema says string, it stays text, whatever it looks like;
 * otherwise JSON, then a Python literal, then the text itself, which validation accepts or rejects.
 */
export function typeParameter(text: string, schema: JsonObject | undefined): JsonValue {
  const types = schema === undefined ? [] : statedTypes(schema);
  if (types.length === 1 && types[0] === 'string') return text;
  const trimmed = text.trim();
  const value = decode(trimmed, types);
  return value !== undefined && (types.length === 0 ? !isOverflowing(value) : types.some((type) => isOfType(value, type))) ? value : text;
}

function decode(text: string, types: readonly string[]): JsonValue | undefined {
  const json = parseStrictly(text);
  if (json !== undefined) return json;
  const literal = parsePythonLiteral(text);
  return literal === undefined ? booleanOf(text, types) : literal;
}

function booleanOf(text: string, types: readonly string[]): boolean | undefined {
  return types.includes('boolean') && /^(?:true|false)$/i.test(text) ? text.toLowerCase() === 'true' : undefined;
}

export function statedTypes(schema: JsonObject): string[] {
  const type = ownValue(schema, 'type');
  if (typeof type === 'string') return [type];
  if (Array.isArray(type)) return type.filter((entry) => typeof entry === 'string');
  return ['anyOf', 'oneOf'].flatMap((key) => {
    const branches = ownValue(schema, key);
    return Array.isArray(branches) ? branches.flatMap((branch) => (isJsonObject(branch) ? statedTypes(branch) : [])) : [];
  });
}

/** `1e999` as bare text is no number that anybody means. */
function isOverflowing(value: JsonValue): boolean {
  return value instanceof ExactNumber && !Number.isFinite(Number(value));
}

function isOfType(value: JsonValue, type: string): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isJsonObject(value);
  if (isOverflowing(value)) return false;
  if (value instanceof ExactNumber) return type === 'number' || (type === 'integer' && isWhole(value));
  if (type === 'integer') return Number.isInteger(value);
  return typeof value === type;
}

/** Removes at most one line break at each end, because models put values on separate lines. */
export function withoutOuterBreaks(text: string): string {
  return text.replace(/^\r?\n/, '').replace(/\r?\n$/, '');
}
