import { isContainer, isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import type { FittingWalk } from './fits-schema.ts';
import { parseForeign } from '../../shared/json/parse-exactly.ts';
import { isNumber, toNumber } from '../../shared/json/exact-number.ts';

const numberInText = /^-?\d{1,100}(?:\.\d{1,100})?(?:e[+-]?\d{1,3})?$/i;

/** A thousand to some, one to others. */
const thousandOrOne = /^-?[1-9]\d{0,2}\.000$/;

/** Text as what the schema allows instead, where it can mean only that. */
export function fromText(text: string, schema: JsonObject): JsonValue {
  if (allowsType(schema, 'string')) return text;
  const trimmed = text.trim();
  if (!allowsType(schema, 'number') && thousandOrOne.test(trimmed)) return text;
  if ((allowsType(schema, 'integer') || allowsType(schema, 'number')) && numberInText.test(trimmed) && Number.isFinite(Number(trimmed)))
    return toNumber(trimmed.replace(/^(-?)0+(?=\d)/, '$1'));
  if (allowsType(schema, 'boolean') && /^(?:true|false)$/i.test(trimmed)) return trimmed.toLowerCase() === 'true';
  if (allowsType(schema, 'null') && /^(?:null|none)$/i.test(trimmed)) return null;
  if (!allowsType(schema, 'object') && !allowsType(schema, 'array')) return text;
  const decoded = parseSafely(trimmed);
  return (isJsonObject(decoded) && allowsType(schema, 'object')) || (Array.isArray(decoded) && allowsType(schema, 'array'))
    ? decoded
    : text;
}

/** Converts a number or boolean to text if only text is allowed. */
export function fromScalar(value: JsonValue, schema: JsonObject): JsonValue {
  const isScalar = isNumber(value) || typeof value === 'boolean';
  const allowsItself = isNumber(value) ? allowsType(schema, 'number') || allowsType(schema, 'integer') : allowsType(schema, 'boolean');
  return isScalar && allowsType(schema, 'string') && !allowsItself ? String(value) : value;
}

/**
 * Wraps a single value where only an array is allowed. Not an empty text, nor malformed JSON: these may mean something else, and are left to
 * validation.
 */
export function wrapSingle(value: JsonValue, schema: JsonObject): JsonValue {
  if (value === null || isContainer(value) || !allowsType(schema, 'array')) return value;
  const isOwnType = isNumber(value) ? ['number', 'integer'] : [typeof value];
  if (isOwnType.some((type) => allowsType(schema, type))) return value;
  return typeof value === 'string' && /^\s*(?:$|[[{])/.test(value) ? value : [value];
}

/** Undefined for invalid JSON; keys that would change a prototype are dropped. */
export function parseSafely(text: string): JsonValue | undefined {
  try {
    return parseForeign(text, 'remove');
  } catch {
    return undefined;
  }
}

/** Whether the schema explicitly allows a type; a schema without `type` does not, so nothing is converted for it. */
export function allowsType(schema: JsonObject, type: string): boolean {
  return allowedTypes(schema).has(type);
}

/** Cached per schema: there may be thousands of alternatives and of values. */
const typeSets = new WeakMap<JsonObject, ReadonlySet<JsonValue>>();

function allowedTypes(schema: JsonObject): ReadonlySet<JsonValue> {
  const known = typeSets.get(schema);
  if (known !== undefined) return known;
  const types = new Set<JsonValue>();
  typeSets.set(schema, types);
  const stated = ownValue(schema, 'type');
  if (stated !== undefined) for (const type of [stated].flat()) types.add(type);
  if (Array.isArray(stated)) return types;
  const branches = [ownValue(schema, 'anyOf'), ownValue(schema, 'oneOf')].filter(Array.isArray).flat().filter(isJsonObject);
  for (const branch of branches) for (const type of allowedTypes(branch)) types.add(type);
  return types;
}

/** Longer texts are not compared with enum values. */
const maxChoiceCharacters = 200;

/** The enum value that differs only in case and surrounding space, if there is exactly one. */
export function asChoice(value: JsonValue, schema: JsonObject, budget: FittingWalk['budget']): JsonValue {
  const choices = ownValue(schema, 'enum') ?? [ownValue(schema, 'const') ?? null];
  if (typeof value !== 'string' || value.length > maxChoiceCharacters || !Array.isArray(choices)) return value;
  budget.stepsLeft -= choices.length / 4;
  if (budget.stepsLeft <= 0 || choices.includes(value)) return value;
  const wanted = value.trim().toLowerCase();
  const same = choices.filter((choice) => typeof choice === 'string' && choice.length === wanted.length && choice.toLowerCase() === wanted);
  return same.length === 1 ? (same[0] ?? value) : value;
}
