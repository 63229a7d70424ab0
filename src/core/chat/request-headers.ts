/**
 * A header of the request that a caller has sent, by its name in lower case, for tool servers that may have it. Undefined for one that was not sent, and
 * for one that says who is asking (`mayForward`).
 */
export type ReadRequestHeader = (name: string) => string | undefined;

/** Headers that let a caller in, and cookies. They are good for the gateway alone: whoever gets one can act as the caller. */
const credentialHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'cookie',
  'cookie2',
  'set-cookie',
  'sec-websocket-protocol',
]);

/** Headers that describe the connection or the body of the caller's request, which a call to a tool server does not share. */
const ownOfRequest: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'accept',
  'accept-encoding',
]);

/** Open WebUI names people in headers that begin so; a key may name others (`PeopleRule`). */
const personPrefix = 'x-openwebui-user-';
const requestPrefixes = ['content-', 'sec-websocket-', 'mcp-', personPrefix];

/** Why a connection may not ask for this header of callers; the end of a sentence. Undefined if it may. `name`: in lower case. */
export function whyNotForwarded(name: string): string | undefined {
  if (credentialHeaders.has(name))
    return 'lets the caller in, and is never forwarded; use auth_type, or per_user for a credential of each person';
  if (name.startsWith(personPrefix)) return 'names the person, and is never forwarded; use {{USER_ID}} in headers';
  if (ownOfRequest.has(name) || requestPrefixes.some((prefix) => name.startsWith(prefix)))
    return "belongs to the caller's own request, and cannot be forwarded";
  return undefined;
}
