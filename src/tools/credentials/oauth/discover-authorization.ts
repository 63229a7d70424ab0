import type { AuthorizationServer, WWWAuthenticateChallengeParameters } from 'oauth4webapi';
import { GatewayError } from '../../../core/errors.ts';
import type { ToolServerRecord } from '../../../core/stores/registry.ts';
import { originOf } from '../../../shared/text/document-url.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import type { DocumentSignIn } from '../../definitions/opened-server.ts';
import {
  firstFound,
  readJson,
  readMetadata,
  refused,
  requireS256,
  serverMetadata,
  shown,
  textAt,
  textsAt,
} from './authorization-metadata.ts';
import { bearerChallenge } from './bearer-challenge.ts';
import { explainSignInFailure } from './oauth-cures.ts';
import type { OAuthFetch } from './oauth-fetch.ts';
import { scopesIn } from '../../definitions/scopes.ts';

/** The discovered authorization server of a tool server. */
export interface FoundAuthorization {
  server: AuthorizationServer;
  /** The server has said itself who it is, by metadata. */
  isIssuerKnown: boolean;
  resource?: string;
  scopes?: readonly string[];
}

/** Each costs time if it does not answer. */
const maxAuthorizationServers = 3;

const protocolVersion = '2025-11-25';
/** The first version without `initialize`: servers that support only this or later versions refuse it. */
const statelessVersion = '2026-07-28';
const clientInfo = { name: 'toolwharf', version: '1' };

/**
 * What servers that demand a sign-in answer with 401: most of them the beginning of the protocol (MCP specification, "Authorization"), others only the list of tools, or
 * calls. The tool does not exist, so that nothing runs.
 */
const probes = [
  { method: 'initialize', params: { protocolVersion, capabilities: {}, clientInfo } },
  { method: 'tools/list', params: {} },
  { method: 'tools/call', params: { name: 'toolwharf_asks_where_to_sign_in', arguments: {} } },
];

/** Part of every request in a stateless version. */
const statelessMeta = {
  'io.modelcontextprotocol/protocolVersion': statelessVersion,
  'io.modelcontextprotocol/clientInfo': clientInfo,
  'io.modelcontextprotocol/clientCapabilities': {},
};

/**
 * The authorization server of an MCP server: the metadata of the resource (RFC 9728) names it, and its own metadata (RFC 8414, OpenID) describes it.
 * @throws GatewayError
 */
export async function discoverForMcp(record: ToolServerRecord, fetch: OAuthFetch): Promise<FoundAuthorization> {
  const { url } = record;
  const challenge = await challengeOf(url, fetch);
  const metadata = await resourceMetadata(url, challenge['resource_metadata'], fetch);
  const resource = metadata === undefined ? url : textAt(metadata, 'resource');
  if (resource === undefined || !isResourceOf(resource, url))
    throw refused(
      record,
      `its metadata is for the resource ${shown(resource ?? 'without a name')} instead of ${url}, so tokens for it could be meant for another server. If that is its address, set it as the url of the tool server; otherwise set oauth.authorize_url and oauth.token_url`,
    );
  const named = textsAt(metadata ?? {}, 'authorization_servers') ?? [];
  const server = await firstServer(record, named.length === 0 ? [new URL('/', url).href] : named, fetch);
  requireS256(record, server, { isListNeeded: true });
  const { authorization_endpoint: authorizeUrl = '', token_endpoint: tokenUrl = '' } = server;
  await metadataOfSignIn(record, { authorizeUrl, tokenUrl }, fetch);
  const scopes = scopesIn(challenge['scope']?.split(' ') ?? textsAt(metadata ?? {}, 'scopes_supported') ?? []);
  return { server, isIssuerKnown: true, resource, scopes };
}

