import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import fastify from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import { installErrorHandling } from '../../../src/http/errors/error-handler.ts';
import type { BodyPace } from '../../../src/http/body/body-pace.ts';
import { installJsonBodies } from '../../../src/http/body/json-bodies.ts';

async function gateway(pace: Partial<BodyPace>, onConnection: (socket: Socket) => void = () => undefined) {
  const app = fastify();
  app.server.on('connection', onConnection);
  installErrorHandling(app);
  installJsonBodies(app, { pace, ownerOf: (request) => String(request.headers['owner'] ?? '') });
  app.post('/', (request) => JSON.stringify(request.body).length);
  onTestFinished(() => app.close());
  return app.listen({ host: '127.0.0.1', port: 0 });
}

/** Announces a body and sends its first letter. */
function begin(
  url: string,
  { length, owner = 'ada', path = '/' }: { length: number | 'chunked'; owner?: string; path?: string },
): { socket: Socket; answer: Promise<string> } {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let text = '';
  socket.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  const { promise, resolve } = Promise.withResolvers<string>();
  // A piece may be on its way when the other side has hung up.
  socket.on('error', () => undefined).once('close', () => resolve(text));
  const size = length === 'chunked' ? 'transfer-encoding: chunked' : `content-length: ${length}`;
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-type: application/json\r\nowner: ${owner}\r\n${size}\r\n\r\n`,
  );
  return { socket, answer: promise };
}

/** A piece every few milliseconds, until the other side hangs up or all is sent. */
async function send(socket: Socket, pieces: readonly string[]): Promise<void> {
  for (const piece of pieces) {
    if (socket.destroyed || socket.readableEnded) return;
    socket.write(piece);
    await pause(20);
  }
}

describe('a body that trickles is given up', () => {
  it.each<[string, { length: number | 'chunked'; path?: string }, string]>([
    ['a small one', { length: 500 }, 'x'],
    ['a large one', { length: 900_000 }, 'x'],
    ['one of unknown length', { length: 'chunked' }, '1\r\nx\r\n'],
    ['one that nobody reads', { length: 500, path: '/nothing' }, 'x'],
  ])('%s', async (_what, options, piece) => {
    const url = await gateway({ bytes: 1_000, withinMs: 300 });
    const { socket, answer } = begin(url, options);
    await send(
      socket,
      Array.from({ length: 1_000 }, () => piece),
    );
    expect(await answer).toMatch(/^HTTP\/1\.1 408 .*request_timeout/s);
  });

  it('one that takes as long and brings enough is not', async () => {
    const url = await gateway({ bytes: 1_000, withinMs: 300 });
    const pieces = Array.from({ length: 60 }, () => 'x'.repeat(5_000));
    const { socket, answer } = begin(url, { length: 60 * 5_000 + 2 });
    await send(socket, ['"', ...pieces, '"']);
    expect(await answer).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe('bodies on their way', () => {
  it('leave nothing on their connection, which the next request uses again', async () => {
    const connections: Socket[] = [];
    const url = await gateway({}, (socket) => void connections.push(socket));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const listeners: (number | undefined)[] = [];
    for (let times = 0; times < 3; times += 1) {
      const sent = request(url, { agent, method: 'POST', headers: { 'content-type': 'application/json' } });
      sent.write('"');
      await pause(50);
      sent.end('x"');
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      expect(await text(answer)).toBe('3');
      listeners.push(connections[0]?.listenerCount('close'));
    }
    expect([connections.length, new Set(listeners).size]).toEqual([1, 1]);
  });

  it('are limited for each caller: the slowest is given up', async () => {
    const url = await gateway({ perCaller: 3, withinMs: 60_000 });
    const [slow, ...others] = Array.from({ length: 3 }, () => begin(url, { length: 400_002 }));
    const stranger = begin(url, { length: 3, owner: 'bob' });
    // Behind their heads, and not together with them.
    await pause(200);
    for (const { socket } of others) socket.write(`"${'x'.repeat(100_000)}`);
    // Only what has lasted for a second has a pace.
    await pause(1_200);
    const late = begin(url, { length: 400_002 });
    expect(await slow?.answer).toMatch(/^HTTP\/1\.1 503 .*retry-after: 1.*overloaded/s);
    for (const { socket } of others) socket.write(`${'x'.repeat(300_000)}"`);
    late.socket.write(`"${'x'.repeat(400_000)}"`);
    stranger.socket.write('"x"');
    for (const { answer } of [...others, late, stranger]) expect(await answer).toMatch(/^HTTP\/1\.1 200 /);
  });
});
