import { isJsonObject } from '../../src/shared/json/json.ts';
import type { JsonObject, JsonValue } from '../../src/shared/json/json.ts';
import type { ToolSpec } from '../../src/core/tools/tool.ts';
import type { Operation } from '../../src/tools/definitions/operation.ts';

/** Where a schema holds others: by name, in a list, or alone. */
const named = new Set(['properties', 'patternProperties', '$defs']);
const listed = new Set(['anyOf', 'allOf', 'prefixItems']);
const single = new Set(['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames']);
const kept = new Set(['type', 'required', 'enum', 'const', '$ref']);

/**
 * Of a function what must not be lost and no word more: its name and description, the names, types, choices and required fields of its arguments,
 * and the descriptions of the operation's parameters. No default, format or limit, and no word about a field of a body. What is repeated is shared as it
 * is in the function. A form that keeps what is asked for takes more tokens than this.
 */
export function leastForm({ spec, bindings }: Operation): ToolSpec {
  const ofBody = new Set(bindings.filter((place) => place.in === 'body').map(({ argument }) => argument));
  const least = withoutWords(spec.parameters);
  const [before, after] = [spec.parameters['properties'], least['properties']];
  if (!isJsonObject(before) || !isJsonObject(after)) return { ...spec, parameters: least };
  for (const [argument, schema] of Object.entries(after)) {
    const own = before[argument];
    if (ofBody.has(argument) || !isJsonObject(own) || !isJsonObject(schema) || own['description'] === undefined) continue;
    after[argument] = { ...schema, description: own['description'] };
  }
  return { ...spec, parameters: least };
}

function withoutWords(schema: JsonObject): JsonObject {
  const entries = Object.entries(schema).flatMap(([key, value]): [string, JsonValue | undefined][] => {
    if (kept.has(key)) return [[key, value]];
    if (named.has(key) && isJsonObject(value))
      return [[key, Object.fromEntries(Object.entries(value).map(([name, child]) => [name, withoutWordsOf(child)]))]];
    if (listed.has(key) && Array.isArray(value)) return [[key, value.map((child) => withoutWordsOf(child) ?? null)]];
    return single.has(key) && isJsonObject(value) ? [[key, withoutWords(value)]] : [];
  });
  return Object.fromEntries(entries);
}

function withoutWordsOf(value: JsonValue | undefined): JsonValue | undefined {
  return isJsonObject(value) ? withoutWords(value) : value;
}
