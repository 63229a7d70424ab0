import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../json/json.ts';

/** The value at a reference within a document, `#` or `#/…` (RFC 6901, sections 3 to 6); undefined for other references. */
export function findByPointer(root: JsonObject, reference: string): JsonValue | undefined {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined;
  let found: JsonValue | undefined = root;
  for (const token of reference.split('/').slice(1).map(decodeToken)) {
    if (Array.isArray(found)) found = /^\d{1,9}$/.test(token) ? found[Number(token)] : undefined;
    else found = isJsonObject(found) ? ownValue(found, token) : undefined;
  }
  return found;
}

/** An invalid percent-encoding is taken literally: the name was not encoded. */
function decodeToken(token: string): string {
  let text = token;
  try {
    text = decodeURIComponent(token);
  } catch {
    // Keep the token as it is.
  }
  return text.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** A name as a step of a pointer (RFC 6901, section 3). */
export function escapeStep(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
