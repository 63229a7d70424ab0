import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { OutboundResponse, SendOutbound } from '../../../src/core/outbound.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { parseToolServerConnection } from '../../../src/storage/tool-server-connection.ts';
import { outboundBody } from '../../_support/outbound-body.ts';
import { gatewayAddress, oauthClient } from './oauth-fixture.ts';

/** One request to a provider, or to the MCP server behind it. */
interface Asked {
  /** Without its query. */
  url: string;
  /** Of its query or form. */
  params: Record<string, string>;
  headers: Headers;
}

/** A provider as it answers. */
interface Provider {
  /** Undefined: 404. */
  answer: (asked: Asked) => Response | undefined;
  /** Where people sign in. */
  signsInAt: string;
  /** Of that address. */
  asks: Record<string, string | null>;
  scopes: string[];
  refreshes: boolean;
}

const mcp = 'https://mcp.example';
const resourceMetadata = `${mcp}/.well-known/oauth-protected-resource/mcp`;

const tokens = (fields: JsonObject): Response => Response.json({ access_token: 'token', token_type: 'Bearer', ...fields });
const protectedBy = (issuer: string, fields: JsonObject = {}): Response =>
  Response.json({ resource: `${mcp}/mcp`, authorization_servers: [issuer], ...fields });
const metadata = (issuer: string, fields: JsonObject = {}): Response =>
  Response.json({
    issuer,
    authorization_endpoint: `${issuer.replace(/\/$/, '')}/authorize`,
    token_endpoint: `${issuer.replace(/\/$/, '')}/token`,
    code_challenge_methods_supported: ['S256'],
    ...fields,
  });

const calendar = 'https://www.googleapis.com/auth/calendar.readonly';
const entra = 'https://login.microsoftonline.com/tenant/oauth2/v2.0';
const auth0 = 'https://tenant.auth0.com';
const okta = 'https://tenant.okta.com/oauth2/default';
const realm = 'https://keycloak.example/realms/main';
const signingIn = ['S256', 'plain'];

