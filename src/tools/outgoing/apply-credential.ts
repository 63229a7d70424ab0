import type { ToolServerRecord } from '../../core/stores/registry.ts';
import type { CredentialLocation, CredentialSet } from '../definitions/operation.ts';

const defaultKeyHeader = 'x-api-key';
const defaultKeyParameter = 'api_key';
/** Values that a cookie may contain unencoded (RFC 6265 section 4.1.1). */
const cookieValue = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/;

export type Credential = Pick<ToolServerRecord, 'authType' | 'authName' | 'key'> & { headers?: Record<string, string> };

/** The headers and query parameters that carry a connection's key. Header names are in lower case. */
export interface AppliedCredential {
  headers: Record<string, string>;
  query: Record<string, string>;
}

/**
 * Decides where the key of a connection goes. The operator's setting has precedence; if that leaves the name open, the document's security schemes
 * supply it (`security`: one of the sets suffices, with everything in it). A bearer key that no scheme takes as such is also sent where the document
 * expects its API key. Open WebUI's `bearer` without a key sends nothing.
 */
export function applyCredential(connection: Credential, security: readonly CredentialSet[] = []): AppliedCredential {
  const { authType, authName, key } = connection;
  if (key === undefined || key === '') return nothing();
  if (authType === 'oauth') return inHeader('authorization', `Bearer ${key}`);
  // RFC 7617, section 2: user-id ":" password, here in UTF-8.
  if (authType === 'basic') return inHeader('authorization', `Basic ${Buffer.from(key, 'utf8').toString('base64')}`);
  if (authType === 'header' && authName !== undefined) return inHeader(authName, key);
  if (authType === 'query' && authName !== undefined) return { headers: {}, query: { [authName]: key } };
  const unfilled = unfilledSchemes(security, connection.headers ?? {});
  if (authType === 'bearer') return applyBearer(key, unfilled);
  if (authType === 'header') return carry(preferred(unfilled, ['header', 'cookie']) ?? { kind: 'header', name: defaultKeyHeader }, key);
  if (authType === 'query') return carry(preferred(unfilled, ['query']) ?? { kind: 'query', name: defaultKeyParameter }, key);
  return nothing();
}

function applyBearer(key: string, unfilled: readonly CredentialLocation[]): AppliedCredential {
  const bearer = inHeader('authorization', `Bearer ${key}`);
  if (unfilled.some(({ kind }) => kind === 'bearer')) return bearer;
  const authorization = unfilled.find((scheme) => scheme.kind === 'header' && scheme.name.toLowerCase() === 'authorization');
  if (authorization !== undefined) return 'prefix' in authorization ? carry(authorization, key) : bearer;
  const other = preferred(unfilled, ['header', 'cookie', 'query']);
  const additional = other === undefined ? nothing() : carry(other, key);
  return { headers: { ...bearer.headers, ...additional.headers }, query: additional.query };
}

/** The schemes that one key can satisfy: alternatives of which the connection's own headers supply everything else. */
function unfilledSchemes(security: readonly CredentialSet[], headers: Record<string, string>): CredentialLocation[] {
  const sent = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return security.flatMap((set) => {
    const missing = set.filter((scheme) => !isSent(scheme, sent));
    return missing.length === 1 ? missing : [];
  });
}

function isSent(scheme: CredentialLocation, sent: ReadonlyMap<string, string>): boolean {
  if (scheme.kind === 'bearer' || scheme.kind === 'basic') return sent.has('authorization');
  if (scheme.kind === 'header') return sent.has(scheme.name.toLowerCase());
  return scheme.kind === 'cookie' && (sent.get('cookie') ?? '').split(';').some((pair) => pair.trim().startsWith(`${scheme.name}=`));
}

function preferred(unfilled: readonly CredentialLocation[], kinds: readonly CredentialLocation['kind'][]): CredentialLocation | undefined {
  return kinds.map((kind) => unfilled.find((scheme) => scheme.kind === kind)).find((scheme) => scheme !== undefined);
}

function carry(scheme: CredentialLocation, key: string): AppliedCredential {
  switch (scheme.kind) {
    case 'header':
      return inHeader(scheme.name, scheme.prefix === undefined || key.includes(' ') ? key : `${scheme.prefix} ${key}`);
    case 'query':
      return { headers: {}, query: { [scheme.name]: key } };
    case 'cookie':
      return inHeader('cookie', `${scheme.name}=${cookieValue.test(key) ? key : encodeURIComponent(key.toWellFormed())}`);
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
