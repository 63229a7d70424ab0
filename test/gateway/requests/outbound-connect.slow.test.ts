import { afterEach, describe, expect, it } from 'vitest';

import { closeAll, openDoor, settle, startPeer, startServer, textOf } from '../../policy/outbound/peers.ts';

afterEach(closeAll);

/** Its timers count in half seconds, so a short limit takes about one. */
describe('the connection limit', () => {
  it('ends a call whose name never resolves', async () => {
    const door = openDoor({ connectTimeoutMs: 60, lookup: () => {} });
    await expect(door.send({ url: 'http://tools.example/' })).rejects.toMatchObject({
      failure: 'timeout',
      message: 'http://tools.example did not accept a connection in time. Is it running, and does a firewall block it?',
    });
  });

  it('ends a call whose peer never finishes the TLS handshake', async () => {
    const peer = await startPeer(() => {});
    const call = openDoor({ connectTimeoutMs: 60 }).send({ url: peer.origin.replace('http:', 'https:') });
    await expect(call).rejects.toMatchObject({ failure: 'timeout' });
    await expect.poll(() => peer.connections[0]?.destroyed).toBe(true);
  });

  it('does not hold up a caller who leaves', async () => {
    const peer = await startPeer(() => {});
    const signal = AbortSignal.timeout(50);
    const error: unknown = await openDoor()
      .send({ url: peer.origin.replace('http:', 'https:'), signal })
      .catch((error) => error);
    expect(error).toBe(signal.reason);
  });
});

describe('an idle connection', () => {
  it('is given up before common servers would, whatever the server promises', async () => {
    const server = await startServer((_request, response) => response.writeHead(200, { 'keep-alive': 'timeout=600' }).end('ok'));
    expect(await textOf(await openDoor().send({ url: server.origin }))).toBe('ok');
    await settle(2_000);
    expect(server.connections[0]?.destroyed).toBe(false);
    await settle(2_800);
    expect(server.connections[0]?.destroyed).toBe(true);
  });
});
