/** JSON as it arrives from outside: nothing is known about it until a schema or a check has said so. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;

/** A JSON object. Read keys of outside objects with `Object.hasOwn`, never by bare lookup of a supplied name. */
export interface JsonObject {
  [key: string]: JsonValue | undefined;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Own properties only, so that `constructor` or `__proto__` of the prototype are never found. */
export function ownValue(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Nesting depth with an early end: `JSON.parse` accepts millions of levels, everything recursive after it does not. */
export function isDeeperThan(value: unknown, maxDepth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (maxDepth <= 0) return true;
  return Object.values(value).some((child) => isDeeperThan(child, maxDepth - 1));
}
