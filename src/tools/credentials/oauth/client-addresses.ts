import { hash } from 'node:crypto';
import type { AuthorizationServer } from 'oauth4webapi';
import type { JsonObject } from '../../../shared/json/json.ts';

/** Beneath the address at which people reach the gateway. */
const redirectPath = '/oauth/callback';
const metadataPath = '/oauth/client-metadata';

/** 128 bits of a digest in base64url, so that nobody finds another issuer with the same ones. */
const markCharacters = 22;
const markPattern = /^[\w-]{22}$/;

/**
 * Stands in the redirect address, and in the id of the gateway, for an authorization server that does not announce that its answers name it. At an address
 * of its own, the answer of another server is known for what it is (RFC 9700, section 4.4.2.2). Undefined for any other server.
 */
export function issuerMarkOf(
  server: Pick<AuthorizationServer, 'issuer' | 'authorization_response_iss_parameter_supported'>,
): string | undefined {
  if (server.authorization_response_iss_parameter_supported === true) return undefined;
  return hash('sha256', server.issuer, 'base64url').slice(0, markCharacters);
}

/** `address`: of the gateway. */
export function redirectUriOf(address: string, issuerMark?: string): string {
  return `${address}${redirectPath}${issuerMark === undefined ? '' : `/${issuerMark}`}`;
}

/** The id of the gateway at authorization servers that take an address: there they read `clientMetadata`. `publicUrl`: PUBLIC_URL, with https. */
export function clientIdAt(publicUrl: string, issuerMark?: string): string {
  return `${publicUrl}${metadataPath}${issuerMark === undefined ? '.json' : `/${issuerMark}`}`;
}

/** The gateway's description of itself as a client (OAuth Client ID Metadata Document). Undefined for an invalid mark. */
export function clientMetadata(publicUrl: string, issuerMark?: string): JsonObject | undefined {
  if (issuerMark !== undefined && !markPattern.test(issuerMark)) return undefined;
  return {
    client_id: clientIdAt(publicUrl, issuerMark),
    client_uri: publicUrl,
    ...aboutClient(redirectUriOf(publicUrl, issuerMark)),
    token_endpoint_auth_method: 'none',
  };
}

/** Sent to every authorization server. */
export function aboutClient(redirectUri: string): JsonObject & { redirect_uris: string[] } {
  return {
    client_name: 'toolwharf',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    // OpenID Connect Dynamic Client Registration 1.0, section 2: only native clients have http addresses, on loopback.
    application_type: redirectUri.startsWith('https:') ? 'web' : 'native',
  };
}
