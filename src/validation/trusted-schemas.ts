import type { JsonObject } from '../shared/json/json.ts';

const trusted = new WeakSet<JsonObject>();

/**
 * Marks the schema of a function that the operator installed, or that the gateway has itself: it is compiled on the main thread without a trial in a
 * worker. The mark belongs to this object, so nothing that arrives as JSON can have it.
 */
export function trustSchema<Schema extends JsonObject>(schema: Schema): Schema {
  trusted.add(schema);
  return schema;
}

export function isTrustedSchema(schema: JsonObject): boolean {
  return trusted.has(schema);
}
