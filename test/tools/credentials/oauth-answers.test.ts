import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { metadataOf, secrets } from '../../_support/hand-made-authorization.ts';
import { createOpenIdClient } from '../../../src/tools/credentials/oauth/openid-client.ts';
import { revokeTokens } from '../../../src/tools/credentials/oauth/revoke-tokens.ts';
import { directSend } from '../../_support/direct-send.ts';
import { serveFetch } from '../../_support/protected-servers.ts';
import { changed, handMadeSetup, oauthRecord } from './oauth-fixture.ts';

/** RFC 6749, section 5.2: so it has to look where the client has used `Authorization`. */
const unknownClient = (): Response =>
  Response.json({ error: 'invalid_client' }, { status: 401, headers: { 'www-authenticate': 'Basic realm="clients"' } });
/** As GitHub does. */
const errorWith200 = (): Response => Response.json({ error: 'bad_refresh_token', error_description: secrets.refresh });

describe('an error of the token endpoint', () => {
  it('says that the client is unknown also beside a challenge, so that the gateway registers again', async () => {
    let isKnown = false;
    const { peers, begin, complete } = await handMadeSetup({ token: (usual) => (isKnown ? usual : unknownClient()) });
    const { pending } = await begin();
    await expect(complete(pending)).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('Begin again') });
    isKnown = true;
    expect(await complete((await begin()).pending)).toMatchObject({ accessToken: secrets.access });
    expect(peers.seenBy('registration')).toHaveLength(2);
  });

  it.each<[what: string, answer: () => Response]>([
    ['invalid_client beside a challenge', unknownClient],
    ['an error with HTTP 200', errorWith200],
    ['a scope that is not given any more', () => Response.json({ error: 'invalid_scope' }, { status: 400 })],
    ['a resource that it does not know', () => Response.json({ error: 'invalid_target' }, { status: 400 })],
    [
      'an error that is not declared as JSON',
      () => new Response('{"error":"invalid_grant"}', { status: 400, headers: { 'content-type': 'text/plain' } }),
    ],
  ])('ends the sign-in when tokens are refreshed: %s', async (_what, answer) => {
    let isFine = true;
    const { peers, oauth, begin, complete } = await handMadeSetup({ token: (usual) => (isFine ? usual : answer()) });
    const credential = await complete((await begin()).pending);
    isFine = false;
    expect(await oauth.refresh(oauthRecord(peers.url), credential)).toBe('refused');
  });

  it.each<[what: string, answer: () => Response]>([
    ['too many requests', () => Response.json({ error: 'invalid_request' }, { status: 429 })],
    ['it cannot at the moment', () => Response.json({ error: 'temporarily_unavailable' }, { status: 400 })],
    ['it has failed', () => Response.json({ error: 'server_error' }, { status: 400 })],
    ['it has failed with an error of its own', () => Response.json({ error: 'invalid_grant' }, { status: 503 })],
  ])('changes nothing when tokens are refreshed: %s', async (_what, answer) => {
    let isFine = true;
    const { peers, oauth, begin, complete } = await handMadeSetup({ token: (usual) => (isFine ? usual : answer()) });
    const credential = await complete((await begin()).pending);
    isFine = false;
    await expect(oauth.refresh(oauthRecord(peers.url), credential)).rejects.toMatchObject({ name: 'GatewayError' });
  });

  it('in the browser’s answer is nobody’s word about the registration of all', async () => {
    const { peers, begin, complete } = await handMadeSetup();
    const { pending } = await begin();
    await expect(complete(pending, { iss: peers.issuer, error: 'unauthorized_client' })).rejects.toMatchObject({ code: 'forbidden' });
    await begin();
    expect(peers.seenBy('registration')).toHaveLength(1);
  });
});

