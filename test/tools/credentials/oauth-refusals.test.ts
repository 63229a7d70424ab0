import { afterEach, describe, expect, it } from 'vitest';
import { createOutbound } from '../../../src/policy/outbound/outbound-request.ts';
import { createOAuthClient } from '../../../src/tools/credentials/oauth/oauth-client.ts';
import { clientMetadata } from '../../../src/tools/credentials/oauth/client-addresses.ts';
import { revokeTokens } from '../../../src/tools/credentials/oauth/revoke-tokens.ts';
import { secrets, trap } from '../../_support/hand-made-authorization.ts';
import type { Faults } from '../../_support/hand-made-authorization.ts';
import { memoryStores } from '../../_support/memory-stores.ts';
import { changed, handMadeSetup, oauthRecord, redirectUri } from './oauth-fixture.ts';
import type { HandMadeSetup } from './oauth-fixture.ts';
import { oauthAnswerBytes } from '../../../src/tools/credentials/oauth/oauth-fetch.ts';
import { oauthTokenCharacters } from '../../../src/tools/credentials/oauth/openid-client.ts';

let door = createOutbound({ egress: { mode: 'none', allow: [] } });
afterEach(async () => {
  await door.close();
  door = createOutbound({ egress: { mode: 'none', allow: [] } });
});

const setup = (faults?: Faults, publicUrl?: string, fields?: Parameters<typeof oauthRecord>[1]): Promise<HandMadeSetup> =>
  handMadeSetup(faults, { send: door.send, publicUrl, fields });

/** Of the connection, or a setting of the gateway. */
const fieldThatHelps = /\boauth\.[a-z_]+|\burl of the tool server|PUBLIC_URL|TOOL_SERVER_ALLOW/;

