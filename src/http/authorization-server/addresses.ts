import type { JsonObject } from '../../shared/json/json.ts';

/** The only scope: a program may do at `/mcp` what the person may do there. */
export const mcpScope = 'mcp';

/** Beneath the address at which people reach the gateway. */
export const paths = {
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  register: '/oauth/register',
  revoke: '/oauth/revoke',
  consent: '/oauth/consent',
} as const;

const resourceDocument = '/.well-known/oauth-protected-resource';
const serverDocument = '/.well-known/oauth-authorization-server';

/** What access tokens are for (RFC 8707). `publicUrl`: `PUBLIC_URL`. */
export function mcpResource(publicUrl: string): string {
  return `${publicUrl}/mcp`;
}

/** For the `WWW-Authenticate` header of a 401 at `/mcp` (RFC 9728, section 5.1). */
export function mcpChallenge(publicUrl: string): string {
  return `resource_metadata="${publicUrl}${resourceDocument}/mcp", scope="${mcpScope}"`;
}

/** RFC 9728. `issuer`: whose tokens `/mcp` takes. */
export function resourceMetadata(publicUrl: string, issuer: string): JsonObject {
  return {
    resource: mcpResource(publicUrl),
    authorization_servers: [issuer],
    scopes_supported: [mcpScope],
    bearer_methods_supported: ['header'],
    resource_name: 'toolwharf',
  };
}

/** RFC 8414, with RFC 9207 and client metadata documents. */
export function serverMetadata(publicUrl: string): JsonObject {
  return {
    issuer: publicUrl,
    authorization_endpoint: `${publicUrl}${paths.authorize}`,
    token_endpoint: `${publicUrl}${paths.token}`,
    registration_endpoint: `${publicUrl}${paths.register}`,
    revocation_endpoint: `${publicUrl}${paths.revoke}`,
    scopes_supported: [mcpScope],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: [...clientAuthMethods],
    revocation_endpoint_auth_methods_supported: [...clientAuthMethods],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  };
}

/** `token_endpoint_auth_method`. */
export const clientAuthMethods = ['none', 'client_secret_basic', 'client_secret_post'] as const;

/** The addresses at the root of the host at which clients look for the documents if `PUBLIC_URL` has a path, and where the gateway has them. */
export function documentsAtRoot(publicUrl: string): { path: string; target: string }[] {
  const below = pathOf(publicUrl);
  if (below === '') return [];
  return [
    { path: `${serverDocument}${below}`, target: serverDocument },
    { path: `${resourceDocument}${below}/mcp`, target: `${resourceDocument}/mcp` },
  ];
}

/** The path of `PUBLIC_URL`; empty for most. */
export function pathOf(publicUrl: string): string {
  return new URL(publicUrl).pathname.replace(/\/$/, '');
}
