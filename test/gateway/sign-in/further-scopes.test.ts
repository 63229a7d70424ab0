import { expect, it } from 'vitest';
import { authorizationServer } from '../../_support/authorization-server.ts';
import type { AuthorizationServer } from '../../_support/authorization-server.ts';
import { protectedMcpServer } from '../../_support/protected-servers.ts';
import type { ProtectedServer } from '../../_support/protected-servers.ts';
import { scriptedBrowser } from '../../_support/scripted-browser.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { connectOf, contentOf, linkFor, signIn, signInGateway } from './sign-in-fixture.ts';
import type { SignInGateway, Who } from './sign-in-fixture.ts';

interface Scene {
  authorization: AuthorizationServer;
  server: ProtectedServer;
  gateway: SignInGateway;
  who: Who;
}

/** Somebody who has signed in, with what the list of functions needs. */
async function signedIn(callScopes: string[], oauth?: JsonObject): Promise<Scene> {
  const authorization = await authorizationServer({ scopes: ['profile.read', 'profile.write'] });
  const server = await protectedMcpServer(authorization, { callScopes });
  const gateway = await signInGateway();
  await gateway.register({ id: 'mail', url: server.url, type: 'mcp', auth_type: 'oauth', info: { name: 'Mail' }, ...(oauth && { oauth }) });
  const who = await gateway.keyFor(null);
  await signIn(scriptedBrowser(), await linkFor(gateway, who, 'mail'), 'ada', { own: who.key });
  return { authorization, server, gateway, who };
}

const scopesAsked = ({ authorization }: Scene): unknown[] =>
  authorization.asked('/auth').map(({ params }) => String(params['scope']).split(' '));

it('asks for the old and the further scopes by a link that shows both, and then runs the call', async () => {
  const scene = await signedIn(['profile.write']);
  const { gateway, server, who } = scene;
  const waiting = connectOf(await gateway.ask(who));
  expect(server.callers).toEqual([]);
  const early = await gateway.call(`POST /api/runs/${waiting.run_id}/resume`, who, { token: waiting.token });
  expect(early).toMatchObject({ status: 409, body: { error: { code: 'credential_required' } } });
  expect(await gateway.stateOf(who)).toBe('connected');

  const link = waiting.servers[0]?.url ?? '';
  const page = await scriptedBrowser().open(link);
  expect(page.text).toMatch(/Access so far\s+profile\.read/);
  expect(page.text).toMatch(/Additional access\s+profile\.write/);
  await signIn(scriptedBrowser(), link, 'ada', { own: who.key });
  expect(scopesAsked(scene).at(-1)).toEqual(expect.arrayContaining(['profile.read', 'profile.write']));
  const resumed = await gateway.call(`POST /api/runs/${waiting.run_id}/resume`, who, { token: waiting.token });
  expect(contentOf(resumed)).toContain('account: ada');
  expect(server.callers).toEqual(['ada']);
});

it('does not ask again for scopes that the last sign-in has asked for', async () => {
  const scene = await signedIn(['profile.admin']);
  const { gateway, who } = scene;
  const waiting = connectOf(await gateway.ask(who));
  // The authorization server knows no such scope, and grants the others.
  await signIn(scriptedBrowser(), waiting.servers[0]?.url ?? '', 'ada', { own: who.key });
  const resumed = await gateway.call(`POST /api/runs/${waiting.run_id}/resume`, who, { token: waiting.token });
  expect(contentOf(resumed)).toMatch(/profile\.admin.*not executed.*asked for profile\.read profile\.admin already/);
  expect(resumed.body['connect']).toBeUndefined();
});

it('names the setting where the connection decides about the scopes', async () => {
  const scene = await signedIn(['profile.write'], { scopes: ['profile.read'] });
  const answer = await scene.gateway.ask(scene.who);
  expect(answer.body['connect']).toBeUndefined();
  expect(contentOf(answer)).toContain('Add profile.read profile.write to scopes in oauth of the tool server');
});
