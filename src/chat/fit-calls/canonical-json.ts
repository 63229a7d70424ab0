import { isJsonObject, type JsonValue } from '../../shared/json/json.ts';

/** JSON text with sorted keys, so that equal values give the same text. The value's depth has been checked. */
export function canonicalJson(value: JsonValue): string {
  return JSON.stringify(inOrder(value));
}

function inOrder(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).flatMap(([key, child]): [string, JsonValue][] =>
    child === undefined ? [] : [[key, inOrder(child)]],
  );
  return Object.fromEntries(entries.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
