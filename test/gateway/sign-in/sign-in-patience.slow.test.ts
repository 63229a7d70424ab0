import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { scriptedBrowser } from '../../_support/scripted-browser.ts';
import { handMadePeers } from '../../_support/hand-made-authorization.ts';
import type { Part } from '../../_support/hand-made-authorization.ts';
import { signIn, signInGateway } from './sign-in-fixture.ts';

const never = (): Promise<Response> => new Promise(() => undefined);

/** Valid JSON that goes on for longer than anybody waits, and never falls silent. */
function trickle(): Response {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('{');
    for (;;) {
      await wait(200, undefined, { ref: false });
      yield Buffer.from(' ');
    }
  }
  return new Response(pieces() as unknown as ReadableStream, { headers: { 'content-type': 'application/json' } });
}

const parts: Part[] = ['resource', 'metadata', 'registration', 'token'];

it.each([
  ['never comes', never],
  ['never ends', trickle],
])('a sign-in does not wait for longer than ten seconds for an answer that %s', async (_how, answer) => {
  await Promise.all(
    parts.map(async (part) => {
      const peers = await handMadePeers({ [part]: answer });
      const gateway = await signInGateway();
      await gateway.register({ id: 'mail', url: peers.url, type: 'mcp', auth_type: 'oauth' });
      const { key } = await gateway.keyFor(null);
      const made = await gateway.call('POST /api/credentials/mail/connect', { key });
      const page = await signIn(scriptedBrowser(), String(made.body['url']), 'nobody', { own: key });
      expect([part, page.status]).toEqual([part, 504]);
      expect(await gateway.stateOf({ key })).toBe('missing');
    }),
  );
});
