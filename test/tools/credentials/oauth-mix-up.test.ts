import { describe, expect, it } from 'vitest';
import type { DocumentSignIn } from '../../../src/tools/definitions/opened-server.ts';
import { handMadePeers, metadataOf, secrets, trap } from '../../_support/hand-made-authorization.ts';
import { gatewayAddress, oauthClient, oauthRecord, type WholeOAuthClient } from './oauth-fixture.ts';

const configured = { clientId: 'client' };

/** A gateway before an API whose document says this about sign-in. */
function apiClient(signIn: Omit<Extract<DocumentSignIn, { type: 'oauth2' }>, 'type' | 'scopes'>): WholeOAuthClient {
  return oauthClient({ signInOf: async () => ({ type: 'oauth2', scopes: [], ...signIn }) });
}

const api = (oauth = {}) => oauthRecord('http://api.test', { type: 'openapi', oauth: { ...configured, ...oauth } });
const answer = (iss?: string): URLSearchParams =>
  new URLSearchParams({ code: secrets.code, state: 'state', ...(iss !== undefined && { iss }) });

describe('the code of one authorization server', () => {
  it('does not go to an API that sends people on to another server than it names', async () => {
    const { url, seen } = await trap();
    const honest = await handMadePeers();
    const oauth = apiClient({ authorizeUrl: `${url}/sign-in`, tokenUrl: `${url}/tokens` });
    const { pending } = await oauth.begin(api(), gatewayAddress, 'state');
    seen.splice(0);
    await expect(oauth.complete(api(), pending, answer(honest.issuer))).rejects.toThrow(/does not come from/);
    expect(seen).toEqual([]);
    // Those that do not say who they are cannot be told apart.
    await oauth.complete(api(), pending, answer()).catch(() => undefined);
    expect(seen).toEqual([expect.stringContaining('/tokens')]);
  });

  it('goes to the server that says so of itself, wherever it takes codes', async () => {
    const elsewhere = await handMadePeers();
    const tokenUrl = `${elsewhere.issuer}/token`;
    const honest = await handMadePeers({ metadata: () => Response.json({ ...metadataOf(honest.issuer), token_endpoint: tokenUrl }) });
    const oauth = apiClient({ authorizeUrl: `${honest.issuer}/authorize`, tokenUrl });
    const { pending } = await oauth.begin(api(), gatewayAddress, 'state');
    expect(await oauth.complete(api(), pending, answer(honest.issuer))).toMatchObject({ accessToken: secrets.access });
    await expect(oauth.complete(api(), pending, answer(elsewhere.issuer))).rejects.toThrow(/iss/);
    await expect(oauth.complete(api(), pending, answer())).rejects.toThrow(/iss/);
  });

  it('does not go where a document alone says, against the word of the server', async () => {
    const { url, seen } = await trap();
    const honest = await handMadePeers();
    const signIn = { authorizeUrl: `${honest.issuer}/authorize`, tokenUrl: `${url}/tokens` };
    await expect(apiClient(signIn).begin(api(), gatewayAddress, 'state')).rejects.toThrow(/not its token address/);
    expect(seen.filter((request) => request.startsWith('POST'))).toEqual([]);
    // Not even if that address has metadata of its own.
    const attacker = await handMadePeers();
    const passing = { authorizeUrl: `${honest.issuer}/authorize`, tokenUrl: `${attacker.issuer}/token` };
    await expect(apiClient(passing).begin(api(), gatewayAddress, 'state')).rejects.toThrow(/not its token address/);
    // What an operator has entered is meant so.
    const { pending } = await apiClient(signIn).begin(api(signIn), gatewayAddress, 'state');
    expect(pending.tokenEndpoint).toBe(`${url}/tokens`);
  });
});

it('a token is asked for no resource that a server has not named as its own', async () => {
  const unnamed = await handMadePeers({ resource: () => Response.json({ authorization_servers: [unnamed.issuer] }) });
  await expect(oauthClient().begin(oauthRecord(unnamed.url), gatewayAddress, 'state')).rejects.toThrow(
    /the resource without a name instead of/,
  );
  const named = await handMadePeers();
  const { pending } = await oauthClient().begin(oauthRecord(named.url), gatewayAddress, 'state');
  expect(pending.resource).toBe(named.url);
});