describe('beginning a sign-in', () => {
  it('works where nothing is wrong, and the whole way', async () => {
    const { peers, begin, complete } = await setup();
    const { pending, authorizationUrl } = await begin();
    expect(authorizationUrl.startsWith(`${peers.issuer}/authorize?`)).toBe(true);
    expect(await complete(pending)).toMatchObject({ accessToken: secrets.access, refreshToken: secrets.refresh, scopes: ['read'] });
    expect(peers.seenBy('token')[0]?.params).toMatchObject({
      code: secrets.code,
      code_verifier: pending.verifier,
      redirect_uri: redirectUri,
      resource: peers.url,
    });
  });

  it.each<[string, Faults, RegExp]>([
    [
      'metadata for another resource',
      { resource: changed((json) => ({ ...json, resource: 'http://127.0.0.1:9/mcp' })) },
      /for the resource/,
    ],
    [
      'metadata for a longer path',
      { resource: changed((json) => ({ ...json, resource: `${String(json['resource'])}/other` })) },
      /for the resource/,
    ],
    ['another issuer', { metadata: changed((json) => ({ ...json, issuer: 'https://evil.test' })) }, /evil\.test.* instead of/],
    ['PKCE without S256', { metadata: changed((json) => ({ ...json, code_challenge_methods_supported: ['plain'] })) }, /PKCE with S256/],
    ['no word of PKCE', { metadata: changed(({ code_challenge_methods_supported: _methods, ...json }) => json) }, /PKCE with S256/],
    [
      'a script to sign in at',
      { metadata: changed((json) => ({ ...json, authorization_endpoint: 'javascript:alert(1)' })) },
      /no https address/,
    ],
    ['no metadata', { metadata: () => new Response(null, { status: 404 }) }, /has no metadata .*Set oauth\.authorize_url/],
    ['no metadata where it points', { resource: () => new Response(null, { status: 404 }) }, /no metadata exists there/],
    ['a failing server', { metadata: () => new Response(null, { status: 503 }) }, /HTTP 503/],
    ['metadata of too many values', { metadata: () => new Response(`{"x":[${'[],'.repeat(6_000)}[]]}`) }, /more than 5000 values/],
    ['metadata that is nested too deep', { metadata: () => new Response(`${'['.repeat(100)}${']'.repeat(100)}`) }, /or 64 levels/],
    ['endless metadata', { metadata: () => new Response('x'.repeat(oauthAnswerBytes + 1)) }, /more than 1048576 bytes/],
    ['no registration', { metadata: changed(({ registration_endpoint: _endpoint, ...json }) => json) }, /set oauth\.client_id/],
    [
      'a refused registration',
      { registration: () => Response.json({ error: 'invalid_redirect_uri', error_description: 'CANARY' }, { status: 400 }) },
      /"invalid_redirect_uri"/,
    ],
  ])('is refused with %s', async (_what, faults, message) => {
    const { begin } = await setup(faults);
    const error = (await begin().catch((thrown: unknown) => thrown)) as Error;
    expect(error).toMatchObject({ name: 'GatewayError', message: expect.stringMatching(message) });
    expect(error.message).toMatch(fieldThatHelps);
    expect(error.message).not.toContain('CANARY');
  });

  it('follows no redirect, of metadata, registration or token', async () => {
    const there = await trap();
    const away = (): Response => new Response(null, { status: 307, headers: { location: `${there.url}/token` } });
    for (const part of ['resource', 'metadata', 'registration'] as const) {
      const { begin } = await setup({ [part]: away });
      await expect(begin()).rejects.toThrow('Redirects are not followed');
    }
    const { begin, complete } = await setup({ token: away });
    await expect(complete((await begin()).pending)).rejects.toThrow('Redirects are not followed');
    expect(there.seen).toEqual([]);
  });

  it('from a public server leads nowhere private', async () => {
    const there = await trap();
    const requests: string[] = [];
    const oauth = createOAuthClient({
      clients: memoryStores().oauthClients,
      publicUrl: undefined,
      signInOf: async () => undefined,
      now: Date.now,
      send(request) {
        requests.push(`${request.trust.kind} ${request.url}`);
        if (request.url === 'http://1.1.1.1/mcp') {
          const challenge = `Bearer resource_metadata="${there.url}/.well-known/oauth-protected-resource"`;
          return Promise.resolve({ status: 401, headers: { 'www-authenticate': challenge }, body: emptyBody });
        }
        return door.send(request);
      },
    });
    await expect(oauth.discover(oauthRecord('http://1.1.1.1/mcp'))).rejects.toMatchObject({ code: 'egress_denied' });
    expect(requests).toHaveLength(2);
    expect(there.seen).toEqual([]);
  });

  it('registers once for all who begin together, and as one with other processes', async () => {
    const { peers, begin, clients } = await setup();
    await Promise.all(Array.from({ length: 5 }, begin));
    await begin();
    expect(peers.seenBy('registration')).toHaveLength(1);
    expect(JSON.parse(peers.seenBy('registration')[0]?.body ?? '')).toMatchObject({
      redirect_uris: [redirectUri],
      application_type: 'native',
    });
    expect(await clients.find({ issuer: peers.issuer, redirectUri })).toMatchObject({ id: 'client', secret: secrets.client });
  });

  it('registers again when its registration has expired, or the server does not know it any more', async () => {
    let expires = 1;
    const registration = changed((json) => ({ ...json, client_secret_expires_at: expires }));
    let answers = 0;
    const token = (usual: Response): Response => (answers++ === 0 ? Response.json({ error: 'invalid_client' }, { status: 401 }) : usual);
    const { peers, begin, complete } = await setup({ registration, token });
    await begin();
    expires = 0;
    const { pending } = await begin();
    await begin();
    expect(peers.seenBy('registration')).toHaveLength(2);
    await expect(complete(pending)).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('Begin again') });
    await complete((await begin()).pending);
    expect(peers.seenBy('registration')).toHaveLength(3);
  });

  it('names itself by an address where the server takes one and PUBLIC_URL has https, and by client_id before all', async () => {
    const metadata = changed((json) => ({ ...json, client_id_metadata_document_supported: true }));
    const clientIn = async ({ begin }: HandMadeSetup): Promise<string | null> =>
      new URL((await begin()).authorizationUrl).searchParams.get('client_id');
    const { client_id: address, redirect_uris } = clientMetadata('https://chat.test') ?? {};
    expect(await clientIn(await setup({ metadata }, 'https://chat.test'))).toBe(address);
    expect(redirect_uris).toEqual(['https://chat.test/oauth/callback']);
    expect(await clientIn(await setup({ metadata }, 'http://chat.test'))).toBe('client');
    expect(await clientIn(await setup({}, 'https://chat.test'))).toBe('client');
    expect(await clientIn(await setup({ metadata }, 'https://chat.test', { oauth: { clientId: 'mine' } }))).toBe('mine');
  });
});

