import { expect, it } from 'vitest';
import { handMadePeers, secrets } from '../../_support/hand-made-authorization.ts';
import { scriptedBrowser } from '../../_support/scripted-browser.ts';
import { adminKey, byHeader, linkFor, signIn, signInGateway } from './sign-in-fixture.ts';

// Whatever is deleted while the code is exchanged has deleted the tokens that there were; those that come then would outlast it.
it.each(['key', 'person', 'server'] as const)('tokens that come for a %s that was just deleted are revoked, and not kept', async (what) => {
  const admin = { key: adminKey };
  let deletion = '';
  const peers = await handMadePeers({
    async token(usual) {
      if (deletion !== '') expect((await gateway.call(`DELETE ${deletion}`, admin)).status).toBe(200);
      return usual;
    },
  });
  const gateway = await signInGateway();
  await gateway.register({ id: 'mail', url: peers.url, type: 'mcp', auth_type: 'oauth' });
  const { id, key } = await gateway.keyFor(what === 'person' ? byHeader : null);
  const who = { key, ...(what === 'person' && { user: 'ada' }) };
  const own = what === 'person' ? {} : { own: key };
  const stored = async (): Promise<unknown> =>
    (await gateway.call(what === 'person' ? `GET /api/users/${id}/ada/credentials` : `GET /api/keys/${id}/credentials`, admin)).body[
      'data'
    ];

  await signIn(scriptedBrowser(), await linkFor(gateway, who, 'mail'), 'nobody', own);
  expect(await stored()).toMatchObject([{ server: 'mail', state: 'connected' }]);
  deletion = { key: `/api/keys/${id}`, person: `/api/users/${id}/ada`, server: '/api/tool-servers/mail' }[what];
  const link = await linkFor(gateway, who, 'mail');
  peers.seen.splice(0);
  const page = await signIn(scriptedBrowser(), link, 'nobody', own);
  expect(peers.seenBy('token')).toHaveLength(1);
  expect(page.status).toBeGreaterThanOrEqual(400);
  expect(await stored()).toEqual([]);
  // Of the deletion, and of what came after it: side by side, in any order.
  const revoked = (): string[] => peers.seenBy('revocation').map(({ params }) => String(params['token']));
  await expect.poll(() => revoked().toSorted()).toEqual([secrets.access, secrets.access, secrets.refresh, secrets.refresh]);
});
