import { isJsonObject, ownValue, type JsonObject } from '../../shared/json/json.ts';

/** `name`: a path such as `params.system`, with `[]` for the items of a list. `type`: in words, with names of schemas in braces. */
export interface SchemaField {
  name: string;
  type: string;
  isRequired: boolean;
  description: string;
}

/** Deeper fields are only in the OpenAPI document. */
const maxDepth = 3;

/** The fields of an object, or of the objects among its alternatives. Required ones come first, and each is followed by its own fields. */
export function fieldsOf(schema: JsonObject, prefix = '', depth = 1): SchemaField[] {
  const objects = objectsIn(schema);
  const found = new Map<string, JsonObject[]>();
  for (const { properties } of objects)
    for (const [name, member] of Object.entries(isJsonObject(properties) ? properties : {}))
      if (isJsonObject(member)) found.set(name, [...(found.get(name) ?? []), member]);
  const isRequired = (name: string): boolean => objects.every(({ required }) => Array.isArray(required) && required.includes(name));
  return [...found]
    .toSorted(([one], [other]) => Number(isRequired(other)) - Number(isRequired(one)))
    .flatMap(([name, members]) => {
      const description = members.map((member) => member['description']).find((text) => typeof text === 'string') ?? '';
      const field = { name: `${prefix}${name}`, type: oneOf(members.map(typeOf)), isRequired: isRequired(name), description };
      if (depth >= maxDepth) return [field];
      const within = members.flatMap((member) => fieldsWithin(member, field.name, depth + 1));
      return [field, ...new Map(within.toReversed().map((inner) => [inner.name, inner])).values().toArray().toReversed()];
    });
}

function fieldsWithin(member: JsonObject, name: string, depth: number): SchemaField[] {
  const entries = entriesOf(member);
  return entries === undefined ? fieldsOf(member, `${name}.`, depth) : fieldsOf(entries, `${name}[].`, depth);
}

function oneOf(types: readonly string[]): string {
  return [...new Set(types.flatMap((type) => type.split(' or ')))].join(' or ');
}

function objectsIn(schema: JsonObject): JsonObject[] {
  return [schema, ...alternativesOf(schema)].filter((object) => isJsonObject(ownValue(object, 'properties')));
}

function alternativesOf({ anyOf, oneOf }: JsonObject): JsonObject[] {
  return [anyOf, oneOf].flatMap((list) => (Array.isArray(list) ? list.filter(isJsonObject) : []));
}

function entriesOf(schema: JsonObject): JsonObject | undefined {
  const lists = [schema, ...alternativesOf(schema)].map(({ items }) => items);
  return lists.find(isJsonObject);
}

const plurals: Readonly<Record<string, string>> = {
  string: 'strings',
  object: 'objects',
  'whole number': 'whole numbers',
  number: 'numbers',
};

/** `string or null`, `list of {Key}`, `"admin" or "user"`. */
export function typeOf(schema: JsonObject): string {
  const { $ref: reference, const: constant, enum: choices, type, items } = schema;
  if (typeof reference === 'string') return `{${reference.slice(reference.lastIndexOf('/') + 1)}}`;
  const alternatives = alternativesOf(schema).map(typeOf);
  if (alternatives.length > 0) return oneOf(alternatives);
  if (constant !== undefined) return JSON.stringify(constant);
  if (Array.isArray(choices)) return oneOf(choices.map((choice) => JSON.stringify(choice)));
  if (type === 'array') {
    const entry = isJsonObject(items) ? typeOf(items) : anyValue;
    return `list of ${plurals[entry] ?? (entry === anyValue ? 'any values' : entry)}`;
  }
  if (type === 'integer') return 'whole number';
  if (Array.isArray(type)) return type.filter((name) => typeof name === 'string').join(' or ');
  return typeof type === 'string' ? type : anyValue;
}

const anyValue = 'any value';
