import { processDiscoveryResponse, processRevocationResponse, WWWAuthenticateChallengeError } from 'oauth4webapi';
import type { AuthorizationServer, WWWAuthenticateChallengeParameters } from 'oauth4webapi';
import { GatewayError } from '../../core/errors.ts';
import type { ToolServerRecord } from '../../core/registry.ts';
import { originOf } from '../../shared/document-url.ts';
import { isJsonObject, ownValue } from '../../shared/json.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { DocumentSignIn } from '../openapi/load/read-sign-in.ts';
import { explainOAuthFailure } from './oauth-failure.ts';
import type { OAuthFetch } from './oauth-fetch.ts';

/** What is known of the authorization server of a tool server. */
export interface FoundAuthorization {
  server: AuthorizationServer;
  /** The server has said itself who it is, by metadata. */
  isIssuerKnown: boolean;
  resource?: string;
  scopes?: readonly string[];
}

/** The beginning of the protocol, which servers that demand a sign-in answer with 401 (MCP specification, "Authorization"). */
const probe = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'toolwharf', version: '1' } },
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
      `its metadata is for the resource ${shown(resource ?? 'without a name')} instead of ${url}, so tokens for it could be meant for another server`,
    );
  const [issuer = new URL('/', url).href] = textsAt(metadata ?? {}, 'authorization_servers');
  const server = await serverMetadata(issuer, fetch);
  if (server === undefined)
    throw refused(record, `its authorization server ${shown(issuer)} has no metadata (RFC 8414). Set authorize_url and token_url in oauth`);
  requireS256(record, server, { isListNeeded: true });
  const scopes = challenge['scope']?.split(' ').filter((scope) => scope !== '') ?? textsAt(metadata ?? {}, 'scopes_supported');
  return { server, isIssuerKnown: true, resource, scopes };
}

/** The authorization server that an operator or a document names, with its metadata where it has any. @throws GatewayError */
export async function discoverForApi(record: ToolServerRecord, signIn: DocumentSignIn, fetch: OAuthFetch): Promise<FoundAuthorization> {
  if (signIn.type === 'openIdConnect') {
    const issuer = /^(.*?)\/?\.well-known\/(?:openid-configuration|oauth-authorization-server)$/.exec(signIn.url)?.[1];
    const server = issuer === undefined ? undefined : await readMetadata(signIn.url, issuer, fetch);
    if (server === undefined)
      throw refused(
        record,
        `its document names ${shown(signIn.url)}, which is not the metadata of an OpenID provider. Set authorize_url and token_url in oauth`,
      );
    requireS256(record, server, { isListNeeded: false });
    return { server, isIssuerKnown: true, scopes: signIn.scopes };
  }
  const { authorizeUrl, tokenUrl, scopes } = signIn;
  const issuer = originOf(tokenUrl);
  if (issuer === undefined)
    throw refused(record, `the token address ${shown(tokenUrl)} is not an http or https address. Set token_url in oauth`);
  const found = await serverMetadata(issuer, fetch).catch((error: unknown) => {
    // Whoever else lives there does not matter: the addresses were given.
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
 * The metadata of the server where people sign in, if that is another one than takes the codes. A document that has the codes of a server sent to an
 * address that is not this server's would get what people have at that server.
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
    `its document has people sign in at ${issuer}, and the codes of that server sent to ${shown(tokenUrl)}, which is not its token address. If that is meant so, set authorize_url and token_url in oauth`,
  );
}

/** The parameters of the `Bearer` challenge with which the server refuses a request without a token; empty if it gives none. */
async function challengeOf(url: string, fetch: OAuthFetch): Promise<WWWAuthenticateChallengeParameters> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify(probe),
  }).catch((error: unknown) => {
    throw explainOAuthFailure(error, `The MCP server ${url}`);
  });
  if (response.status !== 401) return {};
  try {
    // Of this library only the check of an answer reads challenges.
    await processRevocationResponse(response);
  } catch (error) {
    if (error instanceof WWWAuthenticateChallengeError) return error.cause.find(({ scheme }) => scheme === 'bearer')?.parameters ?? {};
  }
  return {};
}