/** People may sign in at any of the authorization servers that a resource names (RFC 9728, section 2). The first one that works is taken. @throws GatewayError */
async function firstServer(record: ToolServerRecord, issuers: readonly string[], fetch: OAuthFetch): Promise<AuthorizationServer> {
  let failure: unknown;
  for (const issuer of issuers.slice(0, maxAuthorizationServers)) {
    try {
      const found = await serverMetadata(issuer, fetch);
      if (found !== undefined) return found;
      failure ??= refused(
        record,
        `its authorization server ${shown(issuer)} has no metadata (RFC 8414). Set oauth.authorize_url and oauth.token_url`,
      );
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure;
}

/** The authorization server that an operator or a document names, with its metadata where it has any. @throws GatewayError */
export async function discoverForApi(record: ToolServerRecord, signIn: DocumentSignIn, fetch: OAuthFetch): Promise<FoundAuthorization> {
  if (signIn.type === 'openIdConnect') {
    const issuer = /^(.*?)\/?\.well-known\/(?:openid-configuration|oauth-authorization-server)$/.exec(signIn.url)?.[1];
    const server = issuer === undefined ? undefined : await readMetadata(signIn.url, issuer, fetch);
    if (server === undefined)
      throw refused(
        record,
        `its document names ${shown(signIn.url)} as its OpenID provider, but no OpenID metadata is there. Set oauth.authorize_url and oauth.token_url`,
      );
    requireS256(record, server, { isListNeeded: false });
    return { server, isIssuerKnown: true, scopes: signIn.scopes };
  }
  const { authorizeUrl, tokenUrl, scopes } = signIn;
  const issuer = originOf(tokenUrl);
  if (issuer === undefined)
    throw refused(record, `the token address ${shown(tokenUrl)} is not an http or https address. Set oauth.token_url`);
  const found = await serverMetadata(issuer, fetch).catch((error: unknown) => {
    // Metadata of another server at this origin does not matter, because the addresses are known.
    if (error instanceof GatewayError && error.code === 'upstream_invalid_response') return undefined;
    throw error;
  });
  const isSame = found?.token_endpoint === tokenUrl && originOf(found.authorization_endpoint ?? '') === originOf(authorizeUrl);
  const server = isSame ? found : await metadataOfSignIn(record, { authorizeUrl, tokenUrl }, fetch);
  if (server === undefined)
    return { server: { issuer, authorization_endpoint: authorizeUrl, token_endpoint: tokenUrl }, isIssuerKnown: false, scopes };
  requireS256(record, server, { isListNeeded: false });
  return { server: { ...server, authorization_endpoint: authorizeUrl }, isIssuerKnown: true, scopes };
}

/**
 * The metadata of the server where people sign in, if it is not the one that takes the codes. A document that sends the codes of one server to the
 * address of another would gain access to people's data at the first.
 * @throws GatewayError unless an operator has named the address
 */
async function metadataOfSignIn(
  record: ToolServerRecord,
  { authorizeUrl, tokenUrl }: { authorizeUrl: string; tokenUrl: string },
  fetch: OAuthFetch,
): Promise<AuthorizationServer | undefined> {
  const issuer = originOf(authorizeUrl);
  if (issuer === undefined || issuer === originOf(tokenUrl)) return undefined;
  // Only browsers may reach it.
  const found = await serverMetadata(issuer, fetch).catch(() => undefined);
  if (found?.authorization_endpoint !== authorizeUrl) return undefined;
  if (found.token_endpoint === tokenUrl) return found;
  if (record.oauth?.tokenUrl !== undefined) return undefined;
  throw refused(
    record,
    `it asks people to sign in at ${issuer} but sends the codes of that server to ${shown(tokenUrl)}, which is not its token address. If this is intended, set oauth.authorize_url and oauth.token_url`,
  );
}

/** The parameters of the `Bearer` challenge with which the server refuses a request without a token; empty if it gives none. */
async function challengeOf(url: string, fetch: OAuthFetch): Promise<WWWAuthenticateChallengeParameters> {
  let inSession: Record<string, string> = {};
  let meta: { _meta?: typeof statelessMeta } = {};
  const send = (fields: { method: string; body?: string }): Promise<Response> =>
    fetch(url, {
      ...fields,
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...inSession },
    });
  try {
    for (const [index, { method, params }] of probes.entries()) {
      const message = { jsonrpc: '2.0', id: index + 1, method, params: { ...params, ...meta } };
      if (meta._meta !== undefined)
        inSession = { ...inSession, 'mcp-method': method, ...('name' in params && { 'mcp-name': params.name }) };
      const asked = send({ method: 'POST', body: JSON.stringify(message) });
      // A server that lists openly may still fail at what follows; its metadata may be at the well-known addresses.
      const response = await (index === 0 ? asked : asked.catch(() => undefined));
      if (response?.status === 401) return await bearerChallenge(response.headers.get('www-authenticate') ?? '');
      // Some refuse a request without a token as one that is not permitted.
      const forbidden = response?.status === 403 ? await bearerChallenge(response.headers.get('www-authenticate') ?? '') : {};
      if (Object.keys(forbidden).length > 0) return forbidden;
      if (response === undefined || response.status >= 500) return {};
      if (index > 0) continue;
      const session = response.headers.get('mcp-session-id');
      const spoken = response.ok ? protocolVersion : statelessVersion;
      if (!response.ok) meta = { _meta: statelessMeta };
      inSession = { 'mcp-protocol-version': spoken, ...(session !== null && { 'mcp-session-id': session }) };
    }
    return {};
  } catch (error) {
    throw explainSignInFailure(error, `The MCP server ${url}`, 'tool server');
  } finally {
    if (inSession['mcp-session-id'] !== undefined) await send({ method: 'DELETE' }).catch(() => undefined);
  }
}

/** From where the challenge says, then from the well-known addresses: by the path of the server, then at its root. Undefined if there is none. */
async function resourceMetadata(url: string, stated: string | undefined, fetch: OAuthFetch): Promise<JsonObject | undefined> {
  const { origin, pathname } = new URL(url);
  const wellKnown = `${origin}/.well-known/oauth-protected-resource`;
  const path = pathname.replace(/\/$/, '');
  const addresses = new Set([...(stated === undefined ? [] : [stated]), `${wellKnown}${path}`, wellKnown]);
  const metadata = await firstFound([...addresses], async (address) => {
    const json = await readJson(address, fetch);
    // Some servers answer every address with an object that says that nothing is there.
    return json !== undefined && (textAt(json, 'resource') ?? textsAt(json, 'authorization_servers')) !== undefined ? json : undefined;
  });
  if (metadata !== undefined || stated === undefined) return metadata;
  throw new GatewayError(
    'upstream_invalid_response',
    `The MCP server ${url} names ${shown(stated)} as its metadata (RFC 9728), but no metadata exists there. Tell its administrator, or set oauth.authorize_url and oauth.token_url of the tool server.`,
  );
}

/** The server itself, or what contains it: the same origin, and its path or the beginning of it. */
function isResourceOf(resource: string, url: string): boolean {
  const parsed = URL.parse(resource);
  // Addresses of tool servers have no query and no fragment.
  if (parsed === null || parsed.origin !== originOf(url) || /[?#]/.test(resource)) return false;
  const inFolder = (path: string): string => (path.endsWith('/') ? path : `${path}/`);
  return inFolder(new URL(url).pathname).startsWith(inFolder(parsed.pathname));
}
