import { compareDecimals, ExactNumber, isMultipleOf, isNumber, isSameScalar, isWhole } from '../shared/exact-number.ts';
import { isContainer, isJsonObject } from '../shared/json.ts';
import type { JsonValue } from '../shared/json.ts';

/**
 * A value as Ajv can check it: each `ExactNumber` is replaced by a JavaScript number of the same type. `originals` has those numbers, and what they
 * are in, by Ajv's `instancePath`: the keywords that look at the value of a number use these.
 */
export interface CheckedValue {
  value: JsonValue;
  originals: ReadonlyMap<string, JsonValue>;
}

export function toCheckedValue(value: JsonValue): CheckedValue {
  const originals = new Map<string, JsonValue>();
  return { value: replaceExact(value, '', originals), originals };
}

function replaceExact(value: JsonValue, path: string, originals: Map<string, JsonValue>): JsonValue {
  if (value instanceof ExactNumber) {
    originals.set(path, value);
    return numberOfSameType(value);
  }
  if (!isContainer(value)) return value;
  const before = originals.size;
  const copy = Array.isArray(value)
    ? value.map((item, index) => replaceExact(item, `${path}/${index}`, originals))
    : Object.fromEntries(Object.entries(value).map(([name, child]) => replaceField(name, child, { path, originals })));
  if (originals.size === before) return value;
  originals.set(path, value);
  return copy;
}

function replaceField(
  name: string,
  child: JsonValue | undefined,
  { path, originals }: { path: string; originals: Map<string, JsonValue> },
): [string, JsonValue | undefined] {
  if (!isContainer(child) && !(child instanceof ExactNumber)) return [name, child];
  return [name, replaceExact(child, `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, originals)];
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

/** Keywords whose keys are names. */
export const namedSchemas: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);

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
        if (!isNumber(limit) || !isNumber(value) || holds(compareDecimals(String(value), String(limit)))) return undefined;
        return { params: { comparison: words, limit }, message: `must be ${words} ${String(limit)}` };
      },
    ]),
  ),
  multipleOf: (divisor, value) =>
    !isNumber(divisor) || !isNumber(value) || isMultipleOf(String(value), String(divisor))
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
let current: ReadonlyMap<string, JsonValue> = new Map();

/** Runs a check that asks `findExactFault`. */
export function checkExactly<Result>({ value, originals }: CheckedValue, check: (value: JsonValue) => Result): Result {
  current = originals;
  try {
    return check(value);
  } finally {
    current = new Map();
  }
}

/** The keywords that look at the value of a number. */
export const exactKeywords: readonly string[] = Object.keys(checks);

/** What a keyword finds wrong with the value at a path, comparing decimals and not JavaScript numbers; undefined if nothing. */
export function findExactFault(keyword: string, stated: JsonValue, { path, value }: { path: string; value: JsonValue }): Fault | undefined {
  return checks[keyword]?.(stated, current.get(path) ?? value);
}

/** The schema with JavaScript numbers wherever `findExactFault` does not look. Keys below `properties`, `$defs` and the like are names. */
export function withNearestNumbers(schema: JsonValue, isNames = false): JsonValue {
  if (schema instanceof ExactNumber) return numberOfSameType(schema);
  if (Array.isArray(schema)) return schema.map((entry) => withNearestNumbers(entry));
  if (!isJsonObject(schema)) return schema;
  const entries = Object.entries(schema).map(([keyword, stated]): [string, JsonValue | undefined] => {
    const isKept = stated === undefined || (!isNames && Object.hasOwn(checks, keyword));
    return [keyword, isKept ? stated : withNearestNumbers(stated, !isNames && namedSchemas.has(keyword))];
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
