import type { LookupFunction } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import type { SendOutbound } from '../../../src/core/outbound.ts';
import { createOutbound } from '../../../src/policy/outbound/outbound-request.ts';
import { revokeTokens } from '../../../src/tools/credentials/oauth/revoke-tokens.ts';
import { directSend } from '../../_support/direct-send.ts';
import { handMadePeers, metadataOf, secrets } from '../../_support/hand-made-authorization.ts';
import type { HandMadePeers, Part } from '../../_support/hand-made-authorization.ts';
import { gatewayAddress, oauthClient, oauthRecord } from './oauth-fixture.ts';

const endpoints = {
  resource: '/.well-known/oauth-protected-resource/mcp',
  metadata: '',
  registration: '/register',
  token: '/token',
  revocation: '/revoke',
} as const satisfies Partial<Record<Part, string>>;
type Hop = keyof typeof endpoints;

/**
 * A sign-in at `http://tools.test`, which has this address, with one hop at a name that leads to this machine. All other hops are said to be public, and are
 * not sent there.
 */
async function signInOver(hop: Hop, toolAddress: string): Promise<{ peers: HandMadePeers; done: Promise<unknown> }> {
  const inner = ({ port }: URL): string => `http://inner.test:${port}`;
  const at = (part: Hop): string => (part === hop ? inner(new URL(real.issuer)) : 'http://accounts.test');
  const peers = await handMadePeers({
    resource: () => Response.json({ resource: 'http://tools.test/mcp', authorization_servers: [at('metadata')] }),
    metadata: () =>
      Response.json({
        ...metadataOf(at('metadata')),
        registration_endpoint: `${at('registration')}${endpoints.registration}`,
        token_endpoint: `${at('token')}${endpoints.token}`,
        revocation_endpoint: `${at('revocation')}${endpoints.revocation}`,
      }),
  });
  const real = { issuer: peers.issuer, tools: new URL(peers.url).origin };
  peers.url = hop === 'resource' ? `${inner(new URL(real.tools))}/mcp` : 'http://tools.test/mcp';

  const lookup: LookupFunction = (host, options, callback) => {
    const address = host === 'tools.test' ? toolAddress : '127.0.0.1';
    if (options.all === true) callback(null, [{ address, family: 4 }]);
    else callback(null, address, 4);
  };
  const door = createOutbound({ egress: { mode: 'public', allow: [] }, lookup });
  onTestFinished(() => door.close());
  const send: SendOutbound = (request) => {
    const { hostname, pathname } = new URL(request.url);
    const origin = { 'tools.test': real.tools, 'accounts.test': real.issuer }[hostname];
    return origin === undefined ? door.send(request) : directSend({ ...request, url: `${origin}${pathname}` });
  };
  const oauth = oauthClient({ send });
  const record = oauthRecord('http://tools.test/mcp');
  async function signIn(): Promise<void> {
    const { pending } = await oauth.begin(record, gatewayAddress, 'state');
    const credential = await oauth.complete(record, pending, new URLSearchParams({ code: secrets.code, iss: pending.issuer }));
    await revokeTokens(send, [credential]);
  }
  return { peers, done: signIn() };
}

const hops = Object.keys(endpoints) as Hop[];

it.each(hops.filter((hop) => hop !== 'revocation'))(
  'a server with a public address leads nowhere by a name that has a private one: %s',
  async (hop) => {
    const { peers, done } = await signInOver(hop, '93.184.215.14');
    await expect(done).rejects.toMatchObject({
      code: 'egress_denied',
      message: expect.stringContaining('TOOL_SERVER_ALLOW=http://inner.test'),
    });
    expect(peers.seenBy(hop)).toEqual([]);
  },
);

it('a server with a public address has nothing revoked by a name that has a private one, and that fails nobody', async () => {
  const { peers, done } = await signInOver('revocation', '93.184.215.14');
  await done;
  expect(peers.seenBy('token')).toHaveLength(1);
  expect(peers.seenBy('revocation')).toEqual([]);
});

it.each(hops)('a server with a private address may: %s', async (hop) => {
  const { peers, done } = await signInOver(hop, '127.0.0.1');
  await done;
  expect(peers.seenBy(hop).length).toBeGreaterThan(0);
});
