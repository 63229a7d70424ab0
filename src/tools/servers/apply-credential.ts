import type { ToolServerRecord } from '../../core/registry.ts';
import type { CredentialPlace, CredentialSet } from '../openapi/operation.ts';

const defaultKeyHeader = 'x-api-key';
const defaultKeyParameter = 'api_key';
/** Values that a cookie may hold as they are (RFC 6265 section 4.1.1). */
const cookieValue = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/;

export type Credential = Pick<ToolServerRecord, 'authType' | 'authName' | 'key'> & { headers?: Record<string, string> };

/** What carries the key of a connection. Header names in lower case. */
export interface AppliedCredential {
  headers: Record<string, string>;
  query: Record<string, string>;
}

/**
 * Where the key of a connection goes. What the operator said comes first; where that leaves the name open, the document's security schemes give it
 * (`security`: any of the sets, all of a set). A bearer key that no scheme takes as such is sent at the place of the document's API key as well.
 * Open WebUI's `bearer` without a key sends nothing.
 */
export function applyCredential(connection: Credential, security: readonly CredentialSet[] = []): AppliedCredential {
  const { authType, authName, key } = connection;
  if (key === undefined || key === '') return nothing();
  // RFC 7617, section 2: user-id ":" password, here in UTF-8.
  if (authType === 'basic') return inHeader('authorization', `Basic ${Buffer.from(key, 'utf8').toString('base64')}`);
  if (authType === 'header' && authName !== undefined) return inHeader(authName, key);
  if (authType === 'query' && authName !== undefined) return { headers: {}, query: { [authName]: key } };
  const open = openPlaces(security, connection.headers ?? {});
  if (authType === 'bearer') return placeBearer(key, open);
  if (authType === 'header') return placed(preferred(open, ['header', 'cookie']) ?? { kind: 'header', name: defaultKeyHeader }, key);
  if (authType === 'query') return placed(preferred(open, ['query']) ?? { kind: 'query', name: defaultKeyParameter }, key);
  return nothing();
}

function placeBearer(key: string, open: readonly CredentialPlace[]): AppliedCredential {
  const bearer = inHeader('authorization', `Bearer ${key}`);
  if (open.some(({ kind }) => kind === 'bearer')) return bearer;
  const authorization = open.find((place) => place.kind === 'header' && place.name.toLowerCase() === 'authorization');
  if (authorization !== undefined) return 'prefix' in authorization ? placed(authorization, key) : bearer;
  const other = preferred(open, ['header', 'cookie', 'query']);
  const also = other === undefined ? nothing() : placed(other, key);
  return { headers: { ...bearer.headers, ...also.headers }, query: also.query };
}

/** The places that one key can fill: the alternatives of which the connection's own headers hold everything else. */
function openPlaces(security: readonly CredentialSet[], headers: Record<string, string>): CredentialPlace[] {
  const sent = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return security.flatMap((together) => {
    const missing = together.filter((place) => !isSent(place, sent));
    return missing.length === 1 ? missing : [];
  });
}

function isSent(place: CredentialPlace, sent: ReadonlyMap<string, string>): boolean {
  if (place.kind === 'bearer' || place.kind === 'basic') return sent.has('authorization');
  if (place.kind === 'header') return sent.has(place.name.toLowerCase());
  return place.kind === 'cookie' && (sent.get('cookie') ?? '').split(';').some((pair) => pair.trim().startsWith(`${place.name}=`));
}

function preferred(open: readonly CredentialPlace[], kinds: readonly CredentialPlace['kind'][]): CredentialPlace | undefined {
  return kinds.map((kind) => open.find((place) => place.kind === kind)).find((place) => place !== undefined);
}

function placed(place: CredentialPlace, key: string): AppliedCredential {
  switch (place.kind) {
    case 'header':
      return inHeader(place.name, place.prefix === undefined || key.includes(' ') ? key : `${place.prefix} ${key}`);
    case 'query':
      return { headers: {}, query: { [place.name]: key } };
    case 'cookie':
      return inHeader('cookie', `${place.name}=${cookieValue.test(key) ? key : encodeURIComponent(key.toWellFormed())}`);
    case 'bearer':
    case 'basic':
      return inHeader('authorization', `Bearer ${key}`);
  }
}

function inHeader(name: string, value: string): AppliedCredential {
  return { headers: { [name.toLowerCase()]: value }, query: {} };
}

function nothing(): AppliedCredential {
  return { headers: {}, query: {} };
}
