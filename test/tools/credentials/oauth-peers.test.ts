import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import type { OAuthClientProvider } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { authorizationServer, passwordOf } from '../../_support/authorization-server.ts';
import { handMadePeers } from '../../_support/hand-made-authorization.ts';
import { protectedMcpServer } from '../../_support/protected-servers.ts';
import { scriptedBrowser } from '../../_support/scripted-browser.ts';

const redirectUrl = 'http://127.0.0.1:1/oauth/callback';

/** What the official client keeps of a sign-in. */
function memoryProvider(): OAuthClientProvider & { kept: Record<string, unknown> } {
  const kept: Record<string, unknown> = {};
  return {
    kept,
    redirectUrl,
    clientMetadata: {
      client_name: 'tester',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
    },
    clientInformation: () => kept['client'] as never,
    saveClientInformation: (client) => void (kept['client'] = client),
    tokens: () => kept['tokens'] as never,
    saveTokens: (tokens) => void (kept['tokens'] = tokens),
    redirectToAuthorization: (url) => void (kept['url'] = url.href),
    saveCodeVerifier: (verifier) => void (kept['verifier'] = verifier),
    codeVerifier: () => String(kept['verifier']),
    saveDiscoveryState: (state) => void (kept['discovery'] = state),
    discoveryState: () => kept['discovery'] as never,
  };
}

describe('the authorization server, the tool server and the browser of these tests', () => {
  it('let the official client of MCP in, and end what was revoked', async () => {
    const authorization = await authorizationServer();
    const server = await protectedMcpServer(authorization);
    const provider = memoryProvider();
    const transport = (): StreamableHTTPClientTransport =>
      new StreamableHTTPClientTransport(new URL(server.url), { authProvider: provider });
    const first = transport();
    await expect(new Client({ name: 'tester', version: '1' }).connect(first)).rejects.toThrow(UnauthorizedError);

    const browser = scriptedBrowser();
    const login = await browser.open(String(provider.kept['url']));
    expect(login.text).toContain('Sign in');
    expect((await browser.submit(login, { account: 'ada', password: 'wrong' })).text).toContain('Wrong account');
    const consent = await browser.submit(login, { account: 'ada', password: passwordOf('ada') });
    expect(consent.text).toContain('use the account ada');
    const way = await browser.submit(consent).catch((error: { message: string }) => error);
    // Nobody listens at the redirect address.
    expect(way).toMatchObject({ code: 'ECONNREFUSED' });
    const back = new URL(browser.lastTried());
    expect(back.searchParams.get('iss')).toBe(authorization.url);
    await first.finishAuth(back.searchParams);

    const client = new Client({ name: 'tester', version: '1' });
    await client.connect(transport());
    onTestFinished(() => client.close());
    expect(await client.callTool({ name: 'whoami', arguments: {} })).toMatchObject({ content: [{ text: 'account: ada' }] });
    const [grant] = authorization.grants('authorization_code');
    expect(grant).toMatchObject({ status: 200, params: { resource: server.url } });

    await authorization.endAllGrants();
    await expect(client.callTool({ name: 'whoami', arguments: {} })).rejects.toThrow('grant request is invalid');
    expect(new Set(authorization.grants('refresh_token').map(({ status }) => status))).toEqual(new Set([400]));
  });

  it('let it in too where they are made by hand', async () => {
    const peers = await handMadePeers();
    const provider = memoryProvider();
    const transport = (): StreamableHTTPClientTransport =>
      new StreamableHTTPClientTransport(new URL(peers.url), { authProvider: provider });
    const first = transport();
    await expect(new Client({ name: 'tester', version: '1' }).connect(first)).rejects.toThrow(UnauthorizedError);
    const browser = scriptedBrowser();
    await expect(browser.open(String(provider.kept['url']))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await first.finishAuth(new URL(browser.lastTried()).searchParams);
    const client = new Client({ name: 'tester', version: '1' });
    await client.connect(transport());
    onTestFinished(() => client.close());
    expect(await client.callTool({ name: 'whoami', arguments: {} })).toMatchObject({ content: [{ text: 'account: somebody' }] });
  });
});
