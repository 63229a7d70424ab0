import { processDiscoveryResponse, type AuthorizationServer } from 'oauth4webapi';
import { GatewayError } from '../../../core/errors.ts';
import type { ToolServerRecord } from '../../../core/stores/registry.ts';
import { originOf } from '../../../shared/text/document-url.ts';
import { isJsonObject, ownValue, type JsonObject } from '../../../shared/json/json.ts';
import { withoutUndefined } from '../../../shared/json/without-undefined.ts';
import { explainSignInFailure } from './oauth-cures.ts';
import type { OAuthFetch } from './oauth-fetch.ts';

/** Limits for a text and a list in metadata: far more than addresses and names need. */
const maxCharacters = 2_000;
const maxEntries = 1_000;

/** At the well-known addresses, in the order of the MCP specification; undefined if there is none. @throws GatewayError */
export async function serverMetadata(named: string, fetch: OAuthFetch): Promise<AuthorizationServer | undefined> {
  // Some name the address of the metadata.
  const issuer = named.replace(/\/\.well-known\/(?:oauth-authorization-server|openid-configuration)(?=\/|$)/, '');
  const parsed = URL.parse(issuer);
  if (parsed === null || (parsed.protocol !== 'https:' && parsed.protocol !== 'http:')) return undefined;
  const { origin, pathname } = parsed;
  const path = pathname.replace(/\/$/, '');
  const addresses = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    ...(path === '' ? [] : [`${origin}${path}/.well-known/openid-configuration`]),
  ];
  return firstFound(addresses, (address) => readMetadata(address, issuer, fetch));
}

/** Faults of one address: it fails, or redirects. */
const passingFaults: ReadonlySet<string> = new Set(['upstream_error', 'upstream_unreachable']);

