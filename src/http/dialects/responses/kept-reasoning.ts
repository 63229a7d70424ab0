import { isJsonObject } from '../../../shared/json.ts';
import type { JsonObject } from '../../../shared/json.ts';

/** Begins what this gateway has written; anything else is of another server. */
const mark = 'tw1.';

/**
 * Reasoning before calls as the backend wants it back with their results: its text in the field in which it came, and further fields such as
 * signatures. Clients return it unread in `encrypted_content`, so nothing has to be kept here. It is not encrypted, since its text is shown anyway.
 */
export function writeReasoning(fields: JsonObject): string {
  return `${mark}${Buffer.from(JSON.stringify(fields)).toString('base64url')}`;
}

/** The fields for the message with the calls that follow. Undefined for what another server has written. */
export function readReasoning(content: string | null | undefined): JsonObject | undefined {
  if (content?.startsWith(mark) !== true) return undefined;
  try {
    const fields: unknown = JSON.parse(Buffer.from(content.slice(mark.length), 'base64url').toString());
    return isJsonObject(fields) ? withoutOwnFields(fields) : undefined;
  } catch {
    return undefined;
  }
}

/** A client could have written them, and these are set from its items. */
function withoutOwnFields(fields: JsonObject): JsonObject {
  const own = new Set(['role', 'content', 'tool_calls']);
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !own.has(key)));
}
