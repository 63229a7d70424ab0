import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { isJsonObject } from '../../shared/json.ts';
import { notesOn, withNotes } from './describe-keywords.ts';
import { convertInlined, withoutAllOf } from './schema-walk.ts';

const formats = new Set(['int32', 'int64', 'float', 'double', 'date-time', 'enum']);
const kept = ['minimum', 'maximum', 'minItems', 'maxItems'];
const dropped = new Set(
  'default pattern multipleOf exclusiveMinimum exclusiveMaximum minLength maxLength minProperties maxProperties uniqueItems additionalProperties'.split(
    ' ',
  ),
);

/**
 * Gemini's own subset (the Schema of its API, after OpenAPI 3.0): one type each, `nullable` for null, items for every array, choices as texts, no
 * references. Undefined for a function without arguments: an object without properties is refused.
 */
export function toGeminiParameters(parameters: JsonObject): JsonObject | undefined {
  const { properties, ...rest } = convertInlined(parameters, convert);
  return isJsonObject(properties) && Object.keys(properties).length > 0 ? { ...rest, type: 'object', properties } : undefined;
}

function convert(schema: JsonObject, child: (schema: JsonValue | undefined) => JsonObject): JsonObject {
  const whole = withoutAllOf(schema, child);
  const stated = [whole['type']].flat().filter((type) => typeof type === 'string');
  const types = stated.filter((type) => type !== 'null');
  const choices = ([whole['anyOf'], whole['oneOf']].find(Array.isArray) ?? []).filter((choice) => !isNull(choice));
  const isNullable = stated.includes('null') || [whole['anyOf'], whole['oneOf']].some((list) => Array.isArray(list) && list.some(isNull));
  const words = {
    ...(typeof whole['description'] === 'string' && { description: whole['description'] }),
    ...(isNullable && { nullable: true }),
  };
  if (choices.length === 1 && types.length === 0) return { ...child(choices[0]), ...words };
  if (choices.length > 1 && types.length === 0) return { ...words, anyOf: choices.map((choice) => child(choice)) };
  if (types.length > 1) return { ...words, anyOf: types.map((type) => child({ ...whole, description: undefined, type })) };
  return oneType(whole, types[0] ?? impliedType(whole), { child, words });
}

interface Conversion {
  child: (schema: JsonValue | undefined) => JsonObject;
  words: JsonObject;
}

function oneType(schema: JsonObject, type: string, { child, words }: Conversion): JsonObject {
  const list = Array.isArray(schema['enum']) ? schema['enum'] : schema['const'] === undefined ? undefined : [schema['const']];
  const texts = (list ?? []).filter((choice) => typeof choice === 'string' && choice !== '');
  const isTextChoice = type === 'string' && texts.length > 0;
  const { format, properties, required, items } = schema;
  const hasFormat = typeof format === 'string' && formats.has(format);
  const result: JsonObject = {
    type,
    ...words,
    ...(isTextChoice && { enum: texts }),
    ...(hasFormat && { format }),
    ...Object.fromEntries(kept.flatMap((key) => (typeof schema[key] === 'number' ? [[key, schema[key]]] : []))),
    ...(type === 'array' && { items: child(isJsonObject(items) ? items : { type: 'string' }) }),
  };
  if (type === 'object' && isJsonObject(properties)) {
    result['properties'] = Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, child(one)]));
    if (Array.isArray(required) && required.length > 0)
      result['required'] = required.filter((name) => typeof name === 'string' && Object.hasOwn(properties, name));
  }
  const inWords = new Set([...dropped, ...(hasFormat ? [] : ['format']), ...(list !== undefined && !isTextChoice ? ['enum'] : [])]);
  return withNotes(result, notesOn({ ...schema, enum: list }, inWords));
}

function impliedType(schema: JsonObject): string {
  if (isJsonObject(schema['properties']) || isJsonObject(schema['additionalProperties'])) return 'object';
  return schema['items'] === undefined && schema['prefixItems'] === undefined ? 'string' : 'array';
}

function isNull(schema: JsonValue): boolean {
  return isJsonObject(schema) && schema['type'] === 'null';
}
