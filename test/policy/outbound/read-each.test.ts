import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { closeAll, openDoor, settle, startPeer, startServer } from './peers.ts';
import { readBytes } from '../../../src/core/outbound.ts';
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

describe('the memory that the bytes of an answer keep', () => {
  const chunks = 100;
  const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
  const chunk = `1;x=${'e'.repeat(60_000)}\r\na\r\n`;

  it('is not that of chunk extensions', async () => {
    const peer = await startPeer((socket) => void socket.write(`${head}${chunk.repeat(chunks)}0\r\n\r\n`));
    const { body } = await openDoor().send({ url: peer.origin });
    const pieces: Uint8Array[] = [];
    await body.readEach((piece) => void pieces.push(piece));
    expect(Buffer.concat(pieces).toString()).toBe('a'.repeat(chunks));
    const kept = [...new Set(pieces.map(({ buffer }) => buffer))].reduce((sum, { byteLength }) => sum + byteLength, 0);
    expect(kept).toBeLessThan(200_000);
  });

  it('counts while nobody reads, so that the peer has to wait', async () => {
    let sent = 0;
    const peer = await startPeer((socket) => {
      socket.write(head);
      const writeOn = (): void => {
        while (sent < 400) {
          sent += 1;
          if (!socket.write(chunk)) return void socket.once('drain', writeOn);
        }
        socket.end('0\r\n\r\n');
      };
      writeOn();
    });
    const { body } = await openDoor().send({ url: peer.origin });
    await settle(300);
    expect(sent, 'of 24 MB, what the system buffers').toBeLessThan(300);
    expect((await readBytes(body, 1_000)).bytes.byteLength).toBe(400);
  });

  it.each([
    ['one', 1],
    ['many', 3_000],
  ])('is theirs alone where they came in %s', async (_what, count) => {
    const pieces = Array.from({ length: count }, (_, index) => Buffer.from(`${index % 10}`));
    const body = {
      readEach: async (take: (piece: Uint8Array) => unknown) => {
        for (const piece of pieces) take(piece);
        return {};
      },
      close: () => undefined,
    };
    const { bytes, isTruncated } = await readBytes(body as never, 2_000);
    expect(Buffer.from(bytes).toString()).toBe(Buffer.concat(pieces).toString().slice(0, 2_000));
    expect(isTruncated).toBe(count > 2_000);
    expect(pieces[0]?.toString(), 'the first piece is not written to').toBe('0');
  });
});
