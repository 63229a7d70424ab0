import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { readHttpRequest } from './read-http-request.ts';
import type { ReadRequest } from './read-http-request.ts';

/**
 * One thing that the server does with a connection: sends raw bytes (waiting for a peer that does not read), waits, waits for a promise,
 * resets, ends its side (FIN), or stalls until the peer leaves. After the last step the connection waits for its next request.
 */
export type ScriptStep = string | Uint8Array | { waitMs: number } | { until: Promise<unknown> } | { act: 'reset' | 'finish' | 'stall' };

/** What a peer asked, and how it went. */
export interface RecordedRequest {
  readonly method: string;
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Record<string, string>;
  readonly body: string;
  /** Resolves when the connection is closed, by whichever side. */
  readonly closed: Promise<void>;
  readonly isClosed: boolean;
  /** When the connection was closed, in milliseconds since 1970. */
  readonly closedAt: number | undefined;
  /** Bytes that the kernel has taken for the peer so far, over the whole connection. */
  readonly bytesTaken: number;
  json(): unknown;
}

export type Script = ScriptStep[] | ((request: RecordedRequest, count: number) => ScriptStep[] | Promise<ScriptStep[]>);

export interface UpstreamServer {
  /** `http://127.0.0.1:<port>`. */
  readonly origin: string;
  readonly requests: RecordedRequest[];
  /** Connections accepted so far. */
  readonly connections: number;
  readonly openConnections: number;
  /** Resolves with request number `count` (from 0) as soon as it is there. */
  request(count: number): Promise<RecordedRequest>;
  /** Closes every connection and the server; nothing stays open. */
  close(): Promise<void>;
}

/** A whole response with its length. Objects are sent as JSON. */
export function respond(status: number, body: unknown, headers: Record<string, string> = {}): ScriptStep[] {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const type = typeof body === 'string' ? 'text/plain' : 'application/json';
  return [head(status, { 'content-type': type, 'content-length': String(Buffer.byteLength(text)), ...headers }) + text];
}

export interface StreamOptions {
  status?: number;
  headers?: Record<string, string>;
  /** Between two pieces. */
  gapMs?: number;
  /** What follows the last piece, instead of the proper end of the body. */
  end?: 'reset' | 'finish' | 'stall';
}

/** A chunked event stream, one HTTP chunk for each piece. */
export function stream(pieces: readonly (string | Uint8Array)[], options: StreamOptions = {}): ScriptStep[] {
  const { status = 200, headers = {}, gapMs = 0, end } = options;
  const steps: ScriptStep[] = [head(status, { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked', ...headers })];
  for (const piece of pieces) {
    steps.push(chunk(piece));
    if (gapMs > 0) steps.push({ waitMs: gapMs });
  }
  steps.push(end === undefined ? '0\r\n\r\n' : { act: end });
  return steps;
}

/** `data:` lines for objects, and for strings as they are. */
export function events(...payloads: unknown[]): string[] {
  return payloads.map((payload) => `data: ${typeof payload === 'string' ? payload : JSON.stringify(payload)}\n\n`);
}

/** A status line with headers, for scripts that send their body byte by byte. */
export function head(status: number, headers: Record<string, string>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Scripted\r\n${lines.join('')}\r\n`;
}

/** One piece of a chunked body. */
export function chunk(piece: string | Uint8Array): Uint8Array {
  const bytes = Buffer.from(piece);
  return Buffer.concat([Buffer.from(`${bytes.byteLength.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}

/** A raw HTTP server on 127.0.0.1 that plays a script for each request. Close it after the test. */
export async function startUpstream(script: Script): Promise<UpstreamServer> {
  const requests: RecordedRequest[] = [];
  const sockets = new Set<Socket>();
  const waiting = new Map<number, (request: RecordedRequest) => void>();
  let connections = 0;

  async function serve(connection: Connection): Promise<void> {
    const { socket } = connection;
    // Read all the time, or the peer's leaving would go unnoticed while a script plays.
    const incoming = socket.pipe(new PassThrough({ highWaterMark: 64 * 1024 * 1024 }));
    socket.once('close', () => incoming.end());
    const reading = incoming[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    let rest = Buffer.alloc(0);
    while (!socket.destroyed) {
      const read = await readHttpRequest(reading, rest);
      if (read === undefined) return;
      rest = read.rest;
      const request = record(read, connection);
      const count = requests.push(request) - 1;
      waiting.get(count)?.(request);
      await play(typeof script === 'function' ? await script(request, count) : script, connection);
    }
  }

  const server = createServer({ noDelay: true }, (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    // A script that breaks ends its connection; the test sees it as a cut answer.
    serve(watchSocket(socket)).catch(() => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    origin: `http://127.0.0.1:${port}`,
    requests,
    get connections() {
      return connections;
    },
    get openConnections() {
      return sockets.size;
    },
    request(count) {
      const known = requests[count];
      if (known !== undefined) return Promise.resolve(known);
      return new Promise((resolve) => waiting.set(count, resolve));
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

interface Connection {
  socket: Socket;
  closed: Promise<void>;
  closedAt: number | undefined;
}

/** One listener a connection, however many requests and waits it sees. */
function watchSocket(socket: Socket): Connection {
  const { promise, resolve } = Promise.withResolvers<void>();
  const connection: Connection = { socket, closed: promise, closedAt: undefined };
  socket.once('close', () => {
    connection.closedAt = Date.now();
    resolve();
  });
  return connection;
}

function record(read: ReadRequest, connection: Connection): RecordedRequest {
  const { method, url, headers, body } = read;
  const { socket, closed } = connection;
  return {
    method,
    url,
    headers,
    body,
    closed,
    get isClosed() {
      return connection.closedAt !== undefined;
    },
    get closedAt() {
      return connection.closedAt;
    },
    get bytesTaken() {
      return socket.bytesWritten - socket.writableLength;
    },
    json: () => JSON.parse(body) as unknown,
  };
}

async function play(steps: ScriptStep[], { socket, closed }: Connection): Promise<void> {
  for (const step of steps) {
    if (socket.destroyed) return;
    if (typeof step === 'string' || step instanceof Uint8Array) {
      if (!socket.write(step)) await Promise.race([once(socket, 'drain'), closed]);
    } else if ('waitMs' in step) await Promise.race([wait(step.waitMs, undefined, { ref: false }), closed]);
    else if ('until' in step) await Promise.race([step.until, closed]);
    else if (step.act === 'reset') socket.resetAndDestroy();
    else if (step.act === 'finish') socket.end();
    else await closed;
  }
}
