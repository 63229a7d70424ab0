import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { handMadePeers, secrets } from '../../_support/hand-made-authorization.ts';
import type { Faults, HandMadePeers } from '../../_support/hand-made-authorization.ts';
import { scriptedBrowser } from '../../_support/scripted-browser.ts';
import type { BrowserPage } from '../../_support/scripted-browser.ts';
import { linkFor, signIn, signInGateway } from './sign-in-fixture.ts';
import type { SignInGateway, SignInGatewayOptions, Who } from './sign-in-fixture.ts';

const json = async (usual: Response, fields: JsonObject): Promise<Response> =>
  Response.json({ ...((await usual.json()) as JsonObject), ...fields }, { status: usual.status });
const redirect = (to: string): Response => new Response(null, { status: 302, headers: { location: to } });
const unnamed = (usual: Response): Promise<Response> => json(usual, { authorization_response_iss_parameter_supported: false });

interface HonestServer {
  peers: HandMadePeers;
  /** Of its one client, which is public, so that whoever has a code and its verifier has the tokens. */
  redirectUris: string[];
}

const clientId = 'the client of the honest server';

/** Says not who it is in its answers; sends people back to the exact addresses of its client alone, and asks nobody twice for consent. */
async function honestServer(faults: Faults = {}): Promise<HonestServer> {
  const redirectUris: string[] = [];
  const peers = await handMadePeers({
    metadata: unnamed,
    registration(_usual, { body }) {
      redirectUris.push(...(JSON.parse(body) as { redirect_uris: string[] }).redirect_uris);
      return Response.json({ ...(JSON.parse(body) as JsonObject), client_id: clientId }, { status: 201 });
    },
    authorize(usual, { params }) {
      if (params['client_id'] !== clientId || !redirectUris.includes(params['redirect_uri'] ?? ''))
        return new Response('<main>This address is not known here</main>', { status: 400 });
      const back = new URL(usual.headers.get('location') ?? '');
      back.searchParams.delete('iss');
      return redirect(back.href);
    },
    ...faults,
  });
  return { peers, redirectUris };
}

async function sceneOf(attacks: (honest: HonestServer) => Faults, options: SignInGatewayOptions = {}, known: Faults = {}) {
  const honest = await honestServer(known);
  const attacker = await handMadePeers(attacks(honest));
  const gateway = await signInGateway(options);
  await gateway.register({ id: 'honest', url: honest.peers.url, type: 'mcp', auth_type: 'oauth' });
  await gateway.register({ id: 'attacker', url: attacker.url, type: 'mcp', auth_type: 'oauth' });
  return { honest, attacker, gateway, who: await gateway.keyFor(null) };
}

const connect = async (gateway: SignInGateway, who: Who, server: string): Promise<BrowserPage> =>
  signIn(scriptedBrowser({ ignoresPolicies: true }), await linkFor(gateway, who, server), 'nobody', { own: who.key });

const onwards = ({ peers }: HonestServer, params: Record<string, string>, changed: Record<string, string>): Response =>
  redirect(`${peers.issuer}/authorize?${String(new URLSearchParams({ ...params, client_id: clientId, ...changed }))}`);

