import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../../shared/json/json.ts';
import type { Spend } from '../../conversion-budget.ts';
import { resolveReference } from '../../document/resolve-references.ts';
import { referenceOf } from '../../../../shared/json-schema/resolve.ts';
import { listOf } from './schema-keywords.ts';

/**
 * What each branch of `anyOf` or `oneOf` has to say besides itself: where a discriminator tells them apart (OpenAPI 3.1.1, section 4.8.25), which
 * value is its own. `discriminator` is no word of JSON Schema, and without the value a model could only guess it. `undefined` where the branch
 * says it itself, or nothing is to be said.
 */
export function choiceTags(
  schema: JsonObject,
  key: 'anyOf' | 'oneOf',
  { document, spend }: { document: JsonObject; spend: Spend },
): (JsonObject | undefined)[] {
  const discriminator = ownValue(schema, 'discriminator');
  const property = isJsonObject(discriminator) ? ownValue(discriminator, 'propertyName') : undefined;
  if (!isJsonObject(discriminator) || typeof property !== 'string' || property === '') return [];
  const named = valuesByReference(ownValue(discriminator, 'mapping'), spend);
  return listOf(schema, key).map((branch) => {
    const reference = isJsonObject(branch) ? referenceOf(branch) : undefined;
    if (reference === undefined) return undefined;
    spend(2);
    const last = reference.slice(reference.lastIndexOf('/') + 1);
    const values = named.get(reference) ?? named.get(last) ?? [last];
    if (saysItself({ document, reference, property }, spend)) return undefined;
    return { type: 'object', properties: { [property]: { type: 'string', enum: values } } };
  });
}

/** What is to be merged with a branch: a closed one stays closed, and one that has no room for the name stays as it is. */
export function tagFitting(branch: JsonObject, tag: JsonObject | undefined): JsonObject | undefined {
  if (tag === undefined || branch['additionalProperties'] !== false) return tag;
  const own = isJsonObject(branch['properties']) ? branch['properties'] : {};
  const names = isJsonObject(tag['properties']) ? Object.keys(tag['properties']) : [];
  return names.every((name) => Object.hasOwn(own, name)) ? { ...tag, additionalProperties: false } : undefined;
}

/** A mapping names schemas by reference or only by name. */
function valuesByReference(mapping: JsonValue | undefined, spend: Spend): Map<string, string[]> {
  const values = new Map<string, string[]>();
  for (const [value, target] of Object.entries(isJsonObject(mapping) ? mapping : {})) {
    spend(1);
    if (typeof target === 'string') values.set(target, [...(values.get(target) ?? []), value]);
  }
  return values;
}

interface Branch {
  document: JsonObject;
  reference: string;
  property: string;
}

/** Whether a schema, or a part that it has beside its base, says what the value of the property is. */
export function saysItself({ document, reference, property }: Branch, spend: Spend): boolean {
  const target = resolveReference(document, reference, spend);
  if (!isJsonObject(target)) return false;
  return [target, ...listOf(target, 'allOf').filter(isJsonObject)].some((part) => {
    const properties = ownValue(part, 'properties');
    const own = isJsonObject(properties) ? ownValue(properties, property) : undefined;
    return isJsonObject(own) && ['const', 'enum', '$ref', 'allOf'].some((word) => own[word] !== undefined);
  });
}
