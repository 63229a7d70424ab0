import { Socket } from 'node:net';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { GatewayError } from '../../core/errors.ts';
import { endWithError } from '../errors/error-handler.ts';

/** Incomplete bodies of one caller; beyond it the slowest is rejected. */
export const arrivingBodiesPerCaller = 64;
/** Bytes of a body that must arrive in each window of `bodyPaceMs`: 1 kB/s, half the rate of the slowest mobile networks; the window bridges a tunnel. */
export const bodyPaceBytes = 15_000;
export const bodyPaceMs = 15_000;

export interface BodyPace {
  /** At least this many bytes must arrive within each window of `withinMs`, until the body is complete. */
  bytes: number;
  withinMs: number;
  /** How many bodies one caller may be sending at the same time. */
  perCaller: number;
}

interface BodyPaceOptions {
  /** The owner of a body. It throws while the request is not authenticated; then the client's IP address is the owner. */
  ownerOf: (request: FastifyRequest) => string;
  pace?: Partial<BodyPace>;
}

interface Arrival {
  request: FastifyRequest;
  response: ServerResponse;
  socket: Socket;
  startedAt: number;
  /** `socket.bytesRead` at the start of the body, and at the start of the current window. */
  firstByte: number;
  windowByte: number;
  windowAt: number;
}

/** How often arriving bodies are checked within one window. */
const checksPerWindow = 5;
/** A body that started less than this ago is too young to measure its rate. */
const youngMs = 1_000;

/**
 * Ends connections whose bodies arrive too slowly, and the slowest one of a caller who sends too many bodies at once: each occupies a connection,
 * memory, and maybe one of its caller's concurrent requests. It counts bytes of the connection, so that the body is not piped through anything. A
 * total time limit would not do: it would either cut off a phone that uploads a picture, or tolerate one byte a second for minutes.
 */
export function installBodyPace(app: FastifyInstance, { ownerOf, pace = {} }: BodyPaceOptions): void {
  const arrivals = new ArrivingBodies(ownerOf, {
    bytes: bodyPaceBytes,
    withinMs: bodyPaceMs,
    perCaller: arrivingBodiesPerCaller,
    ...pace,
  });
  app.addHook('onRequest', (request, reply, done) => {
    if (hasBody(request)) {
      // Nearly all bodies arrive with their headers and are complete by the next tick; most others once everything received is read.
      process.nextTick(() => {
        if (!request.raw.complete) setImmediate(() => arrivals.watch(request, reply.raw));
      });
    }
    done();
  });
  app.addHook('onClose', (_, done) => {
    arrivals.close();
    done();
  });
}

class ArrivingBodies {
  readonly #ownerOf: BodyPaceOptions['ownerOf'];
  readonly #pace: BodyPace;
  readonly #arriving = new Map<IncomingMessage, Arrival>();
  #timer: NodeJS.Timeout | undefined;

  constructor(ownerOf: BodyPaceOptions['ownerOf'], pace: BodyPace) {
    this.#ownerOf = ownerOf;
    this.#pace = pace;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  watch(request: FastifyRequest, response: ServerResponse): void {
    const { raw } = request;
    if (raw.complete || raw.destroyed) return;
    const { socket } = raw;
    // Injected requests of tests have no real socket.
    if (!(socket instanceof Socket)) return;
    const now = performance.now();
    const firstByte = socket.bytesRead;
    this.#arriving.set(raw, { request, response, socket, startedAt: now, firstByte, windowByte: firstByte, windowAt: now });
    const forget = (): void => {
      this.#arriving.delete(raw);
      // Otherwise a connection that is used again would keep each of its bodies in memory until it closes.
      socket.off('close', forget);
    };
    raw.once('end', forget);
    raw.once('close', forget);
    socket.once('close', forget);
    this.#timer ??= setInterval(() => this.#check(), this.#pace.withinMs / checksPerWindow).unref();
    this.#limitCaller(request);
  }

  #check(): void {
    const now = performance.now();
    for (const [raw, arrival] of this.#arriving) {
      if (raw.complete) this.#arriving.delete(raw);
      else if (now - arrival.windowAt >= this.#pace.withinMs) {
        if (arrival.socket.bytesRead - arrival.windowByte < this.#pace.bytes) this.#end(raw, arrival, tooSlow(this.#pace));
        arrival.windowAt = now;
        arrival.windowByte = arrival.socket.bytesRead;
      }
    }
    if (this.#arriving.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #limitCaller(request: FastifyRequest): void {
    const owner = this.#keyOf(request);
    const ofCaller = [...this.#arriving].filter(([raw, arrival]) => !raw.complete && this.#keyOf(arrival.request) === owner);
    if (ofCaller.length <= this.#pace.perCaller) return;
    const now = performance.now();
    const paceOf = ({ socket, firstByte, startedAt }: Arrival): number =>
      now - startedAt < youngMs ? Infinity : (socket.bytesRead - firstByte) / (now - startedAt);
    const [first] = ofCaller.toReversed().toSorted(([, one], [, other]) => paceOf(one) - paceOf(other));
    if (first !== undefined) this.#end(...first, tooMany(this.#pace));
  }

  #keyOf(request: FastifyRequest): string {
    try {
      return this.#ownerOf(request);
    } catch {
      return `address ${request.ip}`;
    }
  }

  #end(raw: IncomingMessage, { request, response, socket }: Arrival, error: GatewayError): void {
    this.#arriving.delete(raw);
    request.log.info({ code: error.code, bytes: socket.bytesRead }, 'body rejected before it was complete');
    if (response.headersSent) socket.destroy();
    else endWithError(socket, error);
  }
}

function hasBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

function tooSlow({ bytes, withinMs }: BodyPace): GatewayError {
  const message = `The body arrives too slowly: less than ${bytes} bytes in ${withinMs / 1_000} s.`;
  return new GatewayError('request_timeout', message);
}

function tooMany({ perCaller }: BodyPace): GatewayError {
  const message = `This caller is sending more than ${perCaller} bodies at the same time, and this is the slowest of them. Try again in a moment.`;
  return new GatewayError('overloaded', message, { retryAfter: '1' });
}
