import { describe, expect, it } from 'vitest';
import {
  adminKey,
  allow,
  askFor,
  browserFor,
  callTool,
  connect,
  exchange,
  mcpStatus,
  programScene,
  redirectUri,
  refresh,
} from './program-fixture.ts';

describe('a program that signs in at /mcp', () => {
  it('finds the authorization server from the 401', async () => {
    const { url } = await programScene();
    const refused = await fetch(`${url}/mcp`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
    const challenge = refused.headers.get('www-authenticate') ?? '';
    expect([refused.status, challenge]).toEqual([401, expect.stringContaining('scope="mcp"')]);
    const address = /resource_metadata="([^"]+)"/.exec(challenge)?.[1] ?? '';
    expect(address).toBe(`${url}/.well-known/oauth-protected-resource/mcp`);
    const resource = (await (await fetch(address)).json()) as { authorization_servers: string[] };
    expect(resource).toMatchObject({ resource: `${url}/mcp`, authorization_servers: [url] });
    expect(await (await fetch(`${url}/.well-known/oauth-protected-resource`)).json()).toEqual(resource);
    const server = (await (await fetch(`${url}/.well-known/oauth-authorization-server`)).json()) as Record<string, unknown>;
    expect(server).toMatchObject({
      issuer: url,
      authorization_endpoint: `${url}/oauth/authorize`,
      code_challenge_methods_supported: ['S256'],
      client_id_metadata_document_supported: true,
      authorization_response_iss_parameter_supported: true,
    });
    expect((await fetch(`${url}/.well-known/oauth-authorization-server/mcp`)).status).toBe(404);
  });

  it('registers, gets consent with a key, and calls a function', async () => {
    const scene = await programScene();
    const { key } = await scene.keyFor();
    const { client_id: client } = await scene.register();
    const browser = browserFor();
    const asked = askFor(scene.url, client);
    const page = await browser.open(asked.url);
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('127.0.0.1')]);
    const back = await allow(browser, page, key);
    expect(`${back.origin}${back.pathname}`).toBe(redirectUri);
    expect(Object.fromEntries(back.searchParams)).toEqual({ code: expect.any(String), state: asked.state, iss: scene.url });
    const answer = await exchange(scene, { client, code: back.searchParams.get('code') ?? '', verifier: asked.verifier });
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        access_token: expect.any(String),
        refresh_token: expect.any(String),
        expires_in: 3_600,
        token_type: 'Bearer',
        scope: 'mcp',
      },
    ]);
    expect(await callTool(scene, String(answer.body['access_token']))).toContain('12:00');
  });

  it('refreshes its tokens, each refresh token once', async () => {
    const scene = await programScene();
    const first = await connect(scene, adminKey);
    const { status, body } = await refresh(scene, first);
    expect([status, body]).toEqual([200, expect.objectContaining({ access_token: expect.any(String), refresh_token: expect.any(String) })]);
    expect(body['refresh_token']).not.toBe(first.refresh_token);
    expect(await mcpStatus(scene, String(body['access_token']))).toBe(200);
    expect((await refresh(scene, first)).body).toMatchObject({ error: 'invalid_grant' });
    expect(await mcpStatus(scene, String(body['access_token']))).toBe(401);
  });
});
