import { isDeepStrictEqual } from 'node:util';
import { isJsonObject } from '../../core/json.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';

/** Keywords that only inform: the outer schema's word stands. */
const annotations = new Set(['description', 'default', 'format', 'contentMediaType', 'contentEncoding']);
const upperBounds = new Set(['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties']);
const lowerBounds = new Set(['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']);

/**
 * One schema that says what two together say (`allOf`), for models read properties and not compositions; `undefined` where that cannot be said
 * in one. Two closed objects are taken as their author meant them: as one closed object with the properties of both.
 */
export function mergeSchemas(outer: JsonObject, inner: JsonObject): JsonObject | undefined {
  const result: JsonObject = { ...outer };
  for (const [key, value] of Object.entries(inner)) {
    if (key === 'additionalProperties' || value === undefined) continue;
    const merged = result[key] === undefined ? value : mergeKeyword(key, result[key], value);
    if (merged === undefined) return undefined;
    result[key] = merged;
  }
  const additional = mergeAdditional(outer, inner);
  if (additional === undefined) delete result['additionalProperties'];
  else result['additionalProperties'] = additional;
  return result;
}

function mergeKeyword(key: string, outer: JsonValue, inner: JsonValue): JsonValue | undefined {
  if (annotations.has(key) || isDeepStrictEqual(outer, inner)) return outer;
  if (key === 'properties') return mergeProperties(outer, inner);
  if (key === 'required' && Array.isArray(outer) && Array.isArray(inner)) return [...new Set([...outer, ...inner])];
  if (key === 'type') return mergeTypes(outer, inner);
  if (key === 'enum') return mergeChoices(outer, inner);
  if (key === 'items' && isJsonObject(outer) && isJsonObject(inner)) return mergeSchemas(outer, inner);
  if (key === 'allOf' && Array.isArray(outer) && Array.isArray(inner)) return [...outer, ...inner];
  if (typeof outer !== 'number' || typeof inner !== 'number') return undefined;
  if (upperBounds.has(key)) return Math.min(outer, inner);
  return lowerBounds.has(key) ? Math.max(outer, inner) : undefined;
}

function mergeProperties(outer: JsonValue, inner: JsonValue): JsonValue | undefined {
  if (!isJsonObject(outer) || !isJsonObject(inner)) return undefined;
  const merged = new Map(Object.entries(outer));
  for (const [name, schema] of Object.entries(inner)) {
    const known = merged.get(name);
    if (known === undefined || schema === undefined) {
      merged.set(name, schema);
      continue;
    }
    const both = isJsonObject(known) && isJsonObject(schema) ? mergeSchemas(known, schema) : undefined;
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

function mergeChoices(outer: JsonValue, inner: JsonValue): JsonValue | undefined {
  if (!Array.isArray(outer) || !Array.isArray(inner)) return undefined;
  const both = outer.filter((choice) => inner.some((other) => isDeepStrictEqual(choice, other)));
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
