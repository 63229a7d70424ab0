import { expect, it } from 'vitest';
import type { OAuthSettings } from '../../../src/core/stores/registry.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { serveFetch } from '../../_support/protected-servers.ts';
import { gatewayAddress, oauthClient, oauthRecord } from './oauth-fixture.ts';

/** One request to a provider: its path, and the parameters of its query or form. */
interface Asked {
  path: string;
  params: Record<string, string>;
  headers: Headers;
}

/** A provider as it answers, at the origin of its MCP server. */
interface Provider {
  connection: (origin: string) => OAuthSettings;
  /** Undefined: 404. */
  answer: (asked: Asked, origin: string) => Response | undefined;
  /** Of the address where people sign in. */
  asks: Record<string, string | null>;
  scopes: string[];
  refreshes: boolean;
}

const client = { clientId: 'gateway', clientSecret: 'secret-of-the-gateway' };
const tokens = (fields: JsonObject): Response => Response.json({ access_token: 'token', token_type: 'Bearer', ...fields });
const metadata = (issuer: string, fields: JsonObject = {}): Response =>
  Response.json({
    issuer,
    authorization_endpoint: `${issuer.replace(/\/$/, '')}/authorize`,
    token_endpoint: `${issuer.replace(/\/$/, '')}/token`,
    code_challenge_methods_supported: ['S256'],
    ...fields,
  });

const calendar = 'https://www.googleapis.com/auth/calendar.readonly';
const providers: Record<string, Provider> = {
  Google: {
    connection: (origin) => ({
      ...client,
      authorizeUrl: `${origin}/o/oauth2/v2/auth`,
      tokenUrl: `${origin}/token`,
      scopes: [calendar],
      resource: false,
      authorizeParameters: { access_type: 'offline', prompt: 'consent' },
    }),
    answer: ({ path }) => (path === '/token' ? tokens({ expires_in: 3_599, refresh_token: '1//refresh', scope: calendar }) : undefined),
    asks: { access_type: 'offline', prompt: 'consent', resource: null, scope: calendar },
    scopes: [calendar],
    refreshes: true,
  },
  'Microsoft Entra ID': {
    connection: (origin) => ({
      ...client,
      authorizeUrl: `${origin}/tenant/oauth2/v2.0/authorize`,
      tokenUrl: `${origin}/tenant/oauth2/v2.0/token`,
      scopes: ['api://server/access', 'offline_access'],
      resource: false,
    }),
    answer({ path, params }) {
      if (path !== '/tenant/oauth2/v2.0/token') return undefined;
      // AADSTS9010010: a resource beside scopes of another form.
      if (params['resource'] !== undefined) return Response.json({ error: 'invalid_target', error_codes: [9_010_010] }, { status: 400 });
      return tokens({ expires_in: 4_521, ext_expires_in: 4_521, refresh_token: '1.refresh', scope: 'api://server/access' });
    },
    asks: { resource: null, scope: 'api://server/access offline_access' },
    scopes: ['api://server/access'],
    refreshes: true,
  },
  Auth0: {
    connection: () => ({ ...client, scopes: ['read:notes', 'offline_access'], authorizeParameters: { audience: 'https://notes.example' } }),
    answer({ path }, origin) {
      if (path === '/.well-known/oauth-protected-resource/mcp')
        return Response.json({ resource: `${origin}/mcp`, authorization_servers: [origin] });
      if (path === '/.well-known/openid-configuration') return metadata(`${origin}/`);
      return path === '/token'
        ? tokens({ expires_in: 86_400, refresh_token: 'v1.refresh', scope: 'read:notes offline_access' })
        : undefined;
    },
    asks: { audience: 'https://notes.example', scope: 'read:notes offline_access' },
    scopes: ['read:notes', 'offline_access'],
    refreshes: true,
  },
  Keycloak: {
    connection: () => ({}),
    answer({ path }, origin) {
      const realm = `${origin}/realms/main`;
      if (path === '/.well-known/oauth-protected-resource/mcp')
        return Response.json({ resource: `${origin}/mcp`, authorization_servers: [realm], scopes_supported: ['notes'] });
      if (path === '/realms/main/.well-known/openid-configuration')
        return metadata(realm, { registration_endpoint: `${realm}/clients`, authorization_response_iss_parameter_supported: true });
      if (path === '/realms/main/clients')
        return Response.json(
          { client_id: 'registered', client_secret: 'secret-of-keycloak', registration_access_token: 'x' },
          { status: 201 },
        );
      if (path !== '/realms/main/token') return undefined;
      return tokens({ expires_in: 300, refresh_expires_in: 1_800, refresh_token: 'refresh', 'not-before-policy': 0, scope: 'notes' });
    },
    asks: { client_id: 'registered', scope: 'notes' },
    scopes: ['notes'],
    refreshes: true,
  },
  'Cloudflare workers-oauth-provider': {
    connection: () => ({}),
    answer({ path }, origin) {
      if (path === '/.well-known/oauth-authorization-server')
        return metadata(origin, { registration_endpoint: `${origin}/register`, code_challenge_methods_supported: ['plain', 'S256'] });
      if (path === '/register')
        return Response.json(
          { client_id: 'registered', client_secret: 'secret-of-the-worker', token_endpoint_auth_method: 'client_secret_basic' },
          { status: 201 },
        );
      return path === '/token' ? tokens({ token_type: 'bearer', expires_in: 3_600, refresh_token: 'a:b:c', scope: '' }) : undefined;
    },
    asks: { client_id: 'registered', scope: null },
    scopes: [],
    refreshes: true,
  },
  GitHub: {
    connection: (origin) => ({
      ...client,
      authorizeUrl: `${origin}/login/oauth/authorize`,
      tokenUrl: `${origin}/login/oauth/access_token`,
      scopes: ['repo', 'read:user'],
    }),
    answer({ path, headers }) {
      if (path !== '/login/oauth/access_token') return undefined;
      // Without this header it answers with a form.
      if (headers.get('accept') !== 'application/json') return new Response('access_token=token&scope=repo&token_type=bearer');
      return tokens({ token_type: 'bearer', scope: 'repo,read:user' });
    },
    asks: { client_id: 'gateway', scope: 'repo read:user' },
    scopes: ['repo', 'read:user'],
    refreshes: false,
  },
};

