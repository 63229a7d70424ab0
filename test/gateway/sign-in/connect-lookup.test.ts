import { expect, it } from 'vitest';
import { handMadePeers } from '../../_support/hand-made-authorization.ts';
import type { Faults, HandMadePeers } from '../../_support/hand-made-authorization.ts';
import { scriptedBrowser } from '../../_support/scripted-browser.ts';
import { linkFor, signIn, signInGateway } from './sign-in-fixture.ts';
import type { SignInGateway, Who } from './sign-in-fixture.ts';

interface Scene {
  peers: HandMadePeers;
  gateway: SignInGateway;
  who: Who;
  link: string;
}

/** A link of somebody to a server whose authorization server answers a request for its metadata with `metadata`. */
async function sceneOf(metadata: NonNullable<Faults['metadata']>): Promise<Scene> {
  const peers = await handMadePeers({ metadata });
  const gateway = await signInGateway();
  await gateway.register({ id: 'mail', url: peers.url, type: 'mcp', auth_type: 'oauth', info: { name: 'Mail' } });
  const who = await gateway.keyFor(null);
  return { peers, gateway, who, link: await linkFor(gateway, who, 'mail') };
}

it('a page to connect appears before the authorization server answers, and continues by itself without a script', async () => {
  const answered = Promise.withResolvers<void>();
  const { peers, gateway, who, link } = await sceneOf(async (usual) => {
    await answered.promise;
    return usual;
  });
  for (let reloaded = 0; reloaded < 2; reloaded += 1) {
    const page = await fetch(link);
    expect([page.status, page.headers.get('refresh')]).toEqual([200, '1']);
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src [^;]+; form-action 'self';/);
    const text = await page.text();
    expect(text).toContain('looking up the sign-in of Mail');
    expect(text).not.toContain('<form');
  }
  answered.resolve();
  expect((await signIn(scriptedBrowser(), link, 'nobody', { own: who.key })).text).toContain('You can go back to your chat');
  expect(await gateway.stateOf(who)).toBe('connected');
  // For the pages and for the button together.
  expect(peers.seenBy('metadata')).toHaveLength(1);
});

it('a page to connect shows once that the authorization server has failed, and then looks it up again', async () => {
  let hasFailed = false;
  const { peers, gateway, who, link } = await sceneOf((usual) => {
    if (hasFailed) return usual;
    hasFailed = true;
    return Response.json({ issuer: 'http://another.test' });
  });
  expect((await scriptedBrowser().open(link)).status).toBe(502);
  expect((await signIn(scriptedBrowser(), link, 'nobody', { own: who.key })).status).toBe(200);
  expect(await gateway.stateOf(who)).toBe('connected');
  expect(peers.seenBy('metadata')).toHaveLength(2);
});

it('it is looked up for each person, and again when the connection changes', async () => {
  const { peers, gateway, link } = await sceneOf((usual) => usual);
  const other = await gateway.keyFor(null);
  for (const opened of [link, link, await linkFor(gateway, other, 'mail')]) expect((await scriptedBrowser().open(opened)).status).toBe(200);
  expect(peers.seenBy('metadata')).toHaveLength(2);
  const changed = await gateway.call('PATCH /api/tool-servers/mail', { key: 'sk-tw-fixed-administrator' }, { oauth: { scopes: ['read'] } });
  expect(changed.status).toBe(200);
  expect((await scriptedBrowser().open(link)).status).toBe(200);
  expect(peers.seenBy('metadata')).toHaveLength(3);
});
