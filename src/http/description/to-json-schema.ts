import { z } from 'zod';
import { isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';

const componentPath = '#/components/schemas/';

/**
 * The JSON Schema (2020-12, as in OpenAPI 3.1) of what a schema takes, before its defaults and conversions. Schemas with an `id` in their metadata go to
 * `components` and are referred to.
 */
export function toJsonSchema(schema: z.ZodType, components: Map<string, JsonObject>): JsonObject {
  const made = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      // Its check is a function, so it is asked.
      if (def.type === 'custom') Object.assign(jsonSchema, acceptedTypes(zodSchema as unknown as z.ZodType));
      // The bounds of JavaScript's whole numbers, which nobody chose.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      // The format says it, and the pattern of a date fills a page.
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
      if (def.type === 'record') delete jsonSchema.propertyNames;
    },
  }) as JsonObject;
  const { $schema: _dialect, $defs: definitions, ...own } = made;
  for (const [name, definition] of Object.entries(isJsonObject(definitions) ? definitions : {})) {
    if (isJsonObject(definition) && !components.has(name)) components.set(name, withComponents(definition));
  }
  return withComponents(own);
}

/** References to definitions within the schema become references to components. */
function withComponents(schema: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(schema), (key, value: JsonValue) =>
    key === '$ref' && typeof value === 'string' ? value.replace(/^#\/\$defs\//, componentPath) : value,
  ) as JsonObject;
}

const samples: readonly [type: string, value: JsonValue][] = [
  ['object', {}],
  ['array', []],
  ['string', ''],
  ['number', 0],
  ['boolean', true],
];

/** The types of which a schema takes at least the simplest value; nothing if it takes none or all of them. */
function acceptedTypes(schema: z.ZodType): JsonObject {
  const types = samples.filter(([, value]) => schema.safeParse(value).success).map(([type]) => type);
  const [only] = types;
  if (only === undefined || types.length === samples.length) return {};
  return { type: types.length === 1 ? only : types };
}

/**
 * Adds what fields mean, by name or path, through alternatives and lists.
 * @throws Error for a field that the schema does not have
 */
export function describeFields(schema: JsonObject, fields: Readonly<Record<string, string>>): void {
  for (const [path, description] of Object.entries(fields)) {
    const field = path.split('.').reduce<JsonObject | undefined>((parent, name) => memberOf(parent, name), schema);
    if (field === undefined) throw new Error(`A description names the field ${path}, which its schema does not have.`);
    field['description'] = description;
  }
}

function memberOf(schema: JsonValue | undefined, name: string): JsonObject | undefined {
  if (!isJsonObject(schema)) return undefined;
  const { properties, anyOf, items } = schema;
  const member = isJsonObject(properties) ? properties[name] : undefined;
  if (isJsonObject(member)) return member;
  const within = [...(Array.isArray(anyOf) ? anyOf : []), ...(items === undefined ? [] : [items])];
  for (const each of within) {
    const found = memberOf(each, name);
    if (found !== undefined) return found;
  }
  return undefined;
}
