import { describe, expect, it } from 'vitest';
import type { SendOutbound } from '../../../src/core/outbound.ts';
import type { JsonObject, JsonValue } from '../../../src/shared/json/json.ts';
import { directSend } from '../../_support/direct-send.ts';
import { handMadePeers, metadataOf } from '../../_support/hand-made-authorization.ts';
import type { Faults, Part } from '../../_support/hand-made-authorization.ts';
import { serveFetch } from '../../_support/protected-servers.ts';
import { changed, gatewayAddress, handMadeSetup, oauthClient, oauthRecord } from './oauth-fixture.ts';

const [tools, accounts] = ['https://tools.test', 'https://accounts.test'];
const inClear = (address: string): string => address.replace('https:', 'http:');

/** Peers that have https as far as the gateway sees. */
async function securePeers(
  faults: Faults,
): Promise<{ peers: Awaited<ReturnType<typeof handMadePeers>>; send: SendOutbound; asked: string[] }> {
  const peers = await handMadePeers(faults);
  const real = new Map([
    ['tools.test', new URL(peers.url).origin],
    ['accounts.test', peers.issuer],
  ]);
  const asked: string[] = [];
  peers.url = `${tools}/mcp`;
  peers.issuer = accounts;
  return {
    peers,
    asked,
    send(request) {
      const { origin, hostname, pathname, search } = new URL(request.url);
      asked.push(origin);
      return directSend({ ...request, url: `${real.get(hostname) ?? origin}${pathname}${search}` });
    },
  };
}

describe('a tool server with https', () => {
  it('has people sign in', async () => {
    const { send } = await securePeers({});
    const { authorizationUrl } = await oauthClient({ send }).begin(oauthRecord(`${tools}/mcp`), gatewayAddress, 'state');
    expect(authorizationUrl.startsWith(`${accounts}/authorize?`)).toBe(true);
  });

  it('names its metadata at no address without it', async () => {
    const { peers, send, asked } = await securePeers({ resource: changed((json) => ({ ...json, resource: `${tools}/mcp` })) });
    peers.url = `${inClear(tools)}/mcp`;
    await expect(oauthClient({ send }).begin(oauthRecord(`${tools}/mcp`), gatewayAddress, 'state')).rejects.toThrow(/not https/);
    expect(asked).toEqual([tools]);
  });

  it('leads to no authorization server whose metadata has none', async () => {
    const { send, asked } = await securePeers({
      resource: changed((json) => ({ ...json, authorization_servers: [inClear(accounts)] })),
      metadata: changed((json) => ({ ...json, issuer: inClear(accounts) })),
    });
    await expect(oauthClient({ send }).begin(oauthRecord(`${tools}/mcp`), gatewayAddress, 'state')).rejects.toThrow(/not https/);
    expect(asked).not.toContain(inClear(accounts));
  });

  it('leads to no OpenID provider whose metadata has none', async () => {
    const { send, asked } = await securePeers({});
    const url = `${inClear(accounts)}/.well-known/openid-configuration`;
    const oauth = oauthClient({ send, signInOf: async () => ({ type: 'openIdConnect', scopes: [], url }) });
    await expect(oauth.begin(oauthRecord(tools, { type: 'openapi' }), gatewayAddress, 'state')).rejects.toThrow(/not https/);
    expect(asked).toEqual([]);
  });
});

describe('metadata of any kind', () => {
  const fields = Object.keys(metadataOf('')).filter((name) => name !== 'issuer');
  const values: JsonValue[] = [5, true, null, {}, [5, null], 'x'.repeat(100_000), Array<string>(10_000).fill('x'.repeat(50))];

  it.each([...fields, 'scopes_supported', 'client_id_metadata_document_supported'])(
    'lets a sign-in begin or be refused: %s',
    async (field) => {
      let value: JsonValue = null;
      const { begin } = await handMadeSetup({ metadata: changed((json) => ({ ...json, [field]: value })) });
      for (value of values) {
        const begun: unknown = await begin().catch((thrown: unknown) => thrown);
        expect(begun).toSatisfy((end) => !(end instanceof Error) || end.name === 'GatewayError');
        expect(JSON.stringify(begun).length).toBeLessThan(20_000);
      }
    },
  );

  it.each(['resource', 'authorization_servers', 'scopes_supported'])('of a resource likewise: %s', async (field) => {
    let value: JsonValue = null;
    const { begin } = await handMadeSetup({ resource: changed((json) => ({ ...json, [field]: value })) });
    for (value of values) {
      const begun: unknown = await begin().catch((thrown: unknown) => thrown);
      expect(begun).toSatisfy((end) => !(end instanceof Error) || end.name === 'GatewayError');
      expect(JSON.stringify(begun).length).toBeLessThan(20_000);
    }
  });

  it.each(['?tenant=other', '#part'])('is not for a resource that the server’s address cannot be: %s', async (end) => {
    const { begin } = await handMadeSetup({ resource: changed((json) => ({ ...json, resource: `${String(json['resource'])}${end}` })) });
    await expect(begin()).rejects.toThrow(/for the resource/);
  });
});

