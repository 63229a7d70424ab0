import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { OutboundResponse } from '../../../src/core/outbound.ts';
import { closeAll, openDoor, settle, startPeer, startServer, type Peer, type TestDoor } from '../../policy/outbound/peers.ts';

const mebibyte = 1024 * 1024;

/** The door's own ends of its connections, which tell how many bytes were taken from the kernel. */
let ownSockets: Socket[] = [];

function remember(message: unknown): void {
  if (typeof message === 'object' && message !== null && 'socket' in message) ownSockets.push(message.socket as Socket);
}

beforeEach(() => {
  ownSockets = [];
  subscribe('undici:client:connected', remember);
});
afterEach(async () => {
  unsubscribe('undici:client:connected', remember);
  await closeAll();
});

const taken = (): number => ownSockets.reduce((sum, socket) => sum + socket.bytesRead, 0);
const sent = (peer: Peer): number => peer.connections.reduce((sum, socket) => sum + socket.bytesWritten - socket.writableLength, 0);

/** Writes as much as the connection takes, with the position as content so that a lost or doubled piece shows. */
async function startFlood(total: number): Promise<Peer> {
  const piece = Buffer.alloc(64 * 1024);
  return startPeer((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${total}\r\n\r\n`);
    let written = 0;
    const pump = (): void => {
      while (written < total) {
        for (let offset = 0; offset < piece.length; offset += 4) piece.writeUInt32BE(written + offset, offset);
        written += piece.length;
        if (!socket.write(Buffer.from(piece))) return;
      }
    };
    socket.on('drain', pump);
    pump();
  });
}

/** The positions in the body, checked against where they stand. */
class PositionCheck {
  read = 0;
  #rest = Buffer.alloc(0);

  take(piece: Uint8Array): void {
    const bytes = Buffer.concat([this.#rest, piece]);
    const whole = bytes.length - (bytes.length % 4);
    const start = this.read - this.#rest.length;
    for (let offset = 0; offset < whole; offset += 4) {
      if (bytes.readUInt32BE(offset) !== start + offset) throw new Error(`wrong bytes at ${start + offset}`);
    }
    this.read += piece.byteLength;
    this.#rest = bytes.subarray(whole);
  }
}

describe('an answer that nobody reads', () => {
  it('is left with the peer, but for little', async () => {
    const peer = await startFlood(256 * mebibyte);
    await openDoor().send({ url: peer.origin });
    await expect.poll(() => sent(peer)).toBeGreaterThan(0);
    await settle(500);
    expect(taken()).toBeLessThan(192 * 1024);
    // The rest is in the kernel's buffers on both sides, whose size is the system's.
    expect(sent(peer)).toBeLessThan(16 * mebibyte);
  });

  it('costs little memory a hundred times over', async () => {
    const peer = await startFlood(32 * mebibyte);
    const door = openDoor();
    const responses = await Promise.all(Array.from({ length: 100 }, () => door.send({ url: peer.origin })));
    await settle(500);
    expect(responses).toHaveLength(100);
    expect(taken()).toBeLessThan(100 * 192 * 1024);
  });
});

describe('a slow reader', () => {
  it('gets every byte in order, and never more is taken than it is about to read', async () => {
    const peer = await startFlood(8 * mebibyte);
    const response = await openDoor().send({ url: peer.origin });
    const check = new PositionCheck();
    let ahead = 0;
    for await (const piece of response.body) {
      check.take(piece);
      await settle(1);
      ahead = Math.max(ahead, taken() - check.read);
    }
    expect(check.read).toBe(8 * mebibyte);
    expect(ahead).toBeLessThan(256 * 1024);
  });

  it('is not mistaken for a silent peer, however long it pauses', async () => {
    const peer = await startFlood(16 * mebibyte);
    const response = await openDoor().send({ url: peer.origin, idleTimeoutMs: 500 });
    const check = new PositionCheck();
    let pauses = 0;
    for await (const piece of response.body) {
      check.take(piece);
      if (check.read < (pauses + 1) * 4 * mebibyte) continue;
      pauses += 1;
      await settle(1_000);
    }
    expect(check.read).toBe(16 * mebibyte);
    expect(pauses).toBe(4);
  });
});

describe('many calls at once', () => {
  it('never get each other’s answers, whichever of them were aborted', async () => {
    const server = await startServer((request, response) => {
      const id = request.url ?? '';
      const delays = [0, 0, 1, 3, 8];
      let count = 0;
      request.resume().on('end', () => {
        const next = (): void => {
          count += 1;
          if (count > 5) response.end();
          else response.write(`${id};`, () => setTimeout(next, delays[count % delays.length]));
        };
        setTimeout(next, delays[id.length % delays.length]);
      });
    });
    const door = openDoor({ maxConnectionsPerOrigin: 40 });
    const outcomes = await Promise.all(
      Array.from({ length: 5 }, async (_, round) => {
        await settle(round * 15);
        return Promise.all(Array.from({ length: 200 }, (_, index) => callAndMaybeLeave(door, server.origin, round * 1_000 + index)));
      }),
    );
    const seen = outcomes.flat();
    expect(seen).toHaveLength(1_000);
    expect(seen.filter((outcome) => outcome === 'wrong')).toEqual([]);
    expect(seen.filter((outcome) => outcome === 'right').length).toBeGreaterThan(550);
    expect(seen.filter((outcome) => outcome === 'left').length).toBeGreaterThan(250);
  });
});

/** Every third call leaves: by the signal before, or amid the answer, or by ending the loop. */
async function callAndMaybeLeave(door: TestDoor, origin: string, number: number): Promise<'right' | 'wrong' | 'left'> {
  const path = `/${number}-${'x'.repeat(number % 7)}`;
  const abort = new AbortController();
  const leavesBySignal = number % 6 === 0;
  if (leavesBySignal) setTimeout(() => abort.abort(new Error('left')), number % 23);
  try {
    const response = await door.send({ url: origin + path, method: 'POST', body: path, signal: abort.signal });
    const text = await readSome(response, number % 6 === 3 ? 2 : Number.POSITIVE_INFINITY);
    const isRight = text.split(';').every((part) => part === path || part === '');
    if (!isRight) return 'wrong';
    return number % 3 === 0 ? 'left' : 'right';
  } catch (error) {
    return error === abort.signal.reason && leavesBySignal ? 'left' : 'wrong';
  }
}

async function readSome(response: OutboundResponse, pieces: number): Promise<string> {
  let text = '';
  let count = 0;
  for await (const piece of response.body) {
    text += Buffer.from(piece).toString();
    count += 1;
    if (count >= pieces) break;
  }
  return text;
}
