import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { closeAll, openDoor, settle, startServer } from './peers.ts';
import { waitFor } from '../../_support/wait-for.ts';

afterEach(closeAll);

/** A body that the test sends, and what its reader has taken of it. */
async function openAnswer({ signal = AbortSignal.timeout(10_000), idleTimeoutMs = 5_000 } = {}) {
  const opened = Promise.withResolvers<ServerResponse>();
  const peer = await startServer((_request, response) => {
    response.writeHead(200).flushHeaders();
    opened.resolve(response);
  });
  const { body } = await openDoor().send({ url: peer.origin, signal, idleTimeoutMs });
  const response = await opened.promise;
  let taken = '';
  const take = (piece: Uint8Array): undefined => {
    taken += Buffer.from(piece).toString('latin1');
  };
  return { body, response, take, taken: () => taken, connection: peer.connections[0] };
}

describe('the bytes of an answer', () => {
  it('are taken as they arrive, and the end comes after them', async () => {
    const { body, response, take, taken } = await openAnswer();
    const reading = body.readEach(take);
    response.write('one ');
    await waitFor(() => expect(taken()).toBe('one '));
    response.end('two');
    expect(await reading).toEqual({});
    expect(taken()).toBe('one two');
  });

  it('that have come in one turn are taken at once', async () => {
    const { body, response } = await openAnswer();
    const pieces: string[] = [];
    response.cork();
    for (const word of ['one ', 'two ', 'three']) response.write(word);
    response.uncork();
    response.end();
    await settle(50);
    await body.readEach((piece) => void pieces.push(Buffer.from(piece).toString()));
    expect(pieces).toEqual(['one two three']);
  });

  it('wait for a reader that is slow, and so does the peer', async () => {
    const { body, response } = await openAnswer({ idleTimeoutMs: 1_000 });
    const size = 16 * 1024 * 1024;
    const { promise: isFast, resolve: goOn } = Promise.withResolvers<void>();
    let takes = 0;
    let bytes = 0;
    const reading = body.readEach((piece) => {
      takes += 1;
      bytes += piece.byteLength;
      return isFast;
    });
    response.end(Buffer.alloc(size, 'a'));
    await settle(1_200);
    expect(takes, 'nothing is taken meanwhile, and the idle limit of the peer does not count').toBe(1);
    expect(response.writableFinished).toBe(false);
    goOn();
    expect(await reading).toEqual({});
    expect(bytes).toBe(size);
  });

  it.each([
    [
      'at once',
      () => {
        throw new Error('full');
      },
    ],
    ['later', () => Promise.reject(new Error('full'))],
  ])('of which the reader wants no more close the connection (%s)', async (_, take: () => Promise<void>) => {
    const { body, response, connection } = await openAnswer();
    const reading = body.readEach(take);
    response.write('one');
    await expect(reading).rejects.toThrow('full');
    await waitFor(() => expect(connection?.destroyed).toBe(true));
  });

  it('end where the reader closes them', async () => {
    const { body, response, take, connection } = await openAnswer();
    const reading = body.readEach(take);
    response.write('one');
    body.close();
    expect(await reading).toEqual({});
    await waitFor(() => expect(connection?.destroyed).toBe(true));
  });

  it('come before the failure of a peer that dies in mid-stream', async () => {
    const { body, response, take, taken } = await openAnswer();
    const reading = body.readEach(take);
    response.write('one');
    await waitFor(() => expect(taken()).toBe('one'));
    response.destroy();
    expect(await reading).toMatchObject({ failure: { failure: 'cut' } });
  });

  it('end with the reason of a caller that leaves after the first byte', async () => {
    const leaving = new AbortController();
    const { body, response, take, taken, connection } = await openAnswer({ signal: leaving.signal });
    const reading = body.readEach(take);
    response.write('one');
    await waitFor(() => expect(taken()).toBe('one'));
    const reason = new Error('gone');
    leaving.abort(reason);
    expect(await reading).toEqual({ failure: reason });
    await waitFor(() => expect(connection?.destroyed).toBe(true));
  });

  it('end at the idle limit of a silent peer', async () => {
    const { body, take } = await openAnswer({ idleTimeoutMs: 50 });
    expect(await body.readEach(take)).toMatchObject({ failure: { failure: 'timeout' } });
  });
});
