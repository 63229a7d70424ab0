import type { jsonSchemaValidator } from '@modelcontextprotocol/client';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv';
import { isDeeperThan, isJsonObject } from '../../core/json.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';
import { limits } from '../../core/limits.ts';

/** Regular expressions of a server, run over the server's own text, can block the gateway for as long as it likes. */
const leftOut = new Set(['pattern', 'patternProperties', 'format', 'propertyNames']);
/** Keywords below which names are the server's own, so that a property may be called `pattern`. */
const named = new Set(['properties', '$defs', 'definitions', 'dependentSchemas']);

/** Checks structured results against the output schema of their tool. A schema beyond the limits checks nothing. */
export function createStructuredResultValidator(): jsonSchemaValidator {
  const engine = new AjvJsonSchemaValidator();
  return {
    getValidator<T>(schema: Parameters<jsonSchemaValidator['getValidator']>[0]) {
      const size = JSON.stringify(schema).length;
      if (size > limits.mcpSchemaBytes || isDeeperThan(schema, limits.jsonDepth))
        return (value: unknown) => ({ valid: true as const, data: value as T, errorMessage: undefined });
      return engine.getValidator<T>(withoutPatterns(schema as JsonObject) as typeof schema);
    },
  };
}

/** Recursion ends with the depth that was checked before. */
function withoutPatterns(schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return schema.map(withoutPatterns);
  if (!isJsonObject(schema)) return schema;
  const entries = Object.entries(schema).flatMap(([key, value]) => {
    if (leftOut.has(key) || value === undefined) return [];
    if (!named.has(key) || !isJsonObject(value)) return [[key, withoutPatterns(value)]];
    return [[key, Object.fromEntries(Object.entries(value).map(([name, child]) => [name, withoutPatterns(child ?? true)]))]];
  });
  return Object.fromEntries(entries) as JsonObject;
}