/** From where the challenge says, else from the well-known addresses: by the path of the server, then at its root. Undefined if there is none. */
async function resourceMetadata(url: string, stated: string | undefined, fetch: OAuthFetch): Promise<JsonObject | undefined> {
  const { origin, pathname } = new URL(url);
  const wellKnown = `${origin}/.well-known/oauth-protected-resource`;
  const path = pathname.replace(/\/$/, '');
  const addresses = stated === undefined ? [...new Set([`${wellKnown}${path}`, wellKnown])] : [stated];
  for (const address of addresses) {
    const metadata = await readJson(address, fetch);
    if (metadata !== undefined) return metadata;
  }
  if (stated === undefined) return undefined;
  throw new GatewayError(
    'upstream_invalid_response',
    `The MCP server ${url} names ${shown(stated)} as its metadata (RFC 9728), and there is none. Tell whoever runs it, or set authorize_url and token_url in oauth.`,
  );
}

/** At the well-known addresses, in the order of the MCP specification; undefined if there is none. @throws GatewayError */
async function serverMetadata(issuer: string, fetch: OAuthFetch): Promise<AuthorizationServer | undefined> {
  const parsed = URL.parse(issuer);
  if (parsed === null || (parsed.protocol !== 'https:' && parsed.protocol !== 'http:')) return undefined;
  const { origin, pathname } = parsed;
  const path = pathname.replace(/\/$/, '');
  const addresses = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    ...(path === '' ? [] : [`${origin}${path}/.well-known/openid-configuration`]),
  ];
  for (const address of addresses) {
    const server = await readMetadata(address, issuer, fetch);
    if (server !== undefined) return server;
  }
  return undefined;
}

/** Undefined if there is none. @throws GatewayError, also if it is that of another issuer */
async function readMetadata(address: string, issuer: string, fetch: OAuthFetch): Promise<AuthorizationServer | undefined> {
  const json = await readJson(address, fetch);
  if (json === undefined) return undefined;
  try {
    return await processDiscoveryResponse(new URL(issuer), Response.json(json));
  } catch {
    throw new GatewayError(
      'upstream_invalid_response',
      `${address} is the metadata of the authorization server ${shown(textAt(json, 'issuer') ?? 'without a name')} instead of ${issuer}, and is not used: one server must not speak for another. Whoever runs it has to correct its issuer.`,
    );
  }
}

/** Undefined for an answer that says that nothing is there, and for one that is no JSON. @throws GatewayError when the server fails */
async function readJson(address: string, fetch: OAuthFetch): Promise<JsonObject | undefined> {
  const who = `The server at ${originOf(address) ?? 'an address that is none'}`;
  let response;
  try {
    response = await fetch(address, { headers: { accept: 'application/json' } });
  } catch (error) {
    throw explainOAuthFailure(error, who);
  }
  if (response.status >= 500)
    throw new GatewayError(
      'upstream_error',
      `${who} failed with HTTP ${response.status} when it was asked for its metadata. Try again later.`,
    );
  if (response.status !== 200) return undefined;
  const json: unknown = await response.json().catch(() => undefined);
  return isJsonObject(json) ? json : undefined;
}

/** PKCE with S256 has to be announced; `isListNeeded`: a server that announces nothing is refused too. */
function requireS256(record: ToolServerRecord, server: AuthorizationServer, { isListNeeded }: { isListNeeded: boolean }): void {
  const methods = server.code_challenge_methods_supported;
  if (methods === undefined ? !isListNeeded : Array.isArray(methods) && methods.includes('S256')) return;
  throw refused(
    record,
    `its authorization server ${server.issuer} does not announce PKCE with S256, without which a code that is stolen on its way can be used`,
  );
}

/** The server itself, or what contains it: the same origin, and its path or the beginning of it. */
function isResourceOf(resource: string, url: string): boolean {
  if (originOf(resource) === undefined || originOf(resource) !== originOf(url)) return false;
  const inFolder = (path: string): string => (path.endsWith('/') ? path : `${path}/`);
  return inFolder(new URL(url).pathname).startsWith(inFolder(new URL(resource).pathname));
}

function refused({ id }: ToolServerRecord, reason: string): GatewayError {
  return new GatewayError('upstream_invalid_response', `Nobody can sign in at the tool server "${id}": ${reason}.`);
}

function textAt(object: JsonObject, key: string): string | undefined {
  const value = ownValue(object, key);
  return typeof value === 'string' ? value : undefined;
}

function textsAt(object: JsonObject, key: string): string[] {
  const value = ownValue(object, key);
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : [];
}

/** Whatever a server says is shown in part. */
function shown(text: string): string {
  return text.slice(0, 200);
}
