import { isJsonObject, type JsonObject } from '../../shared/json/json.ts';
import { describeDropped } from './describe-dropped.ts';
import { convertInlined, type FlatSchema } from './schema-walk.ts';

/** llama.cpp refuses a grammar with a longer repetition. */
const maxRepetition = 1_999;
const bounds = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
const lengths = ['minLength', 'maxLength', 'minItems', 'maxItems'];
const dropped = ['multipleOf', 'minProperties', 'maxProperties', 'uniqueItems', 'default'];
const formats = new Set(['date', 'time', 'date-time', 'uuid']);

/**
 * What llama.cpp can turn into a grammar (grammars/README.md): no references, no `properties` beside choices, bounds of integers alone, and open
 * objects only where the schema says so, because a grammar closes them. What it would skip is said in words.
 */
export function toLlamaCppParameters(parameters: JsonObject): JsonObject {
  return { ...convertInlined(parameters, convertSchema), type: 'object' };
}

function convertSchema({ schema, types, choices, description, convert, convertProperties }: FlatSchema): JsonObject {
  const { type, properties, required, items, format, pattern, additionalProperties: more } = schema;
  const inWords = new Set(dropped);
  const result: JsonObject = { ...(type !== undefined && { type }), ...description };
  const keep = (key: string, fits: boolean): void => {
    if (schema[key] === undefined) return;
    if (fits) result[key] = schema[key];
    else inWords.add(key);
  };
  for (const key of ['enum', 'const']) keep(key, true);
  for (const key of bounds) keep(key, types.includes('integer'));
  for (const key of lengths) keep(key, Number(schema[key]) <= maxRepetition);
  keep('format', typeof format === 'string' && formats.has(format));
  keep('pattern', typeof pattern === 'string' && /^\^[\w \-./:@]{0,64}\$$/.test(pattern));
  if (isJsonObject(properties)) Object.assign(result, convertProperties(), Array.isArray(required) && { required });
  else if (choices !== undefined) result['anyOf'] = choices.map((choice) => convert(choice));
  if (isJsonObject(more)) result['additionalProperties'] = convert(more);
  else if (more === true || (!isJsonObject(properties) && types.includes('object') && more !== false))
    result['additionalProperties'] = true;
  if (isJsonObject(items)) result['items'] = convert(items);
  else if (types.includes('array')) result['items'] = {};
  return describeDropped(result, { original: schema, dropped: inWords });
}
