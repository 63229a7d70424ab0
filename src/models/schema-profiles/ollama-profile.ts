import { isJsonObject, type JsonObject } from '../../shared/json/json.ts';
import { describeDropped } from './describe-dropped.ts';
import { convertInlined, type FlatSchema } from './schema-walk.ts';
import { typesOf } from '../../shared/json-schema/keywords.ts';

/** Ollama's `ToolProperty` (api/types.go) has `anyOf`, `type`, `items`, `description`, `enum`, `properties` and `required`, and ignores all others. */
const dropped = new Set(
  'default format pattern minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems minProperties maxProperties uniqueItems'.split(
    ' ',
  ),
);

/** References written out, `allOf` merged, `oneOf` as `anyOf`, `const` as the only choice, and the keywords that Ollama ignores in words. */
export function toOllamaParameters(parameters: JsonObject): JsonObject {
  const { properties = {}, required = [], ...rest } = convertInlined(parameters, convertSchema);
  return { ...rest, type: 'object', properties, required };
}

function convertSchema({ schema, types, choices, values, description, convert, convertProperties }: FlatSchema): JsonObject {
  const { type, properties, required, items, prefixItems, additionalProperties: map } = schema;
  const result: JsonObject = {
    ...(type !== undefined && { type }),
    ...description,
    ...(values !== undefined && { enum: values }),
    ...convertProperties(),
    ...(Array.isArray(required) && required.length > 0 && { required }),
    ...(choices !== undefined && { anyOf: choices.map((choice) => convert(choice)) }),
  };
  if (items !== undefined || types.includes('array')) result['items'] = isJsonObject(items) ? convert(items) : {};
  else if (Array.isArray(prefixItems)) result['items'] = { anyOf: prefixItems.map((item) => convert(item)) };
  const notes = isJsonObject(map) && !isJsonObject(properties) ? [mapNote(convert(map))] : [];
  return describeDropped(result, { original: schema, dropped, notes });
}

function mapNote(value: JsonObject): string {
  const [type] = typesOf(value);
  return `Keys of your choice${type === undefined ? '' : `, each value: ${type}`}.`;
}
