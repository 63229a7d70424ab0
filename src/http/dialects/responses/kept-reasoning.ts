import type { JsonObject } from '../../../shared/json/json.ts';
import type { ReturnedJson } from '../requests/returned-json.ts';

/** The first characters of what this gateway has written; another server wrote anything else. */
const mark = 'tw1.';

/**
 * Reasoning before calls as the backend wants it back with their results: its text in the field in which it came, and further fields such as
 * signatures. Clients return it unread in `encrypted_content`, so nothing has to be stored here. It is not encrypted, since its text is shown anyway.
 */
export function writeReasoning(fields: JsonObject): string {
  return `${mark}${Buffer.from(JSON.stringify(fields)).toString('base64url')}`;
}

/** The fields for the message with the calls that follow. Undefined for reasoning that another server has written. `returned`: shared by all items of the request. */
export function readReasoning(content: string | null | undefined, returned: ReturnedJson): JsonObject | undefined {
  if (content?.startsWith(mark) !== true) return undefined;
  const fields = returned.read(Buffer.from(content.slice(mark.length), 'base64url'));
  return fields && withoutOwnFields(fields);
}

/** A client could have written them, and these are set from its items. */
function withoutOwnFields(fields: JsonObject): JsonObject {
  const own = new Set(['role', 'content', 'tool_calls']);
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !own.has(key)));
}
