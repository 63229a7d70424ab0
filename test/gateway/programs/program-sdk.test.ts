import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import type { OAuthClientInformationMixed, OAuthClientProvider, OAuthTokens } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { adminKey, allow, browserFor, programScene, redirectUri } from './program-fixture.ts';
import type { ProgramScene } from './program-fixture.ts';

interface Kept {
  client?: OAuthClientInformationMixed;
  tokens?: OAuthTokens;
  verifier?: string;
  /** Where a person is to go. */
  asks?: URL;
}

/** A program as the SDK has it: it keeps what it is given, and sends its person to a page. */
function programOf(kept: Kept): OAuthClientProvider {
  return {
    redirectUrl: redirectUri,
    clientMetadata: { client_name: 'SDK', redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' },
    clientInformation: () => kept.client,
    saveClientInformation: (client) => void (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void (kept.tokens = tokens),
    redirectToAuthorization: (url) => void (kept.asks = url),
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier ?? '',
    invalidateCredentials(scope) {
      if (scope === 'all' || scope === 'tokens') delete kept.tokens;
      if (scope === 'all' || scope === 'client') delete kept.client;
    },
  };
}

async function connectWith(scene: ProgramScene, kept: Kept): Promise<Client> {
  const client = new Client({ name: 'tester', version: '1' });
  const authProvider = programOf(kept);
  const transport = new StreamableHTTPClientTransport(new URL(`${scene.url}/mcp`), { authProvider });
  onTestFinished(() => client.close());
  try {
    await client.connect(transport);
    return client;
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
  }
  const browser = browserFor();
  const back = await allow(browser, await browser.open(String(kept.asks)), adminKey);
  await transport.finishAuth(back.searchParams);
  const connected = new Client({ name: 'tester', version: '1' });
  onTestFinished(() => connected.close());
  await connected.connect(new StreamableHTTPClientTransport(new URL(`${scene.url}/mcp`), { authProvider }));
  return connected;
}

describe('the MCP SDK', () => {
  it('registers, is allowed, calls a function, refreshes, and asks again after it was revoked', async () => {
    const scene = await programScene();
    const kept: Kept = {};
    const client = await connectWith(scene, kept);
    const call = async (): Promise<string> => JSON.stringify((await client.callTool({ name: 'get_time', arguments: {} })).content);
    expect(await call()).toContain('12:00');
    const first = kept.tokens?.access_token;
    scene.clock.aheadMs = 61 * 60_000;
    expect(await call()).toContain('12:00');
    expect(kept.tokens?.access_token).not.toBe(first);
    await scene.post('/oauth/revoke', { token: kept.tokens?.access_token ?? '', client_id: kept.client?.client_id ?? '' });
    const asked = kept.asks;
    await expect(call()).rejects.toThrow(UnauthorizedError);
    expect(kept.asks).not.toBe(asked);
    expect(await (await connectWith(scene, kept)).callTool({ name: 'get_time', arguments: {} })).toMatchObject({
      structuredContent: { time: '12:00' },
    });
  });
});
