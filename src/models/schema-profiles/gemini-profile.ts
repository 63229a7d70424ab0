import { isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { describeDropped } from './describe-dropped.ts';
import { convertInlined, typeOfAll, type FlatSchema } from './schema-walk.ts';

const formats = new Set(['int32', 'int64', 'float', 'double', 'date-time', 'enum']);
const bounds = ['minimum', 'maximum', 'minItems', 'maxItems'];
const dropped =
  'default pattern multipleOf exclusiveMinimum exclusiveMaximum minLength maxLength minProperties maxProperties uniqueItems additionalProperties'.split(
    ' ',
  );

/**
 * Gemini's own subset (the Schema of its API, after OpenAPI 3.0): one type each, `nullable` for null, items for every array, choices as texts, no
 * references. Undefined for a function without arguments: an object without properties is refused.
 */
export function toGeminiParameters(parameters: JsonObject): JsonObject | undefined {
  const { properties, ...rest } = convertInlined(parameters, convertSchema);
  return isJsonObject(properties) && Object.keys(properties).length > 0 ? { ...rest, type: 'object', properties } : undefined;
}

function convertSchema(flat: FlatSchema): JsonObject {
  const { schema, convert } = flat;
  const types = flat.types.filter((type) => type !== 'null');
  const choices = (flat.choices ?? []).filter((choice) => !isNull(choice));
  const isNullable = flat.types.includes('null') || flat.choices?.some(isNull) === true;
  const shared = { ...flat.description, ...(isNullable && { nullable: true }) };
  const [choice, another] = choices;
  if (types.length === 0 && choice !== undefined)
    return another === undefined ? { ...convert(choice), ...shared } : { ...shared, anyOf: choices.map((one) => convert(one)) };
  if (types.length > 1) return { ...shared, anyOf: types.map((type) => convert({ ...schema, description: undefined, type })) };
  return convertType(types[0] ?? impliedType(flat), flat, shared);
}

function convertType(type: string, { schema, values, convert, convertProperties }: FlatSchema, shared: JsonObject): JsonObject {
  const { format, properties, required, items } = schema;
  const texts = (values ?? []).filter((value) => typeof value === 'string' && value !== '');
  const isTextChoice = type === 'string' && texts.length > 0;
  const hasFormat = typeof format === 'string' && formats.has(format);
  const result: JsonObject = {
    type,
    ...shared,
    ...(isTextChoice && { enum: texts }),
    ...(hasFormat && { format }),
    ...Object.fromEntries(bounds.flatMap((key) => (typeof schema[key] === 'number' ? [[key, schema[key]]] : []))),
    ...(type === 'array' && { items: convert(isJsonObject(items) ? items : { type: 'string' }) }),
  };
  // Empty `properties` are refused, at every depth.
  if (type === 'object' && isJsonObject(properties) && Object.keys(properties).length > 0) {
    Object.assign(result, convertProperties());
    if (Array.isArray(required) && required.length > 0)
      result['required'] = required.filter((name) => typeof name === 'string' && Object.hasOwn(properties, name));
  }
  const inWords = new Set([...dropped, ...(hasFormat ? [] : ['format']), ...(isTextChoice ? [] : ['enum'])]);
  return describeDropped(result, { original: { ...schema, enum: values }, dropped: inWords });
}

function impliedType({ schema, values = [] }: FlatSchema): string {
  if (isJsonObject(schema['properties']) || isJsonObject(schema['additionalProperties'])) return 'object';
  return schema['items'] === undefined && schema['prefixItems'] === undefined ? typeOfAll(values) : 'array';
}

function isNull(schema: JsonValue): boolean {
  return isJsonObject(schema) && schema['type'] === 'null';
}
