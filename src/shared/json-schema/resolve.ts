import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../json/json.ts';
import { findByPointer } from './pointer.ts';

/** References that lead to references. Real chains have two or three; a longer one is taken for a circle. */
export const maxHops = 32;

/** A property may be called `$ref` too: only a text is a reference. */
export function referenceOf(schema: JsonObject): string | undefined {
  const reference = ownValue(schema, '$ref');
  return typeof reference === 'string' ? reference : undefined;
}

/**
 * The schema that a chain of references ends at, or the schema itself if it has none. Undefined if the chain leads nowhere or in a circle. Keywords
 * beside a reference are ignored. Neither the schema nor the root may change afterwards.
 */
export function resolveSchema(schema: JsonValue | undefined, root: JsonObject): JsonValue | undefined {
  if (!isJsonObject(schema) || referenceOf(schema) === undefined) return schema;
  const known = targets.get(root) ?? new WeakMap<JsonObject, JsonValue | undefined>();
  targets.set(root, known);
  if (!known.has(schema)) known.set(schema, followReferences(schema, root));
  return known.get(schema);
}

/** By root: a reference may have megabytes, and be followed for each of thousands of values. */
const targets = new WeakMap<JsonObject, WeakMap<JsonObject, JsonValue | undefined>>();

function followReferences(schema: JsonObject, root: JsonObject): JsonValue | undefined {
  let current: JsonValue | undefined = schema;
  for (let hop = 0; hop <= maxHops; hop += 1) {
    const reference = isJsonObject(current) ? referenceOf(current) : undefined;
    if (reference === undefined) return current;
    current = findByPointer(root, reference);
  }
  return undefined;
}
