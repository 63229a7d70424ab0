import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { handMadePeers, metadataOf, secrets } from '../../_support/hand-made-authorization.ts';
import type { Faults } from '../../_support/hand-made-authorization.ts';
import { serveFetch } from '../../_support/protected-servers.ts';
import { changed, gatewayAddress, handMadeSetup, oauthClient, oauthRecord } from './oauth-fixture.ts';

/** Nobody listens there. */
const dead = 'http://127.0.0.1:1';
const issuerIn = ({ authorization_servers: issuers }: JsonObject): string => (issuers as string[])[0] ?? '';
/** The registration that refuses a member of the metadata. */
const refuses =
  (isRefused: (metadata: JsonObject) => boolean): NonNullable<Faults['registration']> =>
  (usual, { body }) =>
    isRefused(JSON.parse(body) as JsonObject) ? Response.json({ error: 'invalid_client_metadata' }, { status: 400 }) : usual;

it.each<[what: string, faults: Faults]>([
  [
    'names its authorization server as a text',
    { resource: changed((json) => ({ ...json, authorization_servers: issuerIn(json), scopes_supported: 'read write' })) },
  ],
  [
    'names the metadata of its authorization server',
    { resource: changed((json) => ({ ...json, authorization_servers: [`${issuerIn(json)}/.well-known/oauth-authorization-server`] })) },
  ],
  [
    'names a dead authorization server before the right one',
    { resource: changed((json) => ({ ...json, authorization_servers: [dead, issuerIn(json)] })) },
  ],
  ['announces PKCE in small letters', { metadata: changed((json) => ({ ...json, code_challenge_methods_supported: ['s256'] })) }],
  [
    'has relative addresses',
    {
      metadata: changed((json) => ({
        ...json,
        authorization_endpoint: '/authorize',
        token_endpoint: '/token',
        registration_endpoint: '/register',
      })),
    },
  ],
  ['registers no refresh tokens', { registration: refuses(({ grant_types: grants }) => String(grants).includes('refresh_token')) }],
  ['knows no type of application', { registration: refuses((metadata) => 'application_type' in metadata) }],
  ['has numbers as ids', { registration: changed((json) => ({ ...json, client_id: 4_711 })) }],
  [
    'answers with a form',
    { token: () => new Response(new URLSearchParams({ access_token: secrets.access, refresh_token: secrets.refresh, scope: 'read' })) },
  ],
  [
    'puts the tokens of people into an object',
    {
      token: () =>
        Response.json({
          ok: true,
          team: { id: 'T1' },
          authed_user: { id: 'U1', access_token: secrets.access, refresh_token: secrets.refresh, scope: 'read', token_type: 'user' },
        }),
    },
  ],
])('people can sign in at a server that %s', async (_what, faults) => {
  const { begin, complete } = await handMadeSetup(faults);
  expect(await complete((await begin()).pending)).toMatchObject({
    accessToken: secrets.access,
    refreshToken: secrets.refresh,
    scopes: ['read'],
  });
});

it('people can sign in at a server that reads the client secret only in the body and does not announce it', async () => {
  let answers = 0;
  const peers = await handMadePeers({
    metadata: () => new Response(null, { status: 404 }),
    token(usual, { params }) {
      answers += 1;
      return params['client_secret'] === 'own secret' ? usual : Response.json({ error: 'invalid_client' }, { status: 401 });
    },
  });
  const own = { clientId: 'own', authorizeUrl: `${peers.issuer}/authorize`, tokenUrl: `${peers.issuer}/token` };
  const oauth = oauthClient();
  const complete = async (clientSecret: string): ReturnType<typeof oauth.complete> => {
    const record = oauthRecord(peers.url, { oauth: { ...own, clientSecret } });
    const { pending } = await oauth.begin(record, gatewayAddress, 'state');
    return oauth.complete(record, pending, new URLSearchParams({ code: secrets.code, state: 'state' }));
  };
  const credential = await complete('own secret');
  expect([credential.client.method, answers]).toEqual(['client_secret_post', 2]);
  await oauth.refresh(oauthRecord(peers.url, { oauth: { ...own, clientSecret: 'own secret' } }), credential);
  expect(answers).toBe(3);
  await expect(complete('another secret')).rejects.toThrow(/invalid_client.*oauth\.client_secret/);
});

it('is discovered from a challenge with 403 too', async () => {
  const peers = await handMadePeers();
  const origin = await serveFetch((request) => {
    if (new URL(request.url).pathname === '/hidden')
      return Response.json({ resource: `${origin}/mcp`, authorization_servers: [peers.issuer] });
    const challenge = `Bearer scope="mail.read", resource_metadata="${origin}/hidden"`;
    return new Response(null, { status: 403, headers: { 'www-authenticate': challenge } });
  });
  const { authorizationUrl } = await oauthClient().begin(oauthRecord(`${origin}/mcp`), gatewayAddress, 'state');
  expect(new URL(authorizationUrl).searchParams.get('scope')).toBe('mail.read');
  expect(authorizationUrl.startsWith(String(metadataOf(peers.issuer)['authorization_endpoint']))).toBe(true);
});