/** What is first found at the addresses. One that fails does not hide the next; if none has anything, the first failure counts. @throws GatewayError */
export async function firstFound<Found>(
  addresses: readonly string[],
  read: (address: string) => Promise<Found | undefined>,
): Promise<Found | undefined> {
  let failure: GatewayError | undefined;
  for (const address of addresses) {
    try {
      const found = await read(address);
      if (found !== undefined) return found;
    } catch (error) {
      // A refusal of the gateway's own is final, and who does not answer in time would only be waited for again.
      if (!(error instanceof GatewayError) || !passingFaults.has(error.code)) throw error;
      failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
  return undefined;
}

/** Undefined if there is none. @throws GatewayError, also if it is that of another issuer */
export async function readMetadata(address: string, issuer: string, fetch: OAuthFetch): Promise<AuthorizationServer | undefined> {
  const json = await readJson(address, fetch);
  if (json === undefined || !isMetadata(json)) return undefined;
  const stated = textAt(json, 'issuer');
  try {
    const expected = stated !== undefined && isSameButForSlash(stated, issuer) ? stated : issuer;
    return await processDiscoveryResponse(new URL(expected), Response.json(metadataIn(json, address)));
  } catch {
    throw new GatewayError(
      'upstream_invalid_response',
      `${address} is the metadata of the authorization server ${shown(stated ?? 'without a name')} instead of ${issuer}. It was not used, because one server must not speak for another. Ask its administrator to correct the issuer. Until then, set oauth.authorize_url and oauth.token_url of the tool server.`,
    );
  }
}

/** Some servers answer every address with an object that says that nothing is there. */
function isMetadata(json: JsonObject): boolean {
  return ['issuer', 'authorization_endpoint', 'token_endpoint'].some((name) => textAt(json, name) !== undefined);
}

/** Servers write their own name with and without the last slash. Both are the same server: the same origin and path. */
function isSameButForSlash(one: string, other: string): boolean {
  return one.replace(/\/$/, '') === other.replace(/\/$/, '');
}

/**
 * The members that the gateway uses (RFC 8414, section 2, and OpenID providers), with addresses that are relative to that of the metadata completed. Members
 * of other types or excessive length are ignored.
 */
function metadataIn(json: JsonObject, address: string): JsonObject {
  const texts = [
    'issuer',
    'authorization_endpoint',
    'token_endpoint',
    'registration_endpoint',
    'revocation_endpoint',
    'end_session_endpoint',
  ];
  const lists = [
    'scopes_supported',
    'token_endpoint_auth_methods_supported',
    'prompt_values_supported',
    'id_token_signing_alg_values_supported',
  ];
  const flags = ['authorization_response_iss_parameter_supported', 'client_id_metadata_document_supported'];
  const methods = ownValue(json, 'code_challenge_methods_supported') ?? undefined;
  const complete = (text: string | undefined): string | undefined =>
    text?.startsWith('/') === true ? URL.parse(text, address)?.href : text;
  return withoutUndefined({
    ...Object.fromEntries(texts.map((name) => [name, complete(textAt(json, name))])),
    ...Object.fromEntries(lists.map((name) => [name, textsAt(json, name)])),
    ...Object.fromEntries(flags.map((name) => [name, ownValue(json, name) === true])),
    // Anything but a list announces nothing.
    code_challenge_methods_supported:
      methods && (textsAt(json, 'code_challenge_methods_supported') ?? []).map((name) => (name === 's256' ? 'S256' : name)),
  });
}

/** Undefined for an answer that says that nothing is there, and for one that is no JSON. @throws GatewayError when the server fails */
export async function readJson(address: string, fetch: OAuthFetch): Promise<JsonObject | undefined> {
  const who = `The server at ${originOf(address) ?? 'an invalid address'}`;
  let response;
  try {
    response = await fetch(address, { headers: { accept: 'application/json' } });
  } catch (error) {
    throw explainSignInFailure(error, who, 'metadata');
  }
  if (response.status >= 500)
    throw new GatewayError(
      'upstream_error',
      `${who} failed with HTTP ${response.status} when it was asked for its metadata. Try again later, or set oauth.authorize_url and oauth.token_url of the tool server.`,
    );
  if (response.status !== 200) return undefined;
  const json: unknown = await response.json().catch(() => undefined);
  return isJsonObject(json) ? json : undefined;
}

/** PKCE with S256 has to be announced where people sign in; `isListNeeded`: a server that announces nothing is refused too. @throws GatewayError */
export function requireS256(record: ToolServerRecord, server: AuthorizationServer, { isListNeeded }: { isListNeeded: boolean }): void {
  const methods = server.code_challenge_methods_supported;
  const isAnnounced = methods === undefined ? !isListNeeded : methods.includes('S256');
  if (isAnnounced || record.oauth?.grant === 'client_credentials') return;
  throw refused(
    record,
    `its authorization server ${server.issuer} does not announce PKCE with S256, so an intercepted code could be used by others. If it supports S256 all the same, as Microsoft Entra ID does, set oauth.authorize_url and oauth.token_url`,
  );
}

/** Both addresses, checked: a document could name any scheme, and a browser would follow. @throws GatewayError */
export function requireEndpoint(record: ToolServerRecord, server: AuthorizationServer): { authorize: string; token: string } {
  const { authorization_endpoint: authorize = '', token_endpoint: token = '' } = server;
  const schemes = record.url.startsWith('http:') ? ['https:', 'http:'] : ['https:'];
  if ([authorize, token].every((address) => schemes.includes(URL.parse(address)?.protocol ?? ''))) return { authorize, token };
  throw new GatewayError(
    'upstream_invalid_response',
    `The authorization server ${server.issuer} of the tool server "${record.id}" has no https address for signing in. Set oauth.authorize_url and oauth.token_url.`,
  );
}

export function refused({ id }: ToolServerRecord, reason: string): GatewayError {
  return new GatewayError('upstream_invalid_response', `Nobody can sign in at the tool server "${id}": ${reason}.`);
}

export function textAt(object: JsonObject, key: string): string | undefined {
  const value = ownValue(object, key);
  return typeof value === 'string' && value.length <= maxCharacters ? value : undefined;
}

/** Undefined for anything but a list, or the text separated by spaces that some servers write instead. */
export function textsAt(object: JsonObject, key: string): string[] | undefined {
  const given = ownValue(object, key);
  const value = typeof given === 'string' ? given.split(' ').filter((text) => text !== '') : given;
  if (!Array.isArray(value)) return undefined;
  return value.filter((entry): entry is string => typeof entry === 'string' && entry.length <= maxCharacters).slice(0, maxEntries);
}

/** Texts of servers are shown in part. */
export function shown(text: string): string {
  return text.slice(0, 200);
}
