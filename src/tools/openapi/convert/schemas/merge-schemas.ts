import { isContainer, isJsonObject, type JsonObject, type JsonValue } from '../../../../shared/json/json.ts';
import type { Spend } from '../../conversion-budget.ts';
import { keepChoicesNote } from './schema-keywords.ts';
import { ExactNumber, compareDecimals } from '../../../../shared/json/exact-number.ts';

/** Keywords that only inform: the outer schema's value counts. */
const annotations = new Set(['default', 'format', 'contentMediaType', 'contentEncoding']);
const upperBounds = new Set(['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties']);
const lowerBounds = new Set(['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']);

/**
 * One schema that says what two together say (`allOf`), because models read properties and not compositions; `undefined` where one schema cannot
 * say that. Two closed objects are taken as their author meant them: as one closed object with the properties of both.
 * Every key, choice and list entry that is compared or copied is spent: a large schema may be merged by each of many functions.
 * @throws what `spend` throws.
 */
export function mergeSchemas(outer: JsonObject, inner: JsonObject, spend: Spend): JsonObject | undefined {
  const entries = Object.entries(inner);
  spend(Object.keys(outer).length + entries.length);
  const result: JsonObject = { ...outer };
  for (const [key, value] of entries) {
    if (key === 'additionalProperties' || value === undefined) continue;
    const known = result[key];
    const merged = known === undefined ? value : mergeKeyword(key, [known, value], spend);
    if (merged === undefined) return undefined;
    result[key] = merged;
  }
  const additional = mergeAdditional(outer, inner);
  if (additional === undefined) delete result['additionalProperties'];
  else result['additionalProperties'] = additional;
  return result;
}

/** Both together: merged where one schema can say it, else as parts of an `allOf`. */
export function joinSchemas(outer: JsonObject, branch: JsonObject, spend: Spend): JsonObject {
  const merged = mergeSchemas(outer, branch, spend);
  if (merged !== undefined) return merged;
  const others = Array.isArray(outer['allOf']) ? outer['allOf'] : [];
  spend(others.length);
  return { ...outer, allOf: [...others, branch] };
}

function mergeKeyword(key: string, [outer, inner]: [JsonValue, JsonValue], spend: Spend): JsonValue | undefined {
  if (key === 'description') return keepChoicesNote(fullerWords(outer, inner), inner);
  if (annotations.has(key) || isSame(outer, inner, spend)) return outer;
  if (key === 'properties') return mergeProperties(outer, inner, spend);
  if (key === 'type') return mergeTypes(outer, inner);
  if (key === 'items' && isJsonObject(outer) && isJsonObject(inner)) return mergeSchemas(outer, inner, spend);
  if (Array.isArray(outer) && Array.isArray(inner)) return mergeLists(key, [outer, inner], spend);
  if (typeof outer !== 'number' || typeof inner !== 'number') return undefined;
  if (upperBounds.has(key)) return Math.min(outer, inner);
  return lowerBounds.has(key) ? Math.max(outer, inner) : undefined;
}

/** The outer schema's, unless the inner one says the same and more. */
function fullerWords(outer: JsonValue, inner: JsonValue): JsonValue {
  if (typeof outer !== 'string' || typeof inner !== 'string' || inner.length <= outer.length) return outer;
  return inner.startsWith(outer.replace(/[.…\s]+$/, '')) ? inner : outer;
}

function mergeLists(key: string, [outer, inner]: [JsonValue[], JsonValue[]], spend: Spend): JsonValue | undefined {
  spend(outer.length + inner.length);
  if (key === 'required') return [...new Set([...outer, ...inner])];
  if (key === 'allOf') return [...outer, ...inner];
  return key === 'enum' ? mergeChoices(outer, inner, spend) : undefined;
}

function mergeProperties(outer: JsonValue, inner: JsonValue, spend: Spend): JsonValue | undefined {
  if (!isJsonObject(outer) || !isJsonObject(inner)) return undefined;
  const merged = new Map(Object.entries(outer));
  const added = Object.entries(inner);
  spend(merged.size + added.length);
  for (const [name, schema] of added) {
    const known = merged.get(name);
    if (known === undefined || schema === undefined) {
      merged.set(name, schema);
      continue;
    }
    const both = isJsonObject(known) && isJsonObject(schema) ? mergeSchemas(known, schema, spend) : undefined;
    merged.set(name, both ?? { allOf: [known, schema] });
  }
  return Object.fromEntries(merged);
}

function mergeTypes(outer: JsonValue, inner: JsonValue): JsonValue | undefined {
  const others = [inner].flat();
  const accepts = (type: JsonValue): boolean => others.includes(type) || (type === 'integer' && others.includes('number'));
  const both = [outer].flat().filter(accepts);
  if (both.length === 0 && others.includes('integer') && [outer].flat().includes('number')) return 'integer';
  return both.length > 1 ? both : both[0];
}

/** Texts and numbers are looked up; only lists and objects, which hardly any document chooses from, have to be compared one by one. */
function mergeChoices(outer: JsonValue[], inner: JsonValue[], spend: Spend): JsonValue | undefined {
  const plain = new Set(inner);
  const nested = inner.filter((choice) => typeof choice === 'object' && choice !== null);
  const isChoice = (choice: JsonValue): boolean =>
    plain.has(choice) || (typeof choice === 'object' && choice !== null && nested.some((other) => isSame(choice, other, spend)));
  const both = outer.filter(isChoice);
  return both.length > 0 ? both : undefined;
}

/** Closed only when both are, or the other describes no properties: those need it open. */
function mergeAdditional(outer: JsonObject, inner: JsonObject): JsonValue | undefined {
  const a = outer['additionalProperties'];
  const b = inner['additionalProperties'];
  if (a === b) return a;
  if (a === false) return inner['properties'] === undefined ? false : b;
  if (b === false) return outer['properties'] === undefined ? false : a;
  return a ?? b;
}

/** Deeply, the order of keys aside. */
function isSame(one: JsonValue | undefined, other: JsonValue | undefined, spend: Spend): boolean {
  if (one === other) return true;
  if (one instanceof ExactNumber && other instanceof ExactNumber) return compareDecimals(one, other) === 0;
  if (!isContainer(one) || !isContainer(other)) return false;
  spend(1);
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((entry, index) => isSame(entry, other[index], spend));
  if (!isJsonObject(one) || !isJsonObject(other)) return false;
  const keys = Object.keys(one);
  spend(keys.length);
  return keys.length === Object.keys(other).length && keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key], spend));
}
