import { compareDecimals, ExactNumber, isMultipleOf, isNumber, isSameScalar, isWhole } from '../shared/json/exact-number.ts';
import { isContainer, isJsonObject, type JsonObject, type JsonValue } from '../shared/json/json.ts';
import { schemaMaps } from '../shared/json-schema/keywords.ts';

/**
 * A value as Ajv can check it: each `ExactNumber` is replaced by a JavaScript number of the same type. `originals` has the object or list that each
 * changed one is a copy of: the keywords that look at the value of a number use these.
 */
interface CheckedValue {
  value: JsonValue;
  /** As it was given. */
  given: JsonValue;
  originals: ReadonlyMap<object, JsonValue[] | JsonObject>;
}

export function toCheckedValue(value: JsonValue): CheckedValue {
  const originals = new Map<object, JsonValue[] | JsonObject>();
  return { value: replaceExact(value, originals), given: value, originals };
}

function replaceExact(value: JsonValue, originals: Map<object, JsonValue[] | JsonObject>): JsonValue {
  if (value instanceof ExactNumber) return numberOfSameType(value);
  if (!isContainer(value)) return value;
  let isChanged = false;
  const replace = (child: JsonValue): JsonValue => {
    const replaced = replaceExact(child, originals);
    isChanged ||= replaced !== child;
    return replaced;
  };
  const copy = Array.isArray(value)
    ? value.map(replace)
    : Object.fromEntries(Object.entries(value).map(([name, child]) => [name, child === undefined ? child : replace(child)]));
  if (!isChanged) return value;
  originals.set(copy, value);
  return copy;
}

/** Whole if the number is. Only its type counts: `originals` has its value. */
function numberOfSameType(number: ExactNumber): number {
  const nearest = Number(number);
  if (!isWhole(number)) return Number.isInteger(nearest) || !Number.isFinite(nearest) ? 0.5 : nearest;
  return Number.isFinite(nearest) ? nearest : Math.sign(nearest) * Number.MAX_VALUE;
}

/** Whether a value has an `ExactNumber` anywhere. */
export function hasExactNumber(value: JsonValue | undefined): boolean {
  if (!isContainer(value)) return value instanceof ExactNumber;
  if (Array.isArray(value)) return value.some(hasExactNumber);
  for (const name in value) if (hasExactNumber(value[name])) return true;
  return false;
}

const comparisons: Record<string, { words: string; holds: (difference: number) => boolean }> = {
  minimum: { words: '>=', holds: (difference) => difference >= 0 },
  maximum: { words: '<=', holds: (difference) => difference <= 0 },
  exclusiveMinimum: { words: '>', holds: (difference) => difference > 0 },
  exclusiveMaximum: { words: '<', holds: (difference) => difference < 0 },
};

interface Fault {
  params: Record<string, unknown>;
  message: string;
}
type Check = (stated: JsonValue, value: JsonValue) => Fault | undefined;

const checks: Record<string, Check> = {
  ...Object.fromEntries(
    Object.entries(comparisons).map(([keyword, { words, holds }]): [string, Check] => [
      keyword,
      (limit, value) => {
        if (!isNumber(limit) || !isNumber(value) || holds(compareDecimals(value, limit))) return undefined;
        return { params: { comparison: words, limit }, message: `must be ${words} ${String(limit)}` };
      },
    ]),
  ),
  multipleOf: (divisor, value) =>
    !isNumber(divisor) || !isNumber(value) || isMultipleOf(value, divisor)
      ? undefined
      : { params: { multipleOf: divisor }, message: `must be multiple of ${String(divisor)}` },
  enum: (choices, value) =>
    !Array.isArray(choices) || choices.some((choice) => isSame(choice, value))
      ? undefined
      : { params: { allowedValues: choices }, message: 'must be equal to one of the allowed values' },
  const: (fixed, value) => (isSame(fixed, value) ? undefined : { params: { allowedValue: fixed }, message: 'must be equal to constant' }),
  uniqueItems: (isAsked, value) =>
    isAsked === true && Array.isArray(value) && value.some((item, index) => value.slice(0, index).some((other) => isSame(item, other)))
      ? { params: {}, message: 'must NOT have duplicate items' }
      : undefined,
};

/** Of the value that is checked now: a check is synchronous. */
let current: Omit<CheckedValue, 'value'> = { given: null, originals: new Map() };

/** Runs a check that asks `findExactFault`. */
export function checkExactly<Result>({ value, ...whole }: CheckedValue, check: (value: JsonValue) => Result): Result {
  const before = current;
  current = whole;
  try {
    return check(value);
  } finally {
    current = before;
  }
}

/** The keywords that look at the value of a number. */
export const exactKeywords: readonly string[] = Object.keys(checks);

/** Where a value lies in what is checked. */
interface Place {
  value: JsonValue;
  parent: JsonObject | JsonValue[] | undefined;
  property: string | number | undefined;
}

/** What a keyword finds wrong with a value, comparing decimals and not JavaScript numbers; undefined if nothing. */
export function findExactFault(keyword: string, stated: JsonValue, place: Place): Fault | undefined {
  return checks[keyword]?.(stated, originalOf(place));
}

/** Looked up by objects: a path may have megabytes, for each of thousands of values. */
function originalOf({ value, parent, property }: Place): JsonValue {
  if (isContainer(value)) return current.originals.get(value) ?? value;
  if (parent === undefined) return current.given;
  const original = current.originals.get(parent);
  if (original === undefined || property === undefined) return value;
  return (Object.hasOwn(original, property) ? (original as JsonObject)[property] : undefined) ?? value;
}

/** The schema with JavaScript numbers wherever `findExactFault` does not look. Keys below `properties`, `$defs` and the like are names. */
export function withNearestNumbers(schema: JsonValue, isNames = false): JsonValue {
  if (schema instanceof ExactNumber) return numberOfSameType(schema);
  if (Array.isArray(schema)) return schema.map((entry) => withNearestNumbers(entry));
  if (!isJsonObject(schema)) return schema;
  const entries = Object.entries(schema).map(([keyword, stated]): [string, JsonValue | undefined] => {
    const isKept = stated === undefined || (!isNames && Object.hasOwn(checks, keyword));
    return [keyword, isKept ? stated : withNearestNumbers(stated, !isNames && schemaMaps.has(keyword))];
  });
  return Object.fromEntries(entries);
}

/** Deeply, the order of keys aside. */
function isSame(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  if (isSameScalar(one, other)) return true;
  if (Array.isArray(one) && Array.isArray(other)) return one.length === other.length && one.every((item, at) => isSame(item, other[at]));
  if (!isJsonObject(one) || !isJsonObject(other)) return false;
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => Object.hasOwn(other, name) && isSame(one[name], other[name]));
}
