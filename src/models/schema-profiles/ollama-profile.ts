import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { isJsonObject } from '../../shared/json.ts';
import { notesOn, withNotes } from './describe-keywords.ts';
import { convertInlined, withoutAllOf } from './schema-walk.ts';

/** Ollama's `ToolProperty` (api/types.go) has `anyOf`, `type`, `items`, `description`, `enum`, `properties` and `required`, and drops the rest unread. */
const bounds = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'];
const lengths = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties', 'uniqueItems'];
const dropped = new Set(['default', 'format', 'pattern', 'additionalProperties', ...bounds, ...lengths]);

/** References written out, `allOf` as one, `oneOf` as `anyOf`, `const` as a choice of one, and what would be dropped in words. */
export function toOllamaParameters(parameters: JsonObject): JsonObject {
  const converted = convertInlined(parameters, convert);
  return { ...converted, type: 'object', properties: converted['properties'] ?? {}, required: converted['required'] ?? [] };
}

function convert(schema: JsonObject, child: (schema: JsonValue | undefined) => JsonObject): JsonObject {
  // A branch comes back converted: what it said is in words already.
  const whole = withoutAllOf(schema, child);
  const { type, description, properties, required, items, prefixItems } = whole;
  const choices = [whole['anyOf'], whole['oneOf']].find(Array.isArray);
  const fixed = whole['const'];
  const list = Array.isArray(whole['enum']) ? whole['enum'] : fixed === undefined ? undefined : [fixed];
  const result: JsonObject = {
    ...(type !== undefined && { type }),
    ...(typeof description === 'string' && { description }),
    ...(list !== undefined && { enum: list }),
    ...(isJsonObject(properties) && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, child(one)])),
    }),
    ...(Array.isArray(required) && required.length > 0 && { required }),
    ...(choices !== undefined && { anyOf: choices.map((choice) => child(choice)) }),
  };
  const stated = [type].flat();
  if (items !== undefined || stated.includes('array')) result['items'] = isJsonObject(items) ? child(items) : {};
  else if (Array.isArray(prefixItems)) result['items'] = { anyOf: prefixItems.map((item) => child(item)) };
  const map = whole['additionalProperties'];
  const keys = isJsonObject(map) && !isJsonObject(properties) ? [mapNote(child(map))] : [];
  return withNotes(result, [...notesOn({ ...whole, additionalProperties: undefined }, dropped), ...keys]);
}

function mapNote(value: JsonObject): string {
  const [type] = [value['type']].flat();
  return typeof type === 'string' ? `Keys of your choice, each value: ${type}.` : 'Keys of your choice.';
}