it.each([
  [3_000, true],
  [30_000, false],
])('a challenge with %i characters is read: %s', async (length, isRead) => {
  const { peers } = await handMadeSetup();
  const asked: string[] = [];
  const send: SendOutbound = async (request) => {
    asked.push(request.url);
    const answer = await directSend(request);
    const challenge = `Bearer ${'a=b,'.repeat((length - 100) / 4)}resource_metadata="${new URL(peers.url).origin}/stated"`;
    return request.url === peers.url ? { ...answer, headers: { ...answer.headers, 'www-authenticate': challenge } } : answer;
  };
  await oauthClient({ send })
    .begin(oauthRecord(peers.url), gatewayAddress, 'state')
    .catch(() => undefined);
  expect(asked.includes(`${new URL(peers.url).origin}/stated`)).toBe(isRead);
});

describe('scopes', () => {
  const scopesIn = async (faults: Faults): Promise<string | null> =>
    new URL((await (await handMadeSetup(faults)).begin()).authorizationUrl).searchParams.get('scope');

  it('are asked for as far as they are scopes, and not without end', async () => {
    const offered = [
      'read',
      'a b',
      'x"y',
      '',
      5,
      `long${'x'.repeat(2_000)}`,
      ...Array.from({ length: 500 }, (_, index) => `scope${index}`),
    ];
    const scope = await scopesIn({ resource: changed((json) => ({ ...json, scopes_supported: offered })) });
    expect(scope?.split(' ')).toEqual(['read', ...Array.from({ length: 99 }, (_, index) => `scope${index}`)]);
  });

  it('are left to the server where none are known, also if it offers longer tokens', async () => {
    const metadata = changed((json) => ({ ...json, scopes_supported: ['read', 'offline_access'] }));
    expect(await scopesIn({ metadata, resource: changed(({ scopes_supported: _scopes, ...json }) => json) })).toBeNull();
    expect(await scopesIn({ metadata })).toBe('read offline_access');
  });

  it('that were given are kept likewise', async () => {
    const { begin, complete } = await handMadeSetup({
      token: changed((json) => ({ ...json, scope: Array.from({ length: 50_000 }, (_, index) => `scope${index}`).join(' ') })),
    });
    const { scopes = [] } = await complete((await begin()).pending);
    expect(scopes).toHaveLength(100);
  });
});

it.each<[what: string, fields: JsonObject]>([
  ['an id without an end', { client_id: 'x'.repeat(100_000) }],
  ['an id of two lines', { client_id: 'a\nb' }],
  ['a secret without an end', { client_secret: 'x'.repeat(100_000) }],
  ['a secret of two lines', { client_secret: 'a\nb' }],
])('a registration with %s is not used', async (_what, fields) => {
  const { begin } = await handMadeSetup({ registration: changed((json) => ({ ...json, ...fields })) });
  await expect(begin()).rejects.toMatchObject({ code: 'upstream_invalid_response', message: expect.stringContaining('Registering') });
});

it('the page of one authorization server is not that of another, which would take its codes', async () => {
  const honest = await handMadePeers();
  const { begin } = await handMadeSetup({
    metadata: changed((json) => ({ ...json, authorization_endpoint: `${honest.issuer}/authorize` })),
  });
  await expect(begin()).rejects.toThrow(/not its token address/);
});

it('a server at which the gateway signs in as itself needs no PKCE', async () => {
  const fields = { oauth: { clientId: 'mine', clientSecret: 'secret', grant: 'client_credentials' as const } };
  const metadata = changed(({ code_challenge_methods_supported: _methods, ...json }) => json);
  const { peers, oauth } = await handMadeSetup({ metadata }, { fields });
  expect(await oauth.ownToken(oauthRecord(peers.url, fields))).toMatchObject({ accessToken: expect.any(String) });
});