describe('completing a sign-in', () => {
  it.each<[string, Record<string, string>, string]>([
    ['the name of another server', { iss: 'https://evil.test' }, 'iss'],
    ['no name although that is announced', {}, 'iss'],
    ['a refusal', { error: 'access_denied', error_description: 'CANARY' }, '"access_denied"'],
  ])('is refused with %s, and the code goes nowhere', async (_what, parameters, message) => {
    const { peers, begin, complete } = await setup();
    const given = 'error' in parameters ? { iss: peers.issuer, ...parameters } : parameters;
    const error = (await complete((await begin()).pending, given).catch((thrown: unknown) => thrown)) as Error;
    expect(error).toMatchObject({ name: 'GatewayError', message: expect.stringContaining(message) });
    expect(error.cause).toBeUndefined();
    expect(error.message).not.toContain('CANARY');
    expect(peers.seenBy('token')).toEqual([]);
  });

  const refusal = (error: string) => (): Response => Response.json({ error, error_description: secrets.code }, { status: 400 });

  it.each<[what: string, token: () => Response, field: RegExp]>([
    ['an error that repeats what was sent', refusal('invalid_grant'), /Sign in again\./],
    ['an error that is none', refusal(`${secrets.code} !`), /Look into its log\./],
    ['a resource that it does not know', refusal('invalid_target'), /oauth\.resource/],
    ['a parameter that it does not take', refusal('invalid_request'), /oauth\.resource .*oauth\.authorize_parameters/],
    ['scopes that it does not know', refusal('invalid_scope'), /oauth\.scopes/],
    ['another redirect address', refusal('redirect_uri_mismatch'), /PUBLIC_URL.* oauth\.client_id/],
    ['a grant that the client may not use', refusal('unsupported_grant_type'), /oauth\.client_id/],
    ['no JSON', () => new Response(secrets.code), /oauth\.token_url/],
    ['an answer without a token', () => Response.json({ ok: true }), /oauth\.token_url/],
    ['a failure', () => new Response(null, { status: 503 }), /oauth\.token_url/],
    ['a token of another type', () => Response.json({ access_token: secrets.access, token_type: 'DPoP' }), /oauth\.client_id/],
    [
      'a token that breaks a header',
      () => Response.json({ access_token: `${secrets.access}\r\nx: y`, token_type: 'Bearer' }),
      /oauth\.scopes/,
    ],
    [
      'a token without an end',
      () => Response.json({ access_token: secrets.access + 'x'.repeat(oauthTokenCharacters), token_type: 'Bearer' }),
      /oauth\.scopes/,
    ],
  ])('is refused with %s, in words that name what helps and hold nothing secret', async (_what, token, field) => {
    const { begin, complete } = await setup({ token });
    const { pending } = await begin();
    const error = (await complete(pending).catch((thrown: unknown) => thrown)) as Error;
    expect([error.name, error.cause]).toEqual(['GatewayError', undefined]);
    expect(error.message).toMatch(field);
    for (const secret of [...Object.values(secrets), pending.verifier])
      expect(`${error.message} ${error.stack ?? ''}`).not.toContain(secret);
  });

  it.each<[what: string, change: Parameters<typeof oauthRecord>[1]]>([
    ['an address', { url: 'http://127.0.0.1:9/mcp' }],
    ['a kind of credential', { authType: 'bearer' }],
    ['a client', { oauth: { clientId: 'other' } }],
    ['a token address', { oauth: { authorizeUrl: 'http://127.0.0.1:9/authorize', tokenUrl: 'http://127.0.0.1:9/token' } }],
  ])('is refused for a connection that has got %s of its own meanwhile, before the code is sent', async (_what, change) => {
    const { oauth, peers, begin } = await setup();
    const { pending } = await begin();
    const answer = new URLSearchParams({ code: secrets.code, iss: peers.issuer });
    await expect(oauth.complete(oauthRecord(peers.url, change), pending, answer)).rejects.toMatchObject({ code: 'conflict' });
    expect(peers.seenBy('token')).toEqual([]);
    // What it names is what was asked.
    const same = { clientId: 'client', tokenUrl: `${peers.issuer}/token`, authorizeUrl: `${peers.issuer}/authorize` };
    expect(await oauth.complete(oauthRecord(peers.url, { oauth: same }), pending, answer)).toMatchObject({ accessToken: secrets.access });
  });

  it('ignores the word about who has signed in', async () => {
    const token = changed((json) => ({ ...json, id_token: 'not.a.token' }));
    const { begin, complete } = await setup({ token });
    expect(await complete((await begin()).pending)).toMatchObject({ accessToken: secrets.access });
  });
});

