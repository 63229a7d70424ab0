import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';

import type { OutboundRequest, OutboundResponse, Trust } from '../../../src/core/outbound.ts';
import { readText } from '../../../src/core/outbound.ts';
import { createOutbound, type OutboundOptions } from '../../../src/policy/outbound/outbound-request.ts';

/** Something to dispose of after the test that made it. */
const openings: (() => Promise<void>)[] = [];

/** Closes everything that was opened here; for `afterEach`. */
export async function closeAll(): Promise<void> {
  await Promise.all(openings.splice(0).map((close) => close()));
}

export interface Peer {
  port: number;
  origin: string;
  /** Every connection that was ever made. */
  connections: Socket[];
  /** All bytes that arrived, over all connections. */
  received(): string;
}

export interface PeerPlace {
  host?: string;
  port?: number;
}

/** A raw TCP peer that does what the script says, once for each connection and when its first bytes have come. */
export async function startPeer(script: (socket: Socket) => void, place: PeerPlace = {}): Promise<Peer> {
  const connections: Socket[] = [];
  const chunks: Buffer[] = [];
  const server = createTcpServer((socket) => {
    connections.push(socket);
    socket.on('error', () => {});
    socket.once('data', () => script(socket));
    socket.on('data', (chunk) => chunks.push(chunk));
  });
  return { ...(await listen(server, place, connections)), received: () => Buffer.concat(chunks).toString('latin1') };
}

/** A well-behaved HTTP server. */
export async function startServer(listener: RequestListener, place: PeerPlace = {}): Promise<Peer> {
  const connections: Socket[] = [];
  const server = createServer(listener);
  server.on('connection', (socket) => connections.push(socket));
  return { ...(await listen(server, place, connections)), received: () => '' };
}

async function listen(server: Server, { host = '127.0.0.1', port = 0 }: PeerPlace, connections: Socket[]): Promise<Omit<Peer, 'received'>> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject).listen(port, host, resolve);
  await promise;
  openings.push(async () => {
    const closed = Promise.withResolvers<void>();
    server.close(() => closed.resolve());
    for (const socket of connections) socket.destroy();
    await closed.promise;
  });
  const taken = (server.address() as AddressInfo).port;
  return { port: taken, origin: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`, connections };
}

export interface TestRequest extends Partial<Omit<OutboundRequest, 'trust'>> {
  url: string;
  trust?: Trust;
}

export interface TestDoor {
  /** Short limits and a `configured` trust for the URL's own origin, unless told otherwise. */
  send(request: TestRequest): Promise<OutboundResponse>;
  close: () => Promise<void>;
}

export function openDoor(options: Partial<OutboundOptions> = {}): TestDoor {
  const door = createOutbound({ egress: { mode: 'public', allow: [] }, ...options });
  openings.push(door.close);
  return {
    send: (request) =>
      door.send({
        method: 'GET',
        trust: { kind: 'configured', origin: URL.parse(request.url)?.origin ?? '' },
        // Tests of limits give their own; these let a busy machine take its time.
        signal: AbortSignal.timeout(60_000),
        firstByteTimeoutMs: 60_000,
        idleTimeoutMs: 60_000,
        ...request,
      }),
    close: door.close,
  };
}

/** What a chat request, a model or a document supplied. */
export const requested: Trust = { kind: 'request', mayReachPrivate: false };

export async function textOf(response: OutboundResponse): Promise<string> {
  return (await readText(response.body, 64 * 1024 * 1024)).text;
}

export async function settle(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}
