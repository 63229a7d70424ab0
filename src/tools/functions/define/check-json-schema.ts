import { isDeeperThan, isJsonObject, ownValue } from '../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import { limits } from '../../../core/limits.ts';

const typeNames = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);
/** Keywords below which names are the author's own, each with a schema. */
const named = ['properties', '$defs', 'definitions', 'patternProperties', 'dependentSchemas'];
const single = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames', 'unevaluatedProperties'];
const listed = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];

/**
 * What of a JSON Schema written by hand can never work: a check that cannot be compiled checks nothing, and a backend that minds it refuses every
 * function of the request. Undefined: nothing was found.
 */
export function problemOfSchema(root: JsonObject): string | undefined {
  if (isDeeperThan(root, limits.jsonDepth)) return `it is nested more than ${limits.jsonDepth} levels deep`;
  return problemBelow(root, { root, path: '' });
}

interface Place {
  root: JsonObject;
  path: string;
}

/** Recursion ends with the depth that was checked before; references are looked up, not followed. */
function problemBelow(schema: JsonValue | undefined, { root, path }: Place): string | undefined {
  if (schema === undefined || typeof schema === 'boolean') return undefined;
  if (!isJsonObject(schema)) return `${path || 'it'} is no schema, but ${Array.isArray(schema) ? 'a list' : typeof schema}`;
  const own = problemOfKeywords(schema, root);
  if (own !== undefined) return path === '' ? own : `${path}: ${own}`;
  for (const [step, child] of childrenOf(schema)) {
    const problem = problemBelow(child, { root, path: path === '' ? step : `${path}.${step}` });
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function* childrenOf(schema: JsonObject): Generator<[string, JsonValue | undefined]> {
  for (const keyword of named) {
    const children = ownValue(schema, keyword);
    if (isJsonObject(children)) for (const [name, child] of Object.entries(children)) yield [`${keyword}.${name}`, child];
  }
  for (const keyword of single) {
    const child = ownValue(schema, keyword);
    // A list below `items` is how older dialects say `prefixItems`.
    if (Array.isArray(child)) for (const [index, entry] of child.entries()) yield [`${keyword}.${index}`, entry];
    else yield [keyword, child];
  }
  for (const keyword of listed) {
    const children = ownValue(schema, keyword);
    if (Array.isArray(children)) for (const [index, child] of children.entries()) yield [`${keyword}.${index}`, child];
  }
}

function problemOfKeywords(schema: JsonObject, root: JsonObject): string | undefined {
  const { $ref: reference, type, properties, required, pattern } = schema;
  if (reference !== undefined && !isFound(reference, root))
    return `$ref ${JSON.stringify(reference)} leads nowhere; write "#/$defs/…" and put the schema below $defs`;
  const types = Array.isArray(type) ? type : [type];
  const stranger = types.find((name) => name !== undefined && (typeof name !== 'string' || !typeNames.has(name)));
  if (stranger !== undefined) return `type ${JSON.stringify(stranger)} is none; types are ${[...typeNames].join(', ')}`;
  if (properties !== undefined && !isJsonObject(properties)) return 'properties is an object, with a schema for each name';
  if (required !== undefined && !(Array.isArray(required) && required.every((name) => typeof name === 'string')))
    return 'required is a list of names, beside properties';
  return pattern === undefined || isPattern(pattern) ? undefined : `pattern ${JSON.stringify(pattern)} is no regular expression`;
}

/** Only within the schema itself: a model cannot read another document. */
function isFound(reference: JsonValue, root: JsonObject): boolean {
  if (typeof reference !== 'string' || !reference.startsWith('#')) return false;
  // A name given by `$anchor` or `$id` is the author's business.
  if (reference !== '#' && !reference.startsWith('#/')) return true;
  let found: JsonValue | undefined = root;
  for (const step of reference.split('/').slice(1)) {
    const key = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
    found = Array.isArray(found) ? found[Number(key)] : isJsonObject(found) ? ownValue(found, key) : undefined;
  }
  return found !== undefined;
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

function isPattern(pattern: JsonValue): boolean {
  if (typeof pattern !== 'string') return false;
  try {
    RegExp(pattern, 'u');
    return true;
  } catch {
    try {
      RegExp(pattern);
      return true;
    } catch {
      return false;
    }
  }
}
