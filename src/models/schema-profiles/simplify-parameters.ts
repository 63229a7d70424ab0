import { isJsonObject, type JsonObject } from '../../shared/json/json.ts';
import { describeDropped } from './describe-dropped.ts';
import { convertInlined, typeOfAll, type FlatSchema } from './schema-walk.ts';

const knownTypes = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array']);
const dropped = new Set(['format', 'default', 'pattern', 'minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems']);
const droppedWithChoices = new Set([...dropped, 'enum']);

/**
 * The parameters in the few keywords that every backend understands: one type each, its description, choices of texts, the items of a list, the
 * properties of an object. Arguments are still checked against the whole schema.
 */
export function simplifyParameters(parameters: JsonObject): JsonObject {
  const { properties = {}, required } = convertInlined(parameters, convertSchema);
  const names = (Array.isArray(required) ? required : []).filter(
    (name) => typeof name === 'string' && Object.hasOwn(properties as JsonObject, name),
  );
  return { type: 'object', properties, required: names };
}

/** By the whole parameters. */
const simplified = new WeakMap<JsonObject, JsonObject>();

export function simplifyOnce(parameters: JsonObject): JsonObject {
  const known = simplified.get(parameters);
  if (known !== undefined) return known;
  const simple = simplifyParameters(parameters);
  simplified.set(parameters, simple);
  simplified.set(simple, simple);
  return simple;
}

function convertSchema({ schema, types, choices, values = [], description, convert, convertProperties }: FlatSchema): JsonObject {
  const { properties, required, items } = schema;
  const choice = choices?.find((one) => isJsonObject(one) && one['type'] !== 'null');
  const stated = types.find((type) => knownTypes.has(type));
  if (stated === undefined && choice !== undefined && !isJsonObject(properties)) return { ...convert(choice), ...description };
  const type = stated ?? (isJsonObject(properties) ? 'object' : items === undefined ? typeOfAll(values) : 'array');
  const texts = values.filter((one) => typeof one === 'string' && one !== '');
  const isTextChoice = type === 'string' && texts.length > 0;
  const result: JsonObject = {
    type,
    ...description,
    ...(isTextChoice && { enum: texts }),
    ...(type === 'array' && { items: convert(isJsonObject(items) ? items : { type: 'string' }) }),
  };
  // Gemini refuses empty `properties`, at every depth.
  if (type === 'object' && isJsonObject(properties) && Object.keys(properties).length > 0)
    Object.assign(result, convertProperties(), Array.isArray(required) && required.length > 0 && { required });
  const isDescribed = values.length > 0 && !isTextChoice;
  return describeDropped(result, {
    original: isDescribed ? { ...schema, enum: values } : schema,
    dropped: isDescribed ? droppedWithChoices : dropped,
  });
}
