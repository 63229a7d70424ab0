import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { isJsonObject } from '../../shared/json.ts';
import { notesOn, withNotes } from './describe-keywords.ts';
import { convertInlined, withoutAllOf } from './schema-walk.ts';

const types = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array']);
const inWords = new Set(['format', 'default', 'pattern', 'minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems']);

/**
 * The arguments in the few words that every consumer understands: one type each, its description, choices of texts, the items of a list, the
 * properties of an object. Arguments are still checked against the whole schema.
 */
export function simplifyParameters(parameters: JsonObject): JsonObject {
  const { properties, required } = convertInlined(parameters, convert);
  const known = isJsonObject(properties) ? properties : {};
  const names = (Array.isArray(required) ? required : []).filter((name) => typeof name === 'string' && Object.hasOwn(known, name));
  return { type: 'object', properties: known, required: names };
}

function convert(schema: JsonObject, child: (schema: JsonValue | undefined) => JsonObject): JsonObject {
  const whole = withoutAllOf(schema, child);
  const { description, properties, required, items, enum: list } = whole;
  const choice = [whole['anyOf'], whole['oneOf']].find(Array.isArray)?.find((one) => isJsonObject(one) && one['type'] !== 'null');
  const [stated] = [whole['type']].flat().filter((type) => typeof type === 'string' && types.has(type));
  const words = typeof description === 'string' ? { description } : {};
  if (stated === undefined && choice !== undefined && !isJsonObject(properties)) return { ...child(choice), ...words };
  const type = stated ?? (isJsonObject(properties) ? 'object' : items === undefined ? 'string' : 'array');
  const texts = Array.isArray(list) ? list.filter((one) => typeof one === 'string' && one !== '') : [];
  const result: JsonObject = { type, ...words, ...(type === 'string' && texts.length > 0 && { enum: texts }) };
  if (type === 'array') result['items'] = child(isJsonObject(items) ? items : { type: 'string' });
  if (type === 'object' && isJsonObject(properties)) {
    result['properties'] = Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, child(one)]));
    if (Array.isArray(required) && required.length > 0) result['required'] = required;
  }
  return withNotes(result, notesOn(whole, inWords));
}
