import type { OAuthCredential } from '../../../src/core/credentials.ts';
import type { SendOutbound } from '../../../src/core/outbound.ts';
import type { ToolServerRecord } from '../../../src/core/registry.ts';
import { createOAuthClient } from '../../../src/tools/credentials/oauth-client.ts';
import type { OAuthClient, OAuthClientOptions } from '../../../src/tools/credentials/oauth-client.ts';
import { passwordOf } from '../../_support/authorization-server.ts';
import { directSend } from '../../_support/direct-send.ts';
import { memoryStores } from '../../_support/memory-stores.ts';
import { scriptedBrowser } from '../../_support/scripted-browser.ts';
import { toolServerRecord } from '../../storage/registry-contract.ts';

/** Nobody listens there: the browser tells where it was sent. */
export const redirectUri = 'http://127.0.0.1:1/oauth/callback';

export function oauthRecord(url: string, fields: Partial<ToolServerRecord> = {}): ToolServerRecord {
  return toolServerRecord({ id: 'mail', url, type: 'mcp', authType: 'oauth', isPerUser: true, ...fields });
}

export function oauthClient(options: Partial<OAuthClientOptions> & { send?: SendOutbound } = {}): OAuthClient {
  return createOAuthClient({
    send: directSend,
    clients: memoryStores().oauthClients,
    publicUrl: undefined,
    signInOf: async () => undefined,
    now: Date.now,
    ...options,
  });
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
export async function credentialOf(oauth: OAuthClient, record: ToolServerRecord, account = 'ada'): Promise<OAuthCredential> {
  const { authorizationUrl, pending } = await oauth.begin(record, redirectUri, 'state');
  return oauth.complete(record, pending, await signIn(authorizationUrl, account));
}
