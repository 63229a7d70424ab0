import { isContainer, isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { resolveSchema } from '../../shared/json-schema/resolve.ts';
import { ExactNumber, isSameScalar, isWhole } from '../../shared/json/exact-number.ts';

/** The most nested alternatives; a recursive schema has no end. */
export const maxTrialDepth = 200;

/** What a traversal of a value and its schema needs; the steps are limited, as alternatives may nest. */
export interface FittingWalk {
  /** The root schema, which has the definitions. */
  root: JsonObject;
  budget: { stepsLeft: number; depth: number };
}

/**
 * Whether a value matches a schema as far as types, enums, properties and items are concerned; patterns, lengths and bounds are left to validation.
 * With an exhausted budget everything matches, so that nothing is changed.
 */
export function fits(value: JsonValue, stated: JsonValue | undefined, walk: FittingWalk): boolean {
  const schema = resolveRef(stated, walk.root);
  if (schema === false) return false;
  if (!isJsonObject(schema) || walk.budget.stepsLeft-- <= 0 || walk.budget.depth >= maxTrialDepth) return true;
  walk.budget.depth += 1;
  const isFitting = matchesForm(value, schema, walk);
  walk.budget.depth -= 1;
  return isFitting;
}

function matchesForm(value: JsonValue, schema: JsonObject, walk: FittingWalk): boolean {
  const { type, enum: choices, const: fixed, allOf } = schema;
  if (fixed !== undefined && !isEqual(fixed, value, walk)) return false;
  if (Array.isArray(choices) && !isAmong(choices, value, walk)) return false;
  const isOfType = (name: JsonValue): boolean => name === typeOf(value) || (name === 'number' && typeOf(value) === 'integer');
  if (Array.isArray(type)) walk.budget.stepsLeft -= type.length / 16;
  if (type !== undefined && ![type].flat().some(isOfType)) return false;
  for (const branches of [schema['anyOf'], schema['oneOf']])
    if (Array.isArray(branches) && !branches.some((branch) => fits(value, branch, walk))) return false;
  if (Array.isArray(allOf) && !allOf.every((part) => fits(value, part, walk))) return false;
  if (Array.isArray(value)) {
    walk.budget.stepsLeft -= value.length / 8;
    return value.every((item) => fits(item, schema['items'], walk));
  }
  return !isJsonObject(value) || membersFit(value, schema, walk);
}

function isAmong(choices: readonly JsonValue[], value: JsonValue, walk: FittingWalk): boolean {
  if (isContainer(value) || value instanceof ExactNumber) return choices.some((choice) => isEqual(choice, value, walk));
  walk.budget.stepsLeft -= choices.length / 16;
  return choices.includes(value);
}

/** With an exhausted budget everything is equal, as everything matches. */
function isEqual(one: JsonValue | undefined, other: JsonValue | undefined, walk: FittingWalk): boolean {
  if (isSameScalar(one, other) || walk.budget.stepsLeft-- <= 0) return true;
  if (!isContainer(one) || !isContainer(other)) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  walk.budget.stepsLeft -= names.length;
  if (names.length !== Object.keys(other).length) return false;
  return names.every((name) => Object.hasOwn(other, name) && isEqual((one as JsonObject)[name], (other as JsonObject)[name], walk));
}

function membersFit(value: JsonObject, schema: JsonObject, walk: FittingWalk): boolean {
  const { properties, additionalProperties: more } = schema;
  const [required, members] = [requiredNames(schema), Object.entries(value)];
  walk.budget.stepsLeft -= (required.size + members.length) / 8;
  if (![...required].every((name) => Object.hasOwn(value, name))) return false;
  const named = isJsonObject(properties) ? properties : {};
  return members.every(([name, child]) => {
    if (child === undefined) return true;
    if (Object.hasOwn(named, name)) return fits(child, named[name], walk);
    return more === undefined || Object.hasOwn(schema, 'patternProperties') || fits(child, more, walk);
  });
}

function typeOf(value: JsonValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (value instanceof ExactNumber) return isWhole(value) ? 'integer' : 'number';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

/** A reference that leads nowhere allows any value. */
export function resolveRef(schema: JsonValue | undefined, root: JsonObject): JsonValue | undefined {
  return schema === undefined ? undefined : (resolveSchema(schema, root) ?? {});
}

/** Cached per schema, instead of computed per value. */
const requiredLists = new WeakMap<JsonObject, ReadonlySet<string>>();

export function requiredNames(schema: JsonObject): ReadonlySet<string> {
  const known = requiredLists.get(schema);
  if (known !== undefined) return known;
  const { required } = schema;
  const names = new Set(Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []);
  requiredLists.set(schema, names);
  return names;
}
