import type { OAuthCredential } from '../../../src/core/sign-in/credentials.ts';
import type { OAuthClientStore } from '../../../src/core/sign-in/oauth-clients.ts';
import type { SendOutbound } from '../../../src/core/outbound.ts';
import type { ToolServerRecord } from '../../../src/core/stores/registry.ts';
import { createOAuthClient } from '../../../src/tools/credentials/oauth/oauth-client.ts';
import type { OAuthClient, OAuthClientOptions, PendingAuthorization } from '../../../src/tools/credentials/oauth/oauth-client.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { passwordOf } from '../../_support/authorization-server.ts';
import { directSend } from '../../_support/direct-send.ts';
import { handMadePeers, secrets } from '../../_support/hand-made-authorization.ts';
import type { Faults, HandMadePeers } from '../../_support/hand-made-authorization.ts';
import { memoryStores } from '../../_support/memory-stores.ts';
import { scriptedBrowser } from '../../_support/scripted-browser.ts';
import { toolServerRecord } from '../../storage/registry-contract.ts';

/** Nobody listens there: the browser tells where it was sent. */
export const gatewayAddress = 'http://127.0.0.1:1';
export const redirectUri = `${gatewayAddress}/oauth/callback`;

export function oauthRecord(url: string, fields: Partial<ToolServerRecord> = {}): ToolServerRecord {
  return toolServerRecord({ id: 'mail', url, type: 'mcp', authType: 'oauth', isPerUser: true, ...fields });
}

/** With discovery and the beginning of a sign-in in one. */
export interface WholeOAuthClient extends OAuthClient {
  begin(record: ToolServerRecord, address: string, state: string): ReturnType<OAuthClient['beginAt']>;
}

export function oauthClient(options: Partial<OAuthClientOptions> & { send?: SendOutbound } = {}): WholeOAuthClient {
  const client = createOAuthClient({
    send: directSend,
    clients: memoryStores().oauthClients,
    publicUrl: undefined,
    signInOf: async () => undefined,
    now: Date.now,
    ...options,
  });
  const begin: WholeOAuthClient['begin'] = async (record, address, state) =>
    client.beginAt(await client.discover(record), record, { address, state });
  return Object.assign(client, { begin });
}

/** Goes the whole way as `account`, with a browser, and gives the parameters that come back. */
export async function signIn(authorizationUrl: string, account: string): Promise<URLSearchParams> {
  const browser = scriptedBrowser();
  const login = await browser.open(authorizationUrl);
  const consent = await browser.submit(login, { account, password: passwordOf(account) });
  await browser.submit(consent).catch(() => undefined);
  return new URL(browser.lastTried()).searchParams;
}

/** Signs `account` in at the server of the record. */
export async function credentialOf(oauth: WholeOAuthClient, record: ToolServerRecord, account = 'ada'): Promise<OAuthCredential> {
  const { authorizationUrl, pending } = await oauth.begin(record, gatewayAddress, 'state');
  return oauth.complete(record, pending, await signIn(authorizationUrl, account));
}

export interface HandMadeSetup {
  peers: HandMadePeers;
  clients: OAuthClientStore;
  oauth: WholeOAuthClient;
  begin: () => ReturnType<OAuthClient['beginAt']>;
  /** What the authorization server's answer in the browser holds. */
  complete: (pending: PendingAuthorization, parameters?: Record<string, string>) => ReturnType<OAuthClient['complete']>;
}

/** A client before peers that are made by hand, and break where `faults` say so. */
export async function handMadeSetup(
  faults: Faults = {},
  {
    send = directSend,
    publicUrl,
    fields,
  }: { send?: SendOutbound; publicUrl?: string | undefined; fields?: Partial<ToolServerRecord> | undefined } = {},
): Promise<HandMadeSetup> {
  const peers = await handMadePeers(faults);
  const clients = memoryStores().oauthClients;
  const oauth = oauthClient({ send, clients, publicUrl });
  const record = oauthRecord(peers.url, fields);
  return {
    peers,
    clients,
    oauth,
    begin: () => oauth.begin(record, publicUrl ?? gatewayAddress, 'state'),
    complete: (pending, parameters = { iss: peers.issuer }) =>
      oauth.complete(record, pending, new URLSearchParams({ code: secrets.code, state: 'state', ...parameters })),
  };
}

/** The usual JSON of a part, with a change. */
export const changed =
  (change: (json: JsonObject) => JsonObject): ((usual: Response) => Promise<Response>) =>
  async (usual) =>
    Response.json(change((await usual.json()) as JsonObject), { status: usual.status });
