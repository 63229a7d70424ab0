import { isJsonObject, ownValue } from '../../core/json.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';

/** Beyond it a schema is an object of which nothing is said: a model that reads so much fills in no more than that. */
const maxNodes = 2_000;
const maxDepth = 48;
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
  const convertAt = (value: JsonValue | undefined, opened: readonly string[], depth: number): JsonObject => {
    nodes += 1;
    const found = resolve(value, { root: parameters, definitions, opened });
    if (found === undefined || nodes > maxNodes || depth > maxDepth) return ending(value, found?.schema);
    return convertOne(found.schema, (child) => convertAt(child, found.opened, depth + 1));
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
    if (path.includes(reference)) return undefined;
    path.push(reference);
    const name = reference.startsWith(pointer) ? reference.slice(pointer.length) : reference.replace(/^#\/definitions\//, '');
    const target = reference === '#' ? root : isJsonObject(definitions) ? ownValue(definitions, name) : undefined;
    const { $ref: _reference, ...beside } = schema;
    schema = isJsonObject(target) ? { ...target, ...beside } : beside;
  }
  return { schema, opened: path };
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
  return allOf.map((branch) => resolved(branch)).reduce((one, other) => merged(one, other), rest);
}

function merged(one: JsonObject, other: JsonObject): JsonObject {
  const properties = [one['properties'], other['properties']].filter(isJsonObject);
  const required = [one['required'], other['required']].flatMap((list) => (Array.isArray(list) ? list : []));
  return {
    ...other,
    ...one,
    ...(properties.length > 0 && { properties: Object.assign({}, ...properties.toReversed()) as JsonObject }),
    ...(required.length > 0 && { required: [...new Set(required)] }),
  };
}
