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
  let level: object[] = isNested(value) ? [value] : [];
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > maxDepth) return true;
    const next: object[] = [];
    for (const node of level) addNested(node, next);
    level = next;
  }
  return false;
}

/** `for…in`, because lists of keys or values take up to four times as long for an object of many keys; JSON inherits nothing that it could find. */
function addNested(node: object, found: object[]): void {
  if (Array.isArray(node)) {
    for (const child of node as unknown[]) if (isNested(child)) found.push(child);
    return;
  }
  const fields = node as Record<string, unknown>;
  for (const key in fields) {
    const child = fields[key];
    if (isNested(child)) found.push(child);
  }
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
