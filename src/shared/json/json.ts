import { ExactNumber } from './exact-number.ts';

/** JSON from outside, untrusted until it is validated. */
export type JsonValue = string | number | ExactNumber | boolean | null | JsonValue[] | JsonObject;

/** A JSON object. Read keys of outside objects with `Object.hasOwn`, never by bare lookup of a supplied name. */
export interface JsonObject {
  [key: string]: JsonValue | undefined;
}

/** JSON whose numbers are JavaScript numbers, as functions and hooks of an operator get it and return it. */
export type PlainJsonValue = string | number | boolean | null | PlainJsonValue[] | PlainJsonObject;

export interface PlainJsonObject {
  [key: string]: PlainJsonValue | undefined;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
}

/** Whether it is an array or an object, which hold other values. */
export function isContainer(value: unknown): value is JsonValue[] | JsonObject {
  return typeof value === 'object' && value !== null && !(value instanceof ExactNumber);
}

/** Own properties only, so that `constructor` or `__proto__` of the prototype are never found. */
export function ownValue(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Empty for anything but a text. */
export function textIn(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** Stops at the first level too many. `JSON.parse` accepts millions of levels, but recursive code after it does not. */
export function isDeeperThan(value: unknown, maxDepth: number): boolean {
  if (!isContainer(value)) return false;
  let level: object[] = [value];
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > maxDepth) return true;
    const next: object[] = [];
    for (const node of level) addNested(node, next);
    level = next;
  }
  return false;
}

/** Counts lists, objects, and what is in them; stops at the first one too many. */
export function hasMoreEntriesThan(value: unknown, maxEntries: number): boolean {
  let entries = 0;
  for (let level: object[] = isContainer(value) ? [value] : []; level.length > 0;) {
    const next: object[] = [];
    for (const node of level) {
      entries += Array.isArray(node) ? node.length : Object.keys(node).length;
      if (entries > maxEntries) return true;
      addNested(node, next);
    }
    level = next;
  }
  return false;
}

/** `for…in` is up to four times faster than `Object.values` on large objects; parsed JSON has no inherited enumerable properties. */
function addNested(node: object, found: object[]): void {
  if (Array.isArray(node)) {
    for (const child of node as unknown[]) if (typeof child === 'object' && isContainer(child)) found.push(child);
    return;
  }
  const fields = node as Record<string, unknown>;
  for (const key in fields) {
    const child = fields[key];
    // Most are texts and numbers.
    if (typeof child === 'object' && isContainer(child)) found.push(child);
  }
}

/**
 * A deep copy of plain data. As `structuredClone`, it keeps what is shared, so that a document with aliases does not grow; unlike it, it keeps an
 * `ExactNumber`.
 */
export function copyJson<Value>(value: Value): Value {
  return copy(value, new Map()) as Value;
}

function copy(value: unknown, known: Map<object, unknown>): unknown {
  if (!isContainer(value)) return value;
  const before = known.get(value);
  if (before !== undefined) return before;
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    known.set(value, list);
    for (const entry of value) list.push(copy(entry, known));
    return list;
  }
  const object: Record<string, unknown> = {};
  known.set(value, object);
  for (const [key, child] of Object.entries(value)) setOwn(object, key, copy(child, known));
  return object;
}

function setOwn(object: Record<string, unknown>, key: string, value: unknown): void {
  // An assignment would set the prototype.
  if (key === '__proto__') Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  else object[key] = value;
}