describe('refreshing', () => {
  it('asks with the secret that the operator has entered since', async () => {
    const settings = { clientId: 'mine', clientSecret: 'CANARY-old' };
    const { peers, oauth, begin, complete } = await setup({}, undefined, { oauth: settings });
    const credential = await complete((await begin()).pending);
    const renewed = await oauth.refresh(oauthRecord(peers.url, { oauth: { ...settings, clientSecret: 'CANARY-new' } }), credential);
    expect(renewed).toMatchObject({ client: { id: 'mine', secret: 'CANARY-new' }, signInId: credential.signInId });
    const sent = peers.seenBy('token').map(({ authorization }) => atob(authorization.replace('Basic ', '')));
    expect(sent).toEqual(['mine:CANARY-old', 'mine:CANARY-new']);
  });

  it('forgets a registration that the server does not know any more, and the next sign-in registers', async () => {
    let isKnown = true;
    const token = (usual: Response): Response => (isKnown ? usual : Response.json({ error: 'invalid_client' }, { status: 401 }));
    const { peers, oauth, begin, complete } = await setup({ token });
    const credential = await complete((await begin()).pending);
    isKnown = false;
    expect(await oauth.refresh(oauthRecord(peers.url), credential)).toBe('refused');
    await begin();
    expect(peers.seenBy('registration')).toHaveLength(2);
  });

  it.each([400, 429, 500, 503])('changes nothing when the server answers %d without saying why', async (status) => {
    let isFine = true;
    const token = (usual: Response): Response => (isFine ? usual : new Response('busy', { status }));
    const { peers, oauth, begin, complete } = await setup({ token });
    const credential = await complete((await begin()).pending);
    isFine = false;
    await expect(oauth.refresh(oauthRecord(peers.url), credential)).rejects.toMatchObject({ name: 'GatewayError' });
  });
});

describe('revoking', () => {
  it('ends both tokens, and fails nobody', async () => {
    let status = 200;
    const { peers, begin, complete } = await setup({ revocation: () => new Response(null, { status }) });
    const credential = await complete((await begin()).pending);
    await revokeTokens(door.send, [credential]);
    expect(peers.seenBy('revocation').map(({ params }) => [params['token_type_hint'], params['token']])).toEqual([
      ['refresh_token', secrets.refresh],
      ['access_token', secrets.access],
    ]);
    status = 500;
    await revokeTokens(door.send, [credential, { kind: 'key', secret: 'x', binding: { origin: 'o', authType: 'bearer' } }]);
    expect(peers.seenBy('revocation')).toHaveLength(4);
  });
});

const emptyBody = {
  readEach: async () => ({}),
  close: () => undefined,
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {},
};