describe('the answer of a token endpoint', () => {
  it('may have null for what it leaves open, as may that of a registration', async () => {
    const { begin, complete } = await handMadeSetup({
      registration: changed((json) => ({ ...json, client_secret: null, client_secret_expires_at: null })),
      token: changed((json) => ({ ...json, expires_in: null, refresh_token: null, scope: null, id_token: null })),
    });
    const credential = await complete((await begin()).pending);
    expect(credential).toMatchObject({ accessToken: secrets.access, client: { id: 'client', method: 'none' } });
    expect([credential.expires, credential.refreshToken]).toEqual([undefined, undefined]);
  });

  it.each<[said: string | number, seconds: number]>([
    ['3600', 3_600],
    [3_600.5, 3_600.5],
    [1e300, 10 * 365 * 24 * 60 * 60],
    [0, 0],
  ])('says how long a token is good: %j', async (said, seconds) => {
    const { begin, complete } = await handMadeSetup({ token: changed((json) => ({ ...json, expires_in: said })) });
    const before = Date.now();
    const { expires = 0 } = await complete((await begin()).pending);
    expect(expires).toBeGreaterThanOrEqual(before + seconds * 1_000);
    expect(expires).toBeLessThanOrEqual(Date.now() + seconds * 1_000);
  });

  it.each([-1, 'soon', {}, true])('says nothing about the end of a token with %j', async (said) => {
    const { begin, complete } = await handMadeSetup({ token: changed((json) => ({ ...json, expires_in: said })) });
    expect((await complete((await begin()).pending)).expires).toBeUndefined();
  });

  it.each<[what: string, change: JsonObject]>([
    ['no type', { token_type: undefined }],
    ['a type that means the same', { token_type: 'BearerToken' }],
    ['the name of whose it is', { token_type: 'user' }],
    ['an empty refresh token', { refresh_token: '' }],
    ['scopes as a list', { scope: ['read', 'write'] }],
  ])('is read with %s', async (_what, change) => {
    const { begin, complete } = await handMadeSetup({ token: changed((json) => ({ ...json, ...change })) });
    const credential = await complete((await begin()).pending);
    expect(credential.accessToken).toBe(secrets.access);
    expect(credential.refreshToken).toBe(change['refresh_token'] === '' ? undefined : secrets.refresh);
    expect(credential.scopes).toEqual(Array.isArray(change['scope']) ? change['scope'] : ['read']);
  });

  it('is read with the status of something that was created', async () => {
    const { begin, complete } = await handMadeSetup({ token: async (usual) => Response.json(await usual.json(), { status: 201 }) });
    expect(await complete((await begin()).pending)).toMatchObject({ accessToken: secrets.access });
  });

  it.each(['mac', 'DPoP', 5])('is refused with a token of another type: %j', async (type) => {
    const { begin, complete } = await handMadeSetup({ token: changed((json) => ({ ...json, token_type: type })) });
    await expect(complete((await begin()).pending)).rejects.toMatchObject({ code: 'upstream_invalid_response' });
  });
});

describe('the answer to a registration', () => {
  it.each<[what: string, change: JsonObject, method: string]>([
    ['a secret without an expiry date', { client_secret: 'given', client_secret_expires_at: undefined }, 'client_secret_basic'],
    ['an expiry date that is a text', { client_secret: 'given', client_secret_expires_at: '0' }, 'client_secret_basic'],
    ['an empty secret', { client_secret: '', client_secret_expires_at: 0 }, 'none'],
  ])('is read with %s', async (_what, change, method) => {
    const registration = async (usual: Response): Promise<Response> => Response.json({ ...(await usual.json()), ...change });
    const { begin, complete } = await handMadeSetup({ registration });
    expect(await complete((await begin()).pending)).toMatchObject({ client: { id: 'client', method } });
  });
});

it('the id and secret of a client are sent as RFC 6749 wants it, and as most servers read it', async () => {
  const fields = { oauth: { clientId: 'a-b_c.d:ö', clientSecret: 'x y+z%:~-._*' } };
  const { peers, begin, complete } = await handMadeSetup({}, { fields });
  await complete((await begin()).pending);
  const sent = atob(peers.seenBy('token')[0]?.authorization.replace('Basic ', '') ?? '');
  // Appendix B; what servers that do not decode would stumble over in most ids and secrets is left as it is.
  expect(sent).toBe('a-b_c.d%3A%C3%B6:x+y%2Bz%25%3A%7E-._*');
});

it('an access token is revoked also where refresh tokens cannot be', async () => {
  const { peers, begin, complete } = await handMadeSetup({
    revocation: (usual, { params }) =>
      params['token_type_hint'] === 'refresh_token' ? Response.json({ error: 'unsupported_token_type' }, { status: 400 }) : usual,
  });
  await revokeTokens(directSend, [await complete((await begin()).pending)]);
  expect(peers.seenBy('revocation').map(({ params }) => params['token'])).toEqual([secrets.refresh, secrets.access]);
});

it('so is that of somebody who signs out of the console', async () => {
  const revoked: unknown[] = [];
  const issuer: string = await serveFetch(async (request) => {
    if (request.method === 'GET') return Response.json(metadataOf(issuer));
    const form = new URLSearchParams(await request.text());
    revoked.push(form.get('token'));
    return Response.json({ error: 'unsupported_token_type' }, { status: 400 });
  });
  const client = createOpenIdClient({
    issuer,
    audience: 'api',
    client: { id: 'console', scopes: ['openid'] },
    send: directSend,
    now: Date.now,
  });
  await client.revoke({ accessToken: secrets.access, refreshToken: secrets.refresh });
  expect(revoked).toEqual([secrets.refresh, secrets.access]);
});
