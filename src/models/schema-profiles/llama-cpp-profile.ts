import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { isJsonObject } from '../../shared/json.ts';
import { notesOn, withNotes } from './describe-keywords.ts';
import { convertInlined, withoutAllOf } from './schema-walk.ts';

/** A longer repetition makes a grammar that its own parser refuses. */
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
  return { ...convertInlined(parameters, convert), type: 'object' };
}

function convert(schema: JsonObject, child: (schema: JsonValue | undefined) => JsonObject): JsonObject {
  const whole = withoutAllOf(schema, child);
  const { type, description, properties, required, items, format, pattern, additionalProperties: more } = whole;
  const inWords = new Set(dropped);
  const result: JsonObject = {};
  const keep = (key: string, fits: boolean): void => {
    if (whole[key] === undefined) return;
    if (fits) result[key] = whole[key];
    else inWords.add(key);
  };
  if (type !== undefined) result['type'] = type;
  if (typeof description === 'string') result['description'] = description;
  for (const key of ['enum', 'const']) keep(key, true);
  for (const key of bounds) keep(key, [type].flat().includes('integer'));
  for (const key of lengths) keep(key, Number(whole[key]) <= maxRepetition);
  keep('format', typeof format === 'string' && formats.has(format));
  keep('pattern', typeof pattern === 'string' && /^\^[\w \-./:@]{0,64}\$$/.test(pattern));
  const choices = [whole['anyOf'], whole['oneOf']].find(Array.isArray);
  if (isJsonObject(properties)) {
    result['properties'] = Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, child(one)]));
    if (Array.isArray(required)) result['required'] = required;
  } else if (choices !== undefined) result['anyOf'] = choices.map((choice) => child(choice));
  if (isJsonObject(more)) result['additionalProperties'] = child(more);
  else if (more === true || (!isJsonObject(properties) && [type].flat().includes('object') && more !== false))
    result['additionalProperties'] = true;
  if (isJsonObject(items)) result['items'] = child(items);
  else if ([type].flat().includes('array')) result['items'] = {};
  return withNotes(result, notesOn(whole, inWords));
}
