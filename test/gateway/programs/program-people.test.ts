import { describe, expect, it, onTestFinished } from 'vitest';
import { readConfig } from '../../../src/app/config/config.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { authorizationServer } from '../../_support/authorization-server.ts';
import type { AuthorizationServer } from '../../_support/authorization-server.ts';
import { startTokenIssuer } from '../../_support/token-issuer.ts';
import { consoleClient, environmentFor, throughProvider } from '../sign-in/login-fixture.ts';
import { createOutbound } from '../../../src/policy/outbound/outbound-request.ts';
import { adminKey, allow, answers, askFor, browserFor, callTool, exchange, mcpStatus, programScene, refresh } from './program-fixture.ts';
import type { ProgramScene, Tokens } from './program-fixture.ts';
import { scriptedSend } from '../../tools/scripted-send.ts';
import type { SendOutbound } from '../../../src/core/outbound.ts';

interface People {
  scene: ProgramScene;
  provider: AuthorizationServer;
}

/** A gateway whose people sign in at a provider. */
async function people(): Promise<People> {
  const provider = await authorizationServer({ offersRegistration: false, clients: [consoleClient] });
  return { scene: await programScene({ environment: environmentFor(provider.url), send: sendTo(provider.url) }), provider };
}

/** Reaches this origin, and tools that are scripted. */
function sendTo(origin: string): SendOutbound {
  const outbound = createOutbound({
    egress: { mode: 'public', allow: [] },
    maxConnectionsPerOrigin: 10,
    onConnectionLimit: () => undefined,
  });
  onTestFinished(() => outbound.close());
  const script = scriptedSend(answers);
  return (request) => (request.url.startsWith(origin) ? outbound.send(request) : script.send(request));
}

async function connectAs({ scene }: People, account: string): Promise<Tokens & { client_id: string }> {
  const { client_id: client } = await scene.register();
  const browser = browserFor();
  const asked = askFor(scene.url, client);
  const asking = await browser.open(asked.url);
  expect(asking.text).toContain('Sign in to this gateway first');
  const link = /href="([^"]*\/login\?return_to=[^"]*)"/.exec(asking.body)?.[1] ?? '';
  const page = await throughProvider(browser, await browser.follow(asking, link.replaceAll('&amp;', '&')), account);
  expect(page.text).toContain(`You are signed in as ${account}`);
  const back = await allow(browser, page);
  const { status, body } = await exchange(scene, { client, code: back.searchParams.get('code') ?? '', verifier: asked.verifier });
  expect(status).toBe(200);
  return { ...(body as Tokens), client_id: client };
}

describe('people who sign in by OpenID', () => {
  it('allow a program with their sign-in, and it calls functions as them', async () => {
    const found = await people();
    const { scene } = found;
    const tokens = await connectAs(found, 'ada');
    expect(await callTool(scene, tokens.access_token)).toContain('12:00');
    const [client] = (await scene.call('GET /api/clients', adminKey)).body['data'] as unknown as { authorizations: JsonObject[] }[];
    expect(client?.authorizations).toMatchObject([{ caller: expect.stringMatching(/^oidc_.+\/ada$/) }]);
  });

  it('are asked again after 30 days, however often the program refreshes', async () => {
    const found = await people();
    const tokens = await connectAs(found, 'ada');
    found.scene.clock.aheadMs = 29 * 24 * 60 * 60_000;
    const later = await refresh(found.scene, tokens);
    expect(later.status).toBe(200);
    found.scene.clock.aheadMs = 30.5 * 24 * 60 * 60_000;
    expect((await refresh(found.scene, { ...tokens, refresh_token: String(later.body['refresh_token']) })).status).toBe(400);
  });

  it('end their programs when they are deleted, and nobody else’s', async () => {
    const found = await people();
    const { scene } = found;
    const [ada, bob] = [await connectAs(found, 'ada'), await connectAs(found, 'bob')];
    const [person] = (await scene.call('GET /api/users?search=ada', adminKey)).body['data'] as unknown as { id: string; key: string }[];
    expect((await scene.call(`DELETE /api/users/${person?.key}/${person?.id}`, adminKey)).status).toBe(200);
    expect([await mcpStatus(scene, ada.access_token), await mcpStatus(scene, bob.access_token)]).toEqual([401, 200]);
  });

  it('cannot be spoken for by a key, a pasted token, or a form without their sign-in', async () => {
    const found = await people();
    const { scene } = found;
    const { client_id: client } = await scene.register();
    const browser = browserFor();
    const page = await browser.open(askFor(scene.url, client).url);
    const [form] = page.forms;
    const forged = {
      ...page,
      forms: form === undefined ? [] : [{ ...form, buttons: [{ name: 'answer', value: 'allow', text: 'Allow' }] }],
    };
    const refused = await browser.submit(
      { ...forged, forms: forged.forms.map((one) => ({ ...one, fields: { ...one.fields, key: adminKey } })) },
      {},
      'allow',
    );
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('You are not signed in')]);
  });
});

describe('tokens of another issuer', () => {
  it('open /mcp as a user, for its audience only, and the gateway issues none', async () => {
    await using issuer = await startTokenIssuer();
    const environment = { MCP_OAUTH_ISSUER: issuer.url };
    const scene = await programScene({ environment, send: sendTo(issuer.url) });
    const metadata = (await (await fetch(`${scene.url}/.well-known/oauth-protected-resource/mcp`)).json()) as JsonObject;
    expect(metadata).toMatchObject({ resource: `${scene.url}/mcp`, authorization_servers: [issuer.url] });
    const token = await issuer.tokenFor('ada', { claims: { aud: `${scene.url}/mcp` } });
    expect(await callTool(scene, token)).toContain('12:00');
    expect((await scene.call('GET /api/tools', token)).status).toBe(401);
    expect(await mcpStatus(scene, await issuer.tokenFor('ada', { claims: { aud: scene.url } }))).toBe(401);
    expect(await mcpStatus(scene, await issuer.tokenFor('ada', { claims: { aud: `${scene.url}/mcp`, iss: 'https://evil.example' } }))).toBe(
      401,
    );
    expect(await mcpStatus(scene, await issuer.tokenFor('ada', { claims: { aud: `${scene.url}/mcp` }, expiresIn: -120 }))).toBe(401);
    for (const path of ['/.well-known/oauth-authorization-server', '/oauth/authorize'])
      expect((await fetch(`${scene.url}${path}`)).status).toBe(404);
    expect((await scene.call('POST /oauth/register', '', { redirect_uris: ['https://app.example/cb'] })).status).toBe(404);
  });

  it('need PUBLIC_URL, which they name', () => {
    expect(() => readConfig({ MCP_OAUTH_ISSUER: 'https://accounts.example' }, () => undefined)).toThrow('PUBLIC_URL is not set');
  });
});
