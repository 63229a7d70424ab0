import { createHash } from 'node:crypto';
import type { ToolSpec } from '../../core/tools/tool.ts';
import type { JsonObject } from '../../shared/json/json.ts';

/** By the parameters, which are the same object in every request. */
const schemaHashes = new WeakMap<JsonObject, string>();

export function hashOf(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(value) ?? '')
    .digest('base64');
}

/** Identifies a schema by its content, wherever it comes from. */
export function hashSchema(parameters: JsonObject): string {
  const known = schemaHashes.get(parameters);
  if (known !== undefined) return known;
  const hash = hashOf(parameters);
  schemaHashes.set(parameters, hash);
  return hash;
}

/** Identifies all functions of an offer together. */
export function hashOffer(tools: readonly ToolSpec[]): string {
  return hashOf(tools.map(({ name, parameters }) => [name, hashSchema(parameters)]));
}
