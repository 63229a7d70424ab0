import { exportJWK, exportPKCS8, generateKeyPair } from 'jose';
import { describe, expect, it } from 'vitest';
import { authorizationServer } from '../../_support/authorization-server.ts';
import { protectedApi, protectedMcpServer } from '../../_support/protected-servers.ts';
import { credentialOf, gatewayAddress, oauthClient, oauthRecord, redirectUri } from './oauth-fixture.ts';

describe('signing in at an MCP server with a certified authorization server', () => {
  it('registers, demands PKCE and the resource, and gives a token of the person for that server', async () => {
    const authorization = await authorizationServer();
    const server = await protectedMcpServer(authorization);
    const oauth = oauthClient();
    const record = oauthRecord(server.url);
    const { authorizationUrl, authorizationServer: shown, pending } = await oauth.begin(record, gatewayAddress, 'the state');
    const { searchParams } = new URL(authorizationUrl);
    expect(shown).toBe(authorization.url);
    expect(JSON.parse(JSON.stringify(pending))).toEqual(pending);
    expect(Object.fromEntries(searchParams)).toMatchObject({
      response_type: 'code',
      redirect_uri: redirectUri,
      state: 'the state',
      code_challenge_method: 'S256',
      resource: server.url,
      scope: 'profile.read offline_access',
    });
    const credential = await credentialOf(oauth, record);
    expect(credential).toMatchObject({
      kind: 'oauth',
      resource: server.url,
      binding: { origin: new URL(server.url).origin, authType: 'oauth', issuer: authorization.url },
    });
    expect(await authorization.verify(credential.accessToken, server.url)).toMatchObject({ subject: 'ada' });
    expect(authorization.asked('/reg')).toHaveLength(1);
    expect(credential.expires).toBeGreaterThan(Date.now());
    expect(credential.refreshFrom).toBeLessThan(credential.expires ?? 0);
  });

  it('refreshes with rotation, and knows a sign-in that was ended from a server that is down', async () => {
    const authorization = await authorizationServer();
    const server = await protectedMcpServer(authorization);
    const oauth = oauthClient();
    const record = oauthRecord(server.url);
    const first = await credentialOf(oauth, record);
    const second = await oauth.refresh(record, first);
    if (second === 'refused') throw new Error('It was refused');
    expect(second.accessToken).not.toBe(first.accessToken);
    expect(second.refreshToken).not.toBe(first.refreshToken);
    expect(second.signInId).toBe(first.signInId);
    expect(await authorization.verify(second.accessToken, server.url)).toMatchObject({ subject: 'ada' });
    authorization.failure = 503;
    await expect(oauth.refresh(record, second)).rejects.toMatchObject({ name: 'GatewayError' });
    authorization.failure = undefined;
    await authorization.endAllGrants();
    expect(await oauth.refresh(record, second)).toBe('refused');
  });
});

describe('signing in at an API', () => {
  it.each(['oauth2', 'openIdConnect'] as const)('finds the authorization server by a scheme %s', async (scheme) => {
    const authorization = await authorizationServer();
    const api = await protectedApi(authorization, { scheme });
    const { readSignIn } = await import('../../../src/tools/openapi/document/read-sign-in.ts');
    const document = (await (await fetch(`${api.url}/openapi.json`)).json()) as never;
    const oauth = oauthClient({ signInOf: async () => readSignIn(document) });
    const record = oauthRecord(api.url, { type: 'openapi' });
    const { authorizationUrl } = await oauth.begin(record, gatewayAddress, 'state');
    expect(new URL(authorizationUrl).searchParams.get('resource')).toBeNull();
    const credential = await credentialOf(oauth, record, 'bob');
    expect(await authorization.verify(credential.accessToken)).toMatchObject({ subject: 'bob' });
  });

  it('signs the gateway in as itself', async () => {
    const authorization = await authorizationServer({
      clients: [
        { client_id: 'gateway', client_secret: 'a secret', grant_types: ['client_credentials'], redirect_uris: [], response_types: [] },
      ],
    });
    const server = await protectedMcpServer(authorization);
    const settings = { clientId: 'gateway', clientSecret: 'a secret', scopes: ['profile.read'], grant: 'client_credentials' as const };
    const { accessToken } = await oauthClient().ownToken(oauthRecord(server.url, { oauth: settings }));
    expect(await authorization.verify(accessToken, server.url)).toMatchObject({ subject: 'gateway' });
  });

  it.each<[string, 'pem' | 'jwk', 'ES256' | 'RS256' | 'Ed25519' | 'PS256']>([
    ['an EC key in PEM', 'pem', 'ES256'],
    ['an RSA key in PEM', 'pem', 'RS256'],
    ['an Ed25519 key as a JWK', 'jwk', 'Ed25519'],
    ['an RSA key as a JWK that names PS256', 'jwk', 'PS256'],
  ])('signs the gateway in as itself with %s, which stays with the gateway', async (_what, form, alg) => {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    const named = { kid: 'key 2', alg };
    const clientSecret = form === 'pem' ? await exportPKCS8(privateKey) : JSON.stringify({ ...(await exportJWK(privateKey)), ...named });
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), ...named }] };
    const authorization = await authorizationServer({
      clients: [
        {
          client_id: 'gateway',
          jwks,
          token_endpoint_auth_method: 'private_key_jwt',
          token_endpoint_auth_signing_alg: alg,
          grant_types: ['client_credentials'],
          redirect_uris: [],
          response_types: [],
        },
      ],
    });
    const server = await protectedMcpServer(authorization);
    const settings = { clientId: 'gateway', clientSecret, scopes: ['profile.read'], grant: 'client_credentials' as const };
    const { accessToken } = await oauthClient().ownToken(oauthRecord(server.url, { oauth: settings }));
    expect(await authorization.verify(accessToken, server.url)).toMatchObject({ subject: 'gateway' });
    const sent = JSON.stringify(authorization.asked('/token'));
    expect([sent.includes('client_assertion'), sent.includes(clientSecret.slice(40, 80))]).toEqual([true, false]);
  });
});