it.each(Object.entries(providers))('people can sign in at %s with the connection of the documentation', async (_name, provider) => {
  const origin: string = await serveFetch(async (request) => {
    const { pathname: path, searchParams } = new URL(request.url);
    if (path === '/mcp') return new Response(null, { status: 401, headers: { 'www-authenticate': 'Bearer' } });
    const form = new URLSearchParams(await request.text());
    const params = Object.fromEntries([...searchParams, ...form]);
    return provider.answer({ path, params, headers: request.headers }, origin) ?? new Response(null, { status: 404 });
  });
  const record = oauthRecord(`${origin}/mcp`, { oauth: provider.connection(origin) });
  const oauth = oauthClient();
  const { authorizationUrl, pending } = await oauth.begin(record, gatewayAddress, 'state');
  const { searchParams } = new URL(authorizationUrl);
  expect(Object.fromEntries(Object.keys(provider.asks).map((name) => [name, searchParams.get(name)]))).toEqual(provider.asks);
  const back = new URLSearchParams({ code: 'code', state: 'state', ...(pending.namesIssuer && { iss: pending.issuer }) });
  const credential = await oauth.complete(record, pending, back);
  expect([credential.accessToken, credential.scopes]).toEqual(['token', provider.scopes]);
  expect(credential.refreshToken !== undefined).toBe(provider.refreshes);
  const refreshed = await oauth.refresh(record, credential);
  expect(refreshed === 'refused' ? refreshed : refreshed.accessToken).toBe(provider.refreshes ? 'token' : 'refused');
});
