import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { describeDropped } from './describe-dropped.ts';
import { choicesOf, typesOf } from '../../shared/json-schema/keywords.ts';

/** OpenAI's limits of structured outputs: beyond them the whole request is refused. */
const maxProperties = 5_000;
const maxDepth = 10;
const maxChoices = 1_000;
const maxTextCharacters = 120_000;
const manyChoices = 250;
const manyChoicesCharacters = 15_000;

/** Structured outputs refuse these: a schema that needs them is sent as it is, without being enforced. */
const refused = 'allOf not if then else prefixItems patternProperties propertyNames contains dependentRequired dependentSchemas'.split(' ');
const formats = new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid']);
const kept = ['multipleOf', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'minItems', 'maxItems'];
const dropped = ['default', 'uniqueItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties'];

/** Why a schema cannot be enforced. */
class NotStrict extends Error {}

interface Count {
  properties: number;
  choices: number;
  characters: number;
}

/**
 * The parameters as OpenAI enforces them (`strict: true`): every object closed, every property required, and what may be left out nullable instead.
 * Undefined where that would change which values are possible: maps, optional properties that accept null themselves (null would then mean two things), optional
 * ones within a choice (what null stood for could not be told afterwards), and keywords that are not enforced. The null of what was left out
 * is dropped when the arguments are checked against the original schema.
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

interface Context {
  count: Count;
  depth: number;
  /** Within a choice, where a null cannot be told from a null that was meant. */
  isChoice: boolean;
}

function strictSchema(schema: JsonValue | undefined, context: Context): JsonObject {
  if (!isJsonObject(schema) || context.depth > maxDepth || refused.some((key) => schema[key] !== undefined)) throw new NotStrict();
  const { type, description, $ref: reference, enum: list, format, pattern, items } = schema;
  // Keywords beside a reference are refused.
  if (typeof reference === 'string') return { $ref: reference };
  const result: JsonObject = { ...(type !== undefined && { type }), ...(typeof description === 'string' && { description }) };
  const choices = choicesOf(schema);
  if (type === undefined && choices === undefined && list === undefined && schema['const'] === undefined) throw new NotStrict();
  if (Array.isArray(list)) result['enum'] = countedChoices(list, context.count);
  if (schema['const'] !== undefined) result['enum'] = countedChoices([schema['const']], context.count);
  for (const key of kept) if (schema[key] !== undefined) result[key] = schema[key];
  const inWords = new Set(dropped);
  if (typeof format === 'string' && formats.has(format)) result['format'] = format;
  else inWords.add('format');
  // Lookarounds and the like are refused.
  if (typeof pattern === 'string' && pattern.length <= 500 && !/\(\?|\\[pPkuUbB]/.test(pattern)) result['pattern'] = pattern;
  else inWords.add('pattern');
  const inner = { ...context, depth: context.depth + 1 };
  if (choices !== undefined) result['anyOf'] = choices.map((choice) => strictSchema(choice, { ...inner, isChoice: true }));
  const types = typesOf(schema);
  if (types.includes('array')) result['items'] = strictSchema(items, inner);
  if (types.includes('object')) Object.assign(result, strictObject(schema, inner));
  return describeDropped(result, { original: schema, dropped: inWords });
}

function strictObject(schema: JsonObject, context: Context): JsonObject {
  const { properties, required, additionalProperties: more } = schema;
  const isRoot = context.depth === 1;
  if (more === true || isJsonObject(more) || (!isJsonObject(properties) && !isRoot)) throw new NotStrict();
  const entries = Object.entries(isJsonObject(properties) ? properties : {});
  if (entries.length === 0 && !isRoot && more !== false) throw new NotStrict();
  context.count.properties += entries.length;
  const needed = new Set(Array.isArray(required) ? required : []);
  const strict = entries.map(([name, child]): [string, JsonObject] => {
    context.count.characters += name.length;
    const converted = strictSchema(child, context);
    if (needed.has(name)) return [name, converted];
    if (context.isChoice || acceptsNull(child)) throw new NotStrict();
    return [name, orNull(converted)];
  });
  const { count } = context;
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

function acceptsNull(schema: JsonValue | undefined): boolean {
  if (!isJsonObject(schema)) return true;
  const { $ref: reference, enum: list } = schema;
  // What a reference leads to is not looked at: it is rarely worth the risk.
  if (reference !== undefined || typesOf(schema).includes('null')) return true;
  return (Array.isArray(list) && list.includes(null)) || choicesOf(schema)?.some(acceptsNull) === true;
}

function orNull(schema: JsonObject): JsonObject {
  const { type, enum: list, anyOf } = schema;
  if (Array.isArray(anyOf)) return { ...schema, anyOf: [...anyOf, { type: 'null' }] };
  return {
    ...schema,
    ...(type !== undefined && { type: [...[type].flat(), 'null'] }),
    ...(Array.isArray(list) && { enum: [...list, null] }),
  };
}