/** By the rows of docs/connecting.md. */
const providers: Record<string, Provider> = {
  Google: {
    answer({ url }) {
      // The metadata is at the origin where people sign in, not at that of the tokens.
      if (url === 'https://accounts.google.com/.well-known/openid-configuration')
        return metadata('https://accounts.google.com', {
          authorization_endpoint: 'https://accounts.google.com/o/oauth2/v2/auth',
          token_endpoint: 'https://oauth2.googleapis.com/token',
          revocation_endpoint: 'https://oauth2.googleapis.com/revoke',
          code_challenge_methods_supported: signingIn,
        });
      if (url !== 'https://oauth2.googleapis.com/token') return undefined;
      return tokens({ expires_in: 3_599, refresh_token: '1//refresh', scope: calendar, refresh_token_expires_in: 604_799 });
    },
    signsInAt: 'https://accounts.google.com/o/oauth2/v2/auth',
    asks: { access_type: 'offline', prompt: 'consent', resource: null, scope: calendar },
    scopes: [calendar],
    refreshes: true,
  },
  'Microsoft Entra ID': {
    answer({ url, params }) {
      if (url !== `${entra}/token`) return undefined;
      // AADSTS9010010: a resource beside scopes of another form.
      if (params['resource'] !== undefined) return Response.json({ error: 'invalid_target', error_codes: [9_010_010] }, { status: 400 });
      return tokens({ expires_in: 4_521, ext_expires_in: 4_521, refresh_token: '1.refresh', scope: 'api://app/access' });
    },
    signsInAt: `${entra}/authorize`,
    asks: { resource: null, scope: 'api://app/access offline_access' },
    scopes: ['api://app/access'],
    refreshes: true,
  },
  Auth0: {
    answer({ url }) {
      if (url === resourceMetadata) return protectedBy(auth0);
      // It calls itself by a name with a slash.
      if (url === `${auth0}/.well-known/openid-configuration`) return metadata(`${auth0}/`, { token_endpoint: `${auth0}/oauth/token` });
      if (url !== `${auth0}/oauth/token`) return undefined;
      return tokens({ expires_in: 86_400, refresh_token: 'v1.refresh', scope: 'read:notes offline_access' });
    },
    signsInAt: `${auth0}/authorize`,
    asks: { audience: 'https://notes.example', scope: 'read:notes offline_access' },
    scopes: ['read:notes', 'offline_access'],
    refreshes: true,
  },
  Okta: {
    answer({ url, params }) {
      if (url === resourceMetadata) return protectedBy(okta);
      // Beneath the path of its issuer only.
      if (url === `${okta}/.well-known/openid-configuration`)
        return metadata(okta, { authorization_endpoint: `${okta}/v1/authorize`, token_endpoint: `${okta}/v1/token` });
      if (url !== `${okta}/v1/token`) return undefined;
      return params['audience'] === undefined
        ? tokens({ expires_in: 3_600, refresh_token: 'refresh', scope: 'offline_access read:notes' })
        : undefined;
    },
    signsInAt: `${okta}/v1/authorize`,
    asks: { audience: null, scope: 'read:notes offline_access' },
    scopes: ['offline_access', 'read:notes'],
    refreshes: true,
  },
  Keycloak: {
    answer({ url }) {
      if (url === resourceMetadata) return protectedBy(realm, { scopes_supported: ['notes'] });
      if (url === `${realm}/.well-known/openid-configuration`)
        return metadata(realm, {
          authorization_endpoint: `${realm}/protocol/openid-connect/auth`,
          token_endpoint: `${realm}/protocol/openid-connect/token`,
          registration_endpoint: `${realm}/clients-registrations/openid-connect`,
          authorization_response_iss_parameter_supported: true,
          code_challenge_methods_supported: signingIn,
        });
      if (url === `${realm}/clients-registrations/openid-connect`)
        return Response.json(
          { client_id: 'registered', client_secret: 'secret-of-keycloak', registration_access_token: 'x' },
          { status: 201 },
        );
      if (url !== `${realm}/protocol/openid-connect/token`) return undefined;
      return tokens({ expires_in: 300, refresh_expires_in: 1_800, refresh_token: 'refresh', 'not-before-policy': 0, scope: 'notes' });
    },
    signsInAt: `${realm}/protocol/openid-connect/auth`,
    asks: { client_id: 'registered', scope: 'notes' },
    scopes: ['notes'],
    refreshes: true,
  },
  "Cloudflare's `workers-oauth-provider`": {
    answer({ url }) {
      if (url === `${mcp}/.well-known/oauth-authorization-server`)
        return metadata(mcp, {
          registration_endpoint: `${mcp}/register`,
          // One address for both.
          revocation_endpoint: `${mcp}/token`,
          code_challenge_methods_supported: ['plain', 'S256'],
        });
      if (url === `${mcp}/register`)
        return Response.json(
          { client_id: 'registered', client_secret: 'secret-of-the-worker', token_endpoint_auth_method: 'client_secret_basic' },
          { status: 201 },
        );
      return url === `${mcp}/token` ? tokens({ token_type: 'bearer', expires_in: 3_600, refresh_token: 'a:b:c', scope: '' }) : undefined;
    },
    signsInAt: `${mcp}/authorize`,
    asks: { client_id: 'registered', scope: null },
    scopes: [],
    refreshes: true,
  },
  GitHub: {
    answer({ url, headers }) {
      if (url !== 'https://github.com/login/oauth/access_token') return undefined;
      // Without this header it answers with a form.
      if (headers.get('accept') !== 'application/json') return new Response('access_token=token&scope=repo&token_type=bearer');
      return tokens({ token_type: 'bearer', scope: 'repo,read:user' });
    },
    signsInAt: 'https://github.com/login/oauth/authorize',
    asks: { client_id: 'gateway', scope: 'repo read:user' },
    scopes: ['repo', 'read:user'],
    refreshes: false,
  },
};

