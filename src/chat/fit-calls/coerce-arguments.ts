import { copyJson, isContainer, isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { allowsType, asChoice, fromScalar, fromText, wrapSingle } from './coerce-scalar.ts';
import { fits, maxTrialDepth, requiredNames, resolveRef, type FittingWalk } from './fits-schema.ts';
import { isSameScalar } from '../../shared/json/exact-number.ts';
import { pathText } from './argument-path.ts';
import { plainBase64 } from './plain-base64.ts';

/** Arguments coerced to a schema, and the changes that were made. */
interface CoercedArguments {
  args: JsonObject;
  /** One sentence per change, such as `limit: "5" read as 5`, for the run's events. */
  changes: string[];
}

/**
 * Coerces a model's arguments to the function's schema where the meaning is certain: `"5"` for a number, `"true"` for a boolean, JSON text for an
 * object or array, a `data:` URI for its base64, an enum value in another case, a single value for an array of it, `null` for an omitted optional argument. A value that matches
 * one of several schemas is unchanged; otherwise the first schema to which it can be coerced is used. An omitted required argument gets its default.
 * Nothing is invented: what does not fit stays, and fails validation, and so do unknown arguments (`fit-arguments.ts`).
 */
export function coerceArguments(args: JsonObject, schema: JsonObject, { fillsDefaults = true } = {}): CoercedArguments {
  const changes: string[] = [];
  const budget = { stepsLeft: maxSteps, depth: 0 };
  return { args: coerceObject(args, schema, { path: [], changes, fillsDefaults, root: schema, budget }), changes };
}

/**
 * Limits the steps beyond a plain traversal: finding the matching schema (nested alternatives tried on nested values would take exponential time),
 * comparing with enum values, filling in defaults. Each step takes well below a microsecond.
 */
const maxSteps = 20_000;
/** Limits the sentences about changes and their length: arguments may have tens of thousands of values with keys of kilobytes. */
const maxChanges = 100;
const maxChangeCharacters = 300;
interface CoercionWalk extends FittingWalk {
  /** Names and indexes from the root to the value that is looked at. One list for the whole traversal, as arguments may have tens of thousands of values. */
  path: (string | number)[];
  changes: string[];
  fillsDefaults: boolean;
  /** Set while one of several schemas is tried, when each step counts. */
  isTrial?: true;
  /** Set where a single value must not be wrapped in an array. */
  isUnwrapped?: true;
}

function coerceObject(value: JsonObject, schema: JsonObject, walk: CoercionWalk): JsonObject {
  const properties = ownValue(schema, 'properties');
  if (!isJsonObject(properties)) return value;
  const required = requiredNames(schema);
  const entries: [string, JsonValue][] = [];
  let isChanged = false;
  const keys = Object.keys(value);
  for (const key of keys) {
    const child = value[key];
    if (child === undefined) continue;
    const childSchema = resolveRef(ownValue(properties, key), walk.root);
    walk.path.push(key);
    if (childSchema === undefined) entries.push([key, child]);
    else if (child === null && (!required.has(key) || hasDefault(childSchema)) && !fits(null, childSchema, walk)) {
      note(walk, () => 'null left out');
    } else {
      const fitted = coerceValue(child, childSchema, walk);
      isChanged ||= fitted !== child;
      entries.push([key, fitted]);
    }
    walk.path.pop();
  }
  const given = isChanged || entries.length < keys.length ? Object.fromEntries(entries) : value;
  return required.size === 0 || !walk.fillsDefaults ? given : withDefaults(given, { properties, required }, walk);
}

/** A change of the value at `walk.path`, or below it at `name`. */
function note(walk: CoercionWalk, describe: () => string, name?: string): void {
  if (walk.changes.length >= maxChanges) return;
  const path = name === undefined ? walk.path : [...walk.path, name];
  walk.changes.push(`${pathText(path)}: ${describe()}`.slice(0, maxChangeCharacters));
}

/** Only for required properties: many servers give an omitted optional one a meaning of its own. */
function withDefaults(
  given: JsonObject,
  { properties, required }: { properties: JsonObject; required: ReadonlySet<string> },
  walk: CoercionWalk,
): JsonObject {
  walk.budget.stepsLeft -= required.size / 16;
  if (walk.budget.stepsLeft <= 0) return given;
  const missing = [...required].flatMap((name): [string, JsonValue][] => {
    const schema = resolveRef(ownValue(properties, name), walk.root);
    const value = isJsonObject(schema) ? ownValue(schema, 'default') : undefined;
    // An invalid default would fail validation as if the model had sent it.
    if (Object.hasOwn(given, name) || value === undefined || !fits(value, schema, walk)) return [];
    if (!chargeSteps(value, walk.budget)) return [];
    note(walk, () => `left out, so its default ${preview(value)} is used`, name);
    return [[name, copyJson(value)]];
  });
  return missing.length === 0 ? given : { ...given, ...Object.fromEntries(missing) };
}

/** Charges the budget for a default, since it may be inserted into each item of an array: one step per value and per 64 characters. */
function chargeSteps(value: JsonValue, budget: CoercionWalk['budget']): boolean {
  budget.stepsLeft -= 1 + (typeof value === 'string' ? value.length / 64 : 0);
  if (budget.stepsLeft <= 0) return false;
  return !isContainer(value) || Object.values(value).every((child) => child === undefined || chargeSteps(child, budget));
}

function hasDefault(schema: JsonValue): boolean {
  return isJsonObject(schema) && ownValue(schema, 'default') !== undefined;
}

function coerceValue(value: JsonValue, stated: JsonValue, walk: CoercionWalk): JsonValue {
  const schema = resolveRef(stated, walk.root);
  if (!isJsonObject(schema) || (walk.isTrial === true && walk.budget.stepsLeft-- <= 0)) return value;
  const bytes = typeof value === 'string' ? plainBase64(value, schema, (branch) => resolveRef(branch, walk.root)) : undefined;
  if (bytes !== undefined) {
    note(walk, () => 'a data: URI read as its base64');
    return bytes;
  }
  const branches = branchesOf(schema);
  if (branches !== undefined) {
    if (walk.budget.depth >= maxTrialDepth || fits(value, schema, walk)) return value;
    walk.budget.depth += 1;
    const chosen = coerceToBranch(value, branches, walk);
    walk.budget.depth -= 1;
    if (chosen !== undefined) return chosen;
  }
  const inner = walk.isUnwrapped === true ? withoutUnwrapping(walk) : walk;
  // Each of thousands of alternatives might parse it.
  if (walk.isTrial === true && typeof value === 'string') walk.budget.stepsLeft -= value.length / 64;
  const plain = typeof value === 'string' ? asChoice(fromText(value, schema), schema, walk.budget) : fromScalar(value, schema);
  const fitted = walk.isUnwrapped === true ? plain : wrapSingle(plain, schema);
  if (fitted !== value) note(walk, () => `${preview(value)} read as ${preview(fitted)}`);
  if (isJsonObject(fitted)) {
    const coerced = coerceObject(fitted, branchFor(fitted, schema, walk), inner);
    return coerceObject(coerced, kindOf(coerced, schema, walk), inner);
  }
  const items = ownValue(schema, 'items');
  if (!Array.isArray(fitted) || items === undefined) return fitted;
  let isChanged = false;
  const coerced = fitted.map((item, index) => {
    walk.path.push(index);
    const fittedItem = coerceValue(item, items, inner);
    walk.path.pop();
    isChanged ||= fittedItem !== item;
    return fittedItem;
  });
  return isChanged ? coerced : fitted;
}

/** The walk below a value that must not be wrapped itself: values in it may be. */
function withoutUnwrapping({ isUnwrapped: _isUnwrapped, ...walk }: CoercionWalk): CoercionWalk {
  return walk;
}

/** The alternatives of which one has to match, if the schema itself does not restrict the value. */
function branchesOf(schema: JsonObject): JsonValue[] | undefined {
  if (Object.hasOwn(schema, 'type') || Object.hasOwn(schema, 'properties')) return undefined;
  return [ownValue(schema, 'anyOf'), ownValue(schema, 'oneOf')].find(Array.isArray);
}

/** Wraps a single value in an array only if it matches no alternative by itself. */
function coerceToBranch(value: JsonValue, branches: readonly JsonValue[], walk: CoercionWalk): JsonValue | undefined {
  const { isUnwrapped, ...rest } = walk;
  for (const unwrapped of isUnwrapped === true ? [{ isUnwrapped }] : [{ isUnwrapped: true as const }, {}]) {
    for (const branch of branches) {
      if (walk.budget.stepsLeft <= 0) return undefined;
      const trial: CoercionWalk = { ...rest, ...unwrapped, changes: [], isTrial: true };
      const fitted = coerceValue(value, branch, trial);
      if (!fits(fitted, branch, walk)) continue;
      walk.changes.push(...trial.changes.slice(0, maxChanges - walk.changes.length));
      return fitted;
    }
  }
  return undefined;
}

/** The alternative that a value selects by its constants (a discriminator); the schema itself if that is not certain. */
function branchFor(value: JsonObject, schema: JsonObject, walk: CoercionWalk): JsonObject {
  const { root, budget } = walk;
  if (Object.hasOwn(schema, 'properties') || budget.stepsLeft <= 0) return schema;
  const stated = [ownValue(schema, 'anyOf') ?? ownValue(schema, 'oneOf')].flat();
  budget.stepsLeft -= stated.length;
  const branches = stated
    .map((branch) => resolveRef(branch, root))
    .filter((branch) => isJsonObject(branch) && allowsType(branch, 'object'));
  const fitting = branches.filter((branch) => isJsonObject(branch) && constantsFit(value, branch, walk));
  const [only] = fitting;
  // A value that already matches an alternative belongs to it.
  if (stated.some((branch) => branch !== undefined && fits(value, branch, walk))) return schema;
  return fitting.length === 1 && isJsonObject(only) ? only : schema;
}

/** Beside properties of its own: the alternative that a value selects by its constants and choices; nothing if that is not certain. */
function kindOf(value: JsonObject, schema: JsonObject, { root, budget }: CoercionWalk): JsonObject {
  if (!Object.hasOwn(schema, 'properties') || budget.stepsLeft <= 0) return {};
  const stated = [ownValue(schema, 'anyOf') ?? ownValue(schema, 'oneOf') ?? []].flat();
  budget.stepsLeft -= stated.length;
  const kinds = stated.map((branch) => resolveRef(branch, root)).filter(isJsonObject);
  const [only, ...others] = kinds.filter((kind) => constantsFit(value, kind, { budget, keywords: ['const', 'enum'] }));
  return others.length === 0 ? (only ?? {}) : {};
}

function constantsFit(
  value: JsonObject,
  branch: JsonObject,
  { budget, keywords = ['const'] }: Pick<CoercionWalk, 'budget'> & { keywords?: readonly string[] },
): boolean {
  const properties = ownValue(branch, 'properties');
  if (!isJsonObject(properties)) return false;
  for (const name in properties) {
    budget.stepsLeft -= 1;
    if (budget.stepsLeft <= 0) return false;
    const property = properties[name];
    const given = ownValue(value, name);
    if (!isJsonObject(property)) continue;
    for (const keyword of keywords) {
      const stated = ownValue(property, keyword);
      if (Array.isArray(stated)) budget.stepsLeft -= stated.length / 16;
      if (stated !== undefined && ![stated].flat().some((choice) => isSameScalar(choice, given))) return false;
    }
  }
  return true;
}

function preview(value: JsonValue): string {
  // Only the beginning of a long text is shown.
  const text = JSON.stringify(typeof value === 'string' ? value.slice(0, 100) : value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
