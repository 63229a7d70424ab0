import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../shared/json/json.ts';

/** The list at a keyword of a schema; empty where there is none. */
export function listOf(schema: JsonObject, key: string): JsonValue[] {
  const value = ownValue(schema, key);
  return Array.isArray(value) ? value : [];
}

/** The schemas in an object at a keyword, such as `patternProperties`. */
export function valuesOf(schema: JsonObject, key: string): JsonValue[] {
  const value = ownValue(schema, key);
  return isJsonObject(value) ? Object.values(value).filter((child) => child !== undefined) : [];
}
