import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { isJsonObject, ownValue } from '../../shared/json.ts';
import { notesOn, withNotes } from './describe-keywords.ts';

/** OpenAI's limits of structured outputs: beyond them the whole request is refused. */
const maxProperties = 5_000;
const maxDepth = 10;
const maxChoices = 1_000;
const maxTextCharacters = 120_000;
const manyChoices = 250;
const manyChoicesCharacters = 15_000;

/** Structured outputs refuse these: a schema that needs them is sent as it is, without being enforced. */
const refused = [
  'allOf',
  'not',
  'if',
  'then',
  'else',
  'prefixItems',
  'patternProperties',
  'propertyNames',
  'contains',
  'dependentRequired',
  'dependentSchemas',
];
const formats = new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid']);
const kept = ['multipleOf', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'minItems', 'maxItems'];
const inWords = new Set(['default', 'uniqueItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties']);

/** Why a schema cannot be enforced. */
class NotStrict extends Error {}

interface Count {
  properties: number;
  choices: number;
  characters: number;
}

/**
 * The parameters as OpenAI enforces them (`strict: true`): every object closed, every property required, and what may be left out nullable instead.
 * Undefined where that would change what can be said: maps, optional properties that know null themselves (null would then mean two things), optional
 * ones within a choice (nobody could tell afterwards what null stood for), and keywords that are not enforced. The null of what was left out
 * is dropped by whoever checks the arguments against the original schema.
 */
export function toStrictParameters(parameters: JsonObject): JsonObject | undefined {
  const count = { properties: 0, choices: 0, characters: 0 };
  try {
    if (parameters['anyOf'] !== undefined || parameters['oneOf'] !== undefined) return undefined;
    const definitions = ownValue(parameters, '$defs');
    const root = strictSchema(parameters, { count, depth: 0, isChoice: false });
    if (!isJsonObject(definitions)) return root;
    const strict = Object.entries(definitions).map(([name, schema]) => {
      count.characters += name.length;
      return [name, strictSchema(schema, { count, depth: 1, isChoice: false })];
    });
    return { ...root, $defs: Object.fromEntries(strict) as JsonObject };
  } catch (error) {
    if (error instanceof NotStrict) return undefined;
    throw error;
  }
}

interface Place {
  count: Count;
  depth: number;
  /** Within a choice, where a null cannot be told from a null that was meant. */
  isChoice: boolean;
}

function strictSchema(schema: JsonValue | undefined, place: Place): JsonObject {
  if (!isJsonObject(schema) || place.depth > maxDepth || refused.some((key) => schema[key] !== undefined)) throw new NotStrict();
  const { type, description, $ref: reference, enum: list, format, pattern, items } = schema;
  if (typeof reference === 'string') {
    // Words beside a reference are refused; the reference holds its own.
    return { $ref: reference };
  }
  const result: JsonObject = { ...(type !== undefined && { type }), ...(typeof description === 'string' && { description }) };
  const choices = [schema['anyOf'], schema['oneOf']].find(Array.isArray);
  if (type === undefined && choices === undefined && list === undefined && schema['const'] === undefined) throw new NotStrict();
  if (Array.isArray(list)) result['enum'] = countedChoices(list, place.count);
  if (schema['const'] !== undefined) result['enum'] = countedChoices([schema['const']], place.count);
  for (const key of kept) if (schema[key] !== undefined) result[key] = schema[key];
  const words = new Set(inWords);
  if (typeof format === 'string' && formats.has(format)) result['format'] = format;
  else words.add('format');
  // Lookarounds and the like are refused.
  if (typeof pattern === 'string' && pattern.length <= 500 && !/\(\?|\\[pPkuUbB]/.test(pattern)) result['pattern'] = pattern;
  else words.add('pattern');
  const inner = { ...place, depth: place.depth + 1 };
  if (choices !== undefined) result['anyOf'] = choices.map((choice) => strictSchema(choice, { ...inner, isChoice: true }));
  if ([type].flat().includes('array')) result['items'] = strictSchema(items, inner);
  if ([type].flat().includes('object')) Object.assign(result, strictObject(schema, inner));
  return withNotes(result, notesOn(schema, words));
}

function strictObject(schema: JsonObject, place: Place): JsonObject {
  const { properties, required, additionalProperties: more } = schema;
  const isRoot = place.depth === 1;
  if (more === true || isJsonObject(more) || (!isJsonObject(properties) && !isRoot)) throw new NotStrict();
  const entries = Object.entries(isJsonObject(properties) ? properties : {});
  if (entries.length === 0 && !isRoot && more !== false) throw new NotStrict();
  place.count.properties += entries.length;
  const needed = new Set(Array.isArray(required) ? required : []);
  const strict = entries.map(([name, child]): [string, JsonObject] => {
    place.count.characters += name.length;
    const converted = strictSchema(child, place);
    if (needed.has(name)) return [name, converted];
    if (place.isChoice || knowsNull(child)) throw new NotStrict();
    return [name, orNull(converted)];
  });
  const { count } = place;
  if (count.properties > maxProperties || count.characters > maxTextCharacters) throw new NotStrict();
  return { properties: Object.fromEntries(strict), required: entries.map(([name]) => name), additionalProperties: false };
}

function countedChoices(list: JsonValue[], count: Count): JsonValue[] {
  const characters = list.reduce((sum: number, choice) => sum + (typeof choice === 'string' ? choice.length : 4), 0);
  count.choices += list.length;
  count.characters += characters;
  if (count.choices > maxChoices || (list.length > manyChoices && characters > manyChoicesCharacters)) throw new NotStrict();
  return list;
}

function knowsNull(schema: JsonValue | undefined): boolean {
  if (!isJsonObject(schema)) return true;
  const choices = [schema['anyOf'], schema['oneOf']].find(Array.isArray) ?? [];
  const list = Array.isArray(schema['enum']) ? schema['enum'] : [];
  // What a reference holds is not looked at: it is rarely worth the risk.
  return schema['$ref'] !== undefined || [schema['type']].flat().includes('null') || list.includes(null) || choices.some(knowsNull);
}

function orNull(schema: JsonObject): JsonObject {
  const { type, enum: list } = schema;
  if (schema['anyOf'] !== undefined)
    return { ...schema, anyOf: [...[schema['anyOf']].flat().filter((choice) => choice !== undefined), { type: 'null' }] };
  return {
    ...schema,
    ...(type !== undefined && { type: [...[type].flat(), 'null'] }),
    ...(Array.isArray(list) && { enum: [...list, null] }),
  };
}