/** The connections that docs/connecting.md tells people to write, by provider; with an own client where it has a placeholder. */
function documentedConnections(): Map<string, unknown> {
  const page = readFileSync(new URL('../../../docs/connecting.md', import.meta.url), 'utf8');
  const [, section = ''] = page.split('\n## By provider\n');
  const rows = [...(section.split('\n## ')[0] ?? '').matchAll(/^\| (.+?) \| (?:`(\{.*?\})`|none)(?:[,.;] .*)? \|$/gm)];
  const filled = (text: string): string =>
    text
      .replace('"client_id": "…"', '"client_id": "gateway"')
      .replace('"client_secret": "…"', '"client_secret": "secret-of-the-gateway"')
      .replaceAll(/<(\w+)>/g, '$1');
  return new Map(rows.map(([, name = '', oauth]) => [name, oauth === undefined ? undefined : JSON.parse(filled(oauth))]));
}

async function* piecesOf(response: Response): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(await response.arrayBuffer());
}

/** The network with this provider and an MCP server in it. */
function networkOf({ answer }: Provider): { send: SendOutbound; verifiers: (string | undefined)[] } {
  const verifiers: (string | undefined)[] = [];
  return {
    verifiers,
    async send({ url: asked, headers, body }): Promise<OutboundResponse> {
      const { origin, pathname, searchParams } = new URL(asked);
      const url = `${origin}${pathname}`;
      const params = Object.fromEntries([...searchParams, ...new URLSearchParams(typeof body === 'string' ? body : '')]);
      if (params['grant_type'] === 'authorization_code') verifiers.push(params['code_verifier']);
      const response =
        url === `${mcp}/mcp`
          ? new Response(null, { status: 401, headers: { 'www-authenticate': 'Bearer' } })
          : (answer({ url, params, headers: new Headers(headers) }) ?? new Response(null, { status: 404 }));
      return { status: response.status, headers: Object.fromEntries(response.headers), body: outboundBody(piecesOf(response)) };
    },
  };
}

const documented = documentedConnections();

it('the documentation has a connection for each provider that is simulated here, and for no other', () => {
  expect([...documented.keys()].toSorted()).toEqual(Object.keys(providers).toSorted());
});

it.each(Object.entries(providers))('people can sign in at %s with the connection of the documentation', async (name, provider) => {
  const oauthOf = documented.get(name);
  const record = parseToolServerConnection(
    { id: 'mail', type: 'mcp', url: `${mcp}/mcp`, auth_type: 'oauth', ...(oauthOf !== undefined && { oauth: oauthOf }) },
    'file',
  );
  const { send, verifiers } = networkOf(provider);
  const oauth = oauthClient({ send });
  const { authorizationUrl, pending } = await oauth.begin(record, gatewayAddress, 'state');
  const { origin, pathname, searchParams } = new URL(authorizationUrl);
  expect(`${origin}${pathname}`).toBe(provider.signsInAt);
  expect(searchParams.get('code_challenge_method')).toBe('S256');
  expect(Object.fromEntries(Object.keys(provider.asks).map((asked) => [asked, searchParams.get(asked)]))).toEqual(provider.asks);
  const back = new URLSearchParams({ code: 'code', state: 'state', ...(pending.namesIssuer && { iss: pending.issuer }) });
  const credential = await oauth.complete(record, pending, back);
  expect(verifiers).toEqual([pending.verifier]);
  expect([credential.accessToken, credential.scopes]).toEqual(['token', provider.scopes]);
  expect(credential.refreshToken !== undefined).toBe(provider.refreshes);
  const refreshed = await oauth.refresh(record, credential);
  expect(refreshed === 'refused' ? refreshed : refreshed.accessToken).toBe(provider.refreshes ? 'token' : 'refused');
});
