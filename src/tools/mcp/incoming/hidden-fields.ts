import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';

/**
 * Where what the SDK must not see passes it: it refuses a result without structure where the tool has an output schema, and structure that is no object,
 * although the call has run. The gateway checks both itself.
 */
const hiddenKey = 'toolwharf/hidden';

/** The name of a member of `_meta` whose numbers keep their digits. */
export const hiddenMember = hiddenKey;

export function hideOutputSchema({ outputSchema, ...tool }: JsonObject): JsonObject {
  return isJsonObject(outputSchema) ? hide(tool, outputSchema) : tool;
}

export function hideStructure({ structuredContent, ...result }: JsonObject): JsonObject {
  return structuredContent === undefined || structuredContent === null ? result : hide(result, structuredContent);
}

/** A tool with its output schema again. */
export function showOutputSchema(tool: Tool): Tool {
  const [rest, hidden] = take(tool);
  return isJsonObject(hidden) ? { ...rest, outputSchema: hidden } : rest;
}

/** A result with its structure again, which may be any JSON. */
export function showStructure(result: CallToolResult): CallToolResult {
  const [rest, hidden] = take(result);
  return hidden === undefined ? rest : { ...rest, structuredContent: hidden };
}

function hide(object: JsonObject, hidden: JsonValue): JsonObject {
  const { _meta: meta } = object;
  return { ...object, _meta: { ...(isJsonObject(meta) && meta), [hiddenKey]: hidden } };
}

function take<Value extends { _meta?: Record<string, unknown> | undefined }>(value: Value): [Value, JsonValue | undefined] {
  const { [hiddenKey]: hidden, ...meta } = value._meta ?? {};
  if (hidden === undefined) return [value, undefined];
  const { _meta: _all, ...rest } = value;
  return [(Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta }) as Value, hidden as JsonValue];
}
