import { isJsonObject, ownValue } from '../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';

/** Beyond it a schema is an object of which nothing is said: a model that reads so much fills in no more than that. */
const maxNodes = 2_000;
const maxDepth = 48;
/** References that lead to references. */
const maxHops = 32;
/** What the schemas that are written out may hold in all, in fields, entries and texts; a function of more would fill the context of a model. */
const maxParts = 20_000;
/** A text counts as one part for so many characters, so that what is written out has at most 160,000. */
const charactersPerPart = 8;
const pointer = '#/$defs/';

/** What a profile makes of one schema whose references are resolved. `convert` is for the schemas in it. */
export type ConvertSchema = (schema: JsonObject, convert: (child: JsonValue | undefined) => JsonObject) => JsonObject;

/**
 * Applies a profile to the parameters of a function and to everything in them, references written out. A reference within itself ends as an object
 * of which nothing is said, and so does what is nested too deep or grows too large: the function stays callable. Never throws.
 */
export function convertInlined(parameters: JsonObject, convertOne: ConvertSchema): JsonObject {
  const definitions = ownValue(parameters, '$defs') ?? ownValue(parameters, 'definitions');
  let nodes = 0;
  let parts = 0;
  const convertAt = (value: JsonValue | undefined, opened: readonly string[], depth: number): JsonObject => {
    nodes += 1;
    if (nodes > maxNodes || parts > maxParts || depth > maxDepth) return ending(value, undefined);
    const found = resolve(value, { root: parameters, definitions, opened });
    parts += found === undefined ? 1 : partsOf(found.schema, maxParts - parts);
    if (found === undefined || parts > maxParts) return ending(value, found?.schema);
    const converted = convertOne(found.schema, (child) => convertAt(child, found.opened, depth + 1));
    if (found.schema['allOf'] === undefined) return converted;
    // What one level has put together is copied by each level above it.
    parts += partsOf(converted, maxParts - parts);
    return parts > maxParts ? ending(value, found.schema) : converted;
  };
  return convertAt(parameters, [], 0);
}

interface Resolving {
  root: JsonObject;
  definitions: JsonValue | undefined;
  opened: readonly string[];
}

/** The schema with what its reference says, its own words first; undefined where it would repeat itself. */
function resolve(
  value: JsonValue | undefined,
  { root, definitions, opened }: Resolving,
): { schema: JsonObject; opened: readonly string[] } | undefined {
  let schema: JsonObject = isJsonObject(value) ? value : {};
  const path = [...opened];
  for (let reference = ownValue(schema, '$ref'); typeof reference === 'string'; reference = ownValue(schema, '$ref')) {
    if (path.includes(reference) || path.length >= opened.length + maxHops) return undefined;
    path.push(reference);
    const name = reference.startsWith(pointer) ? reference.slice(pointer.length) : reference.replace(/^#\/definitions\//, '');
    const target = reference === '#' ? root : isJsonObject(definitions) ? ownValue(definitions, name) : undefined;
    const { $ref: _reference, ...beside } = schema;
    schema = isJsonObject(target) ? { ...target, ...beside } : beside;
  }
  return { schema, opened: path };
}

/** Where schemas stand in a schema: they count themselves. */
const schemasUnder = new Set(['properties', 'anyOf', 'oneOf', 'allOf', 'prefixItems', '$defs', 'definitions']);
const schemaUnder = new Set(['items', 'additionalProperties']);

/** What a schema holds without the schemas in it; counted up to `most`. */
function partsOf(schema: JsonObject, most: number): number {
  let parts = 0;
  const count = (value: JsonValue | undefined, isCountedInside: boolean): void => {
    parts += typeof value === 'string' ? 1 + value.length / charactersPerPart : 1;
    if (typeof value !== 'object' || value === null) return;
    const countInside = (child: JsonValue | undefined): boolean => {
      if (isCountedInside) count(child, true);
      else parts += 1;
      return parts > most;
    };
    if (Array.isArray(value)) return void value.some(countInside);
    for (const key in value) {
      parts += key.length / charactersPerPart;
      if (countInside(value[key])) return;
    }
  };
  for (const key in schema) {
    if (parts > most) break;
    if (key === '$defs' || key === 'definitions' || schemaUnder.has(key)) parts += 1;
    else count(schema[key], !schemasUnder.has(key));
  }
  return parts;
}

function ending(value: JsonValue | undefined, schema: JsonObject | undefined): JsonObject {
  const own = isJsonObject(value) ? value : {};
  const [type] = [schema?.['type'] ?? 'object'].flat().filter((entry) => entry !== 'null');
  const { description } = own;
  const kept: JsonObject = { type: typeof type === 'string' ? type : 'object', ...(typeof description === 'string' && { description }) };
  return kept['type'] === 'array' ? { ...kept, items: {} } : kept;
}

/** `allOf` as one schema: the properties of all branches, and of everything else the first word. */
export function withoutAllOf(schema: JsonObject, resolved: (branch: JsonValue) => JsonObject): JsonObject {
  const { allOf, ...rest } = schema;
  if (!Array.isArray(allOf)) return schema;
  const parts = [rest, ...allOf.map((branch) => resolved(branch))];
  const properties = parts.map((part) => part['properties']).filter(isJsonObject);
  const required = new Set(parts.flatMap((part) => (Array.isArray(part['required']) ? part['required'] : [])));
  return {
    ...firstOf(parts),
    ...(properties.length > 0 && { properties: firstOf(properties) }),
    ...(required.size > 0 && { required: [...required] }),
  };
}

/** The fields of all of them; of two of a name the first one. */
function firstOf(objects: readonly JsonObject[]): JsonObject {
  const all: JsonObject = {};
  for (const object of objects.toReversed()) Object.assign(all, object);
  return all;
}
