import type { JsonObject, JsonValue } from '../json/json.ts';

/** Keywords whose members are schemas, by names that the author has chosen. */
export const schemaMaps: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);

/** Keywords with a schema or a list of schemas; `items` has a list in dialects before `prefixItems`. */
export const schemaKeywords: ReadonlySet<string> = new Set([
  'items',
  'additionalProperties',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
  'unevaluatedProperties',
  'allOf',
  'anyOf',
  'oneOf',
  'prefixItems',
]);

/** The types that `type` states, one or several. */
export function typesOf({ type }: JsonObject): string[] {
  return [type].flat().filter((name) => typeof name === 'string');
}

/** The branches of `anyOf`, else of `oneOf`. */
export function choicesOf({ anyOf, oneOf }: JsonObject): JsonValue[] | undefined {
  return [anyOf, oneOf].find(Array.isArray);
}