// RFC 9700, section 4.4: the person gets the code of the honest server in the attacker's sign-in, without being asked, as they have consented before.
describe('the code of an authorization server that does not say who it is', () => {
  it.each<[what: string, attacks: (honest: HonestServer) => Faults]>([
    ['leads people on to it', (honest) => ({ metadata: unnamed, authorize: (_usual, { params }) => onwards(honest, params, {}) })],
    [
      'leads people on to it, and from there to where its own people come back',
      (honest) => ({
        metadata: unnamed,
        authorize: (_usual, { params }) => onwards(honest, params, { redirect_uri: honest.redirectUris[0] ?? '' }),
      }),
    ],
    [
      'announces that it names itself',
      (honest) => ({ authorize: (_usual, { params }) => onwards(honest, params, { redirect_uri: honest.redirectUris[0] ?? '' }) }),
    ],
    [
      'gives its page for its own',
      (honest) => ({
        registration: (usual) => json(usual, { client_id: clientId }),
        metadata: async (usual) => json(await unnamed(usual), { authorization_endpoint: `${honest.peers.issuer}/authorize` }),
      }),
    ],
  ])('does not go to one that %s', async (_what, attacks) => {
    const { honest, attacker, gateway, who } = await sceneOf(attacks);
    expect((await connect(gateway, who, 'honest')).status).toBe(200);
    expect(honest.peers.seenBy('token')).toMatchObject([{ params: { code: secrets.code, redirect_uri: honest.redirectUris[0] } }]);
    const page = await connect(gateway, who, 'attacker');
    expect(page.status).toBeGreaterThanOrEqual(400);
    expect(attacker.seenBy('token')).toEqual([]);
    expect(honest.peers.seenBy('token')).toHaveLength(1);
    expect([await gateway.stateOf(who, 'honest'), await gateway.stateOf(who, 'attacker')]).toEqual(['connected', 'missing']);
  });
});

describe('the address at which people come back', () => {
  const addressIn = async (faults: Faults, oauth?: JsonObject, environment: NodeJS.ProcessEnv = {}) => {
    const peers = await handMadePeers({ ...faults, authorize: () => new Response('<main>Stay</main>') });
    const gateway = await signInGateway({ environment });
    await gateway.register({ id: 'mail', url: peers.url, type: 'mcp', auth_type: 'oauth', ...(oauth && { oauth }) });
    const who = await gateway.keyFor(null);
    const at = environment['PUBLIC_URL'] === undefined ? {} : { [environment['PUBLIC_URL']]: gateway.url };
    await signIn(scriptedBrowser({ at }), await linkFor(gateway, who, 'mail'), 'nobody', { own: who.key });
    const { redirect_uri: address = '', client_id: client = '' } = peers.seenBy('authorize')[0]?.params ?? {};
    return { address, client, gateway, peers };
  };

  it('is one for all servers that name themselves, and for clients that an operator has registered', async () => {
    const named = await addressIn({});
    expect(named.address).toBe(`${named.gateway.url}/oauth/callback`);
    const configured = await addressIn({ metadata: unnamed }, { client_id: 'mine' });
    expect(configured.address).toBe(`${configured.gateway.url}/oauth/callback`);
  });

  it('is another one for each other server, for which alone the gateway is registered', async () => {
    const [one, other] = [await addressIn({ metadata: unnamed }), await addressIn({ metadata: unnamed })];
    for (const { address, gateway, peers } of [one, other]) {
      expect(address).toMatch(new RegExp(`^${gateway.url}/oauth/callback/[\\w-]{20,}$`));
      expect(JSON.parse(peers.seenBy('registration')[0]?.body ?? '')).toMatchObject({ redirect_uris: [address] });
    }
    expect(new Set([one, other].map(({ address }) => address.split('/').at(-1))).size).toBe(2);
  });

  it('stands in the document of the gateway for such a server alone', async () => {
    const metadata = (usual: Response): Promise<Response> =>
      json(usual, { authorization_response_iss_parameter_supported: false, client_id_metadata_document_supported: true });
    const publicUrl = 'https://gateway.example';
    const { address, client, gateway, peers } = await addressIn({ metadata }, undefined, { PUBLIC_URL: publicUrl });
    expect(address).toMatch(/^https:\/\/gateway\.example\/oauth\/callback\/[\w-]{20,}$/);
    expect(client.startsWith(`${publicUrl}/oauth/`)).toBe(true);
    const document = await fetch(client.replace(publicUrl, gateway.url));
    expect([document.status, await document.json()]).toMatchObject([200, { client_id: client, redirect_uris: [address] }]);
    expect(peers.seenBy('registration')).toEqual([]);
    expect((await fetch(`${gateway.url}/oauth/client-metadata/no-issuer`)).status).toBe(404);
  });
});