describe('discovery', () => {
  const broken =
    (status: number): (() => Response) =>
    () =>
      new Response('not now', { status });
  const moved = (): Response => new Response(null, { status: 302, headers: { location: '/elsewhere' } });

  it.each<[what: string, answer: () => Response]>([
    ['fails', broken(503)],
    ['redirects', moved],
    ['says in JSON that nothing is there', () => Response.json({ error: 'not found' })],
  ])('goes on to the next address where the first one %s', async (_what, answer) => {
    /** The second address has what the first one should have had. */
    const send: SendOutbound = (request) => {
      const url = request.url
        .replace('/.well-known/openid-configuration', '/.well-known/oauth-authorization-server?second=1')
        .replace(/oauth-protected-resource$/, 'oauth-protected-resource/mcp?second=1');
      return directSend({ ...request, url });
    };
    const unlessSecond: Faults[Part] = (usual, { params }) => (params['second'] === undefined ? answer() : usual);
    const { begin } = await handMadeSetup({ metadata: unlessSecond, resource: unlessSecond }, { send });
    expect((await begin()).authorizationUrl).toContain('/authorize?');
  });

  it('takes a name that differs in its last slash, and no other one', async () => {
    const named = (name: (issuer: string) => string) => changed((json) => ({ ...json, issuer: name(String(json['issuer'])) }));
    const { begin, complete, peers } = await handMadeSetup({ metadata: named((issuer) => `${issuer}/`) });
    const { pending } = await begin();
    expect(await complete(pending, { iss: `${peers.issuer}/` })).toMatchObject({ binding: { issuer: `${peers.issuer}/` } });
    const other = await handMadeSetup({ metadata: named((issuer) => `${issuer}/{tenant}`) });
    await expect(other.begin()).rejects.toThrow(/\{tenant\}.*oauth\.authorize_url and oauth\.token_url/);
  });
});

describe('a connection', () => {
  it('can add parameters to the address where people sign in, and leave the resource out', async () => {
    const oauth = { authorizeParameters: { access_type: 'offline', prompt: 'consent' }, resource: false as const };
    const { begin, complete, peers } = await handMadeSetup({}, { fields: { oauth } });
    const { authorizationUrl, pending } = await begin();
    const parameters = Object.fromEntries(new URL(authorizationUrl).searchParams);
    expect(parameters).toMatchObject({ access_type: 'offline', prompt: 'consent', response_type: 'code' });
    await complete(pending);
    expect([parameters['resource'], peers.seenBy('token')[0]?.params['resource']]).toEqual([undefined, undefined]);
  });
});

describe('an MCP server that answers without a token', () => {
  /** `demandsAt`: the first method that it refuses; only its challenge says where the metadata is. */
  async function lateServer(demandsAt: string): Promise<{ url: string; seen: string[] }> {
    const peers = await handMadePeers();
    const seen: string[] = [];
    const origin = await serveFetch(async (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === '/hidden') return Response.json({ resource: `${origin}/mcp`, authorization_servers: [peers.issuer] });
      if (pathname !== '/mcp') return new Response(null, { status: 404 });
      const session = request.headers.get('mcp-session-id') ?? 'none';
      if (request.method === 'DELETE') {
        seen.push(`DELETE ${session}`);
        return new Response(null, { status: 204 });
      }
      const { id, method } = (await request.json()) as { id: number; method: string };
      seen.push(`${method} ${session}`);
      const challenge = `Bearer scope="calendar.read", resource_metadata="${origin}/hidden"`;
      if (method === demandsAt) return new Response(null, { status: 401, headers: { 'www-authenticate': challenge } });
      return Response.json({ jsonrpc: '2.0', id, result: {} }, { headers: { 'mcp-session-id': 'first' } });
    });
    return { url: `${origin}/mcp`, seen };
  }

  it.each([
    ['tools/list', ['initialize none', 'tools/list first', 'DELETE first']],
    ['tools/call', ['initialize none', 'tools/list first', 'tools/call first', 'DELETE first']],
  ])('is discovered from its challenge of %s, whose scopes count', async (demandsAt, expected) => {
    const { url, seen } = await lateServer(demandsAt);
    const { authorizationUrl } = await oauthClient().begin(oauthRecord(url), gatewayAddress, 'state');
    expect(new URL(authorizationUrl).searchParams.get('scope')).toBe('calendar.read');
    expect(seen).toEqual(expected);
  });

  it('is discovered from its challenge if it has no `initialize`, like servers of the stateless protocol versions', async () => {
    const peers = await handMadePeers();
    const seen: unknown[] = [];
    const origin = await serveFetch(async (request) => {
      if (new URL(request.url).pathname === '/hidden')
        return Response.json({ resource: `${origin}/mcp`, authorization_servers: [peers.issuer] });
      const { id, method, params } = (await request.json()) as { id: number; method: string; params: { _meta?: object } };
      seen.push([
        method,
        request.headers.get('mcp-protocol-version'),
        request.headers.get('mcp-method'),
        Object.keys(params._meta ?? {}).length,
      ]);
      const error = { code: -32_601, message: 'Method not found' };
      if (method !== 'tools/list') return Response.json({ jsonrpc: '2.0', id, error }, { status: 404 });
      const challenge = `Bearer scope="calendar.read", resource_metadata="${origin}/hidden"`;
      return new Response(null, { status: 401, headers: { 'www-authenticate': challenge } });
    });
    const { authorizationUrl } = await oauthClient().begin(oauthRecord(`${origin}/mcp`), gatewayAddress, 'state');
    expect(new URL(authorizationUrl).searchParams.get('scope')).toBe('calendar.read');
    expect(seen).toEqual([
      ['initialize', null, null, 0],
      ['tools/list', '2026-07-28', 'tools/list', 3],
    ]);
  });
});
