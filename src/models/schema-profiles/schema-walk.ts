import { isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { choicesOf, typesOf } from '../../shared/json-schema/keywords.ts';
import { findByPointer } from '../../shared/json-schema/pointer.ts';
import { maxHops, referenceOf } from '../../shared/json-schema/resolve.ts';

/** Beyond it a schema becomes an object without a description of its properties: a model that reads so much fills in no more than that. */
const maxNodes = 2_000;
const maxDepth = 48;
/** What the schemas that are written out may have in all, as JSON; a function with more would fill the context of a model. */
const maxCharacters = 160_000;
/** The keywords whose values are schemas. */
const schemaKeywords = new Set('properties additionalProperties items prefixItems anyOf oneOf allOf $defs definitions'.split(' '));

/** One schema as a profile reads it: its reference is resolved, and its `allOf` is merged. */
export interface FlatSchema {
  schema: JsonObject;
  /** What `type` states, `null` included. */
  types: string[];
  /** Of `anyOf`, else of `oneOf`. */
  choices: JsonValue[] | undefined;
  /** Of `enum`, else the one of `const`. */
  values: JsonValue[] | undefined;
  /** The description under its key, or nothing. */
  description: JsonObject;
  /** Applies the profile to a schema within this one. */
  convert: (child: JsonValue | undefined) => JsonObject;
  /** The converted properties under their key, or nothing. */
  convertProperties: () => { properties?: JsonObject };
}

/**
 * Applies a profile to the parameters of a function and to every schema in them, with references written out. A schema that refers to itself ends
 * as an object without a description of its properties, and so does what is nested too deep or grows too large: the function stays callable. Never throws.
 */
export function convertInlined(parameters: JsonObject, convertOne: (flat: FlatSchema) => JsonObject): JsonObject {
  let nodes = 0;
  let characters = 0;
  const convertAt = (value: JsonValue | undefined, opened: readonly string[], depth: number): JsonObject => {
    nodes += 1;
    if (nodes > maxNodes || characters > maxCharacters || depth > maxDepth) return ending(value);
    const resolved = resolve(value, parameters, opened);
    if (resolved === undefined) return ending(value);
    const { schema } = resolved;
    characters += charactersOf(schema);
    if (characters > maxCharacters) return ending(value, schema);
    const converted = convertOne(flatten(schema, (child) => convertAt(child, resolved.opened, depth + 1)));
    // What one level has merged is copied by each level above it.
    if (schema['allOf'] !== undefined) characters += charactersOf(converted);
    return characters > maxCharacters ? ending(value, schema) : converted;
  };
  return convertAt(parameters, [], 0);
}

/** The schema merged with what its reference leads to, its own keywords first; undefined where it would repeat itself. */
function resolve(
  value: JsonValue | undefined,
  root: JsonObject,
  opened: readonly string[],
): { schema: JsonObject; opened: readonly string[] } | undefined {
  let schema: JsonObject = isJsonObject(value) ? value : {};
  const path = [...opened];
  for (let reference = referenceOf(schema); reference !== undefined; reference = referenceOf(schema)) {
    if (path.includes(reference) || path.length >= opened.length + maxHops) return undefined;
    path.push(reference);
    const target = findByPointer(root, reference);
    const { $ref: _reference, ...beside } = schema;
    schema = isJsonObject(target) ? { ...target, ...beside } : beside;
  }
  return { schema, opened: path };
}

/** What a schema has by itself, the names of its properties included; the schemas in it count themselves. */
function charactersOf(schema: JsonObject): number {
  const own = Object.entries(schema).filter(([key]) => !schemaKeywords.has(key));
  return JSON.stringify([own, Object.keys(schema['properties'] ?? {})]).length;
}

/** Says of a schema that is not written out no more than its type and its description. */
function ending(value: JsonValue | undefined, schema: JsonObject = {}): JsonObject {
  const description = isJsonObject(value) ? value['description'] : undefined;
  const [type = 'object'] = typesOf(schema).filter((stated) => stated !== 'null');
  return { type, ...(typeof description === 'string' && { description }), ...(type === 'array' && { items: {} }) };
}

function flatten(written: JsonObject, convert: FlatSchema['convert']): FlatSchema {
  const schema = withoutAllOf(written, convert);
  const { const: only, description, enum: list, properties } = schema;
  return {
    schema,
    types: typesOf(schema),
    choices: choicesOf(schema),
    values: Array.isArray(list) ? list : only === undefined ? undefined : [only],
    description: typeof description === 'string' ? { description } : {},
    convert,
    convertProperties: () =>
      isJsonObject(properties)
        ? { properties: Object.fromEntries(Object.entries(properties).map(([name, child]) => [name, convert(child)])) }
        : {},
  };
}

/** `allOf` as one schema: the properties of all branches, and of every other keyword the first value. */
function withoutAllOf(schema: JsonObject, convert: FlatSchema['convert']): JsonObject {
  const { allOf, ...rest } = schema;
  if (!Array.isArray(allOf)) return schema;
  const parts = [rest, ...allOf.map((branch) => convert(branch))];
  const properties = parts.map((part) => part['properties']).filter(isJsonObject);
  const required = new Set(parts.flatMap((part) => (Array.isArray(part['required']) ? part['required'] : [])));
  return {
    ...firstOf(parts),
    ...(properties.length > 0 && { properties: firstOf(properties) }),
    ...(required.size > 0 && { required: [...required] }),
  };
}

/** The JSON type that all of these values have; `string` if they differ. */
export function typeOfAll(values: readonly JsonValue[]): string {
  const [first] = values;
  if (values.some((value) => typeof value !== typeof first)) return 'string';
  if (typeof first === 'number') return values.every(Number.isInteger) ? 'integer' : 'number';
  return typeof first === 'boolean' ? 'boolean' : 'string';
}

/** The fields of all objects; of several with one name the first. */
function firstOf(objects: readonly JsonObject[]): JsonObject {
  return Object.assign({}, ...objects.toReversed()) as JsonObject;
}
