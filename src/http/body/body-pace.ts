import { Socket } from 'node:net';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import { endWithError } from '../error-handler.ts';

export interface BodyPace {
  /** So many bytes have to arrive in every such time, unless the body is whole before. */
  bytes: number;
  withinMs: number;
  /** Bodies of one caller that arrive at the same time. */
  perCaller: number;
}

export interface BodyPaceOptions {
  /** Whose a body is, once the request has been let in; until then it is its address's. */
  ownerOf: (request: FastifyRequest) => string;
  pace?: Partial<BodyPace>;
}

interface Arrival {
  request: FastifyRequest;
  response: ServerResponse;
  socket: Socket;
  startedAt: number;
  /** `socket.bytesRead` at the start, and when the present window began. */
  firstByte: number;
  windowByte: number;
  windowAt: number;
}

/** How often arriving bodies are checked within one window. */
const checksPerWindow = 5;
/** A body that began less than this ago has no pace yet. */
const youngMs = 1_000;

/**
 * Ends connections whose bodies trickle, and of a caller who has too many bodies on their way the slowest one: a body occupies a connection, memory,
 * and maybe one of the concurrent requests of its caller. Counted are bytes of the connection, so that the body need not be piped through anything. A total
 * time would not do: it cuts an honest phone that uploads a picture, or lets a byte a second live for long.
 */
export function installBodyPace(app: FastifyInstance, { ownerOf, pace = {} }: BodyPaceOptions): void {
  const { bytes = limits.bodyPaceBytes, withinMs = limits.bodyPaceMs, perCaller = limits.arrivingBodiesPerCaller } = pace;
  const arriving = new Map<IncomingMessage, Arrival>();
  let timer: NodeJS.Timeout | undefined;

  app.addHook('onRequest', (request, reply, done) => {
    if (hasBody(request)) {
      // Nearly all bodies come with their heads, and are whole once those are parsed; most others are when everything that has come is read.
      process.nextTick(() => {
        if (!request.raw.complete) setImmediate(watchUnlessWhole, request, reply.raw);
      });
    }
    done();
  });
  app.addHook('onClose', (_, done) => {
    clearInterval(timer);
    done();
  });

  function watchUnlessWhole(request: FastifyRequest, response: ServerResponse): void {
    if (!request.raw.complete && !request.raw.destroyed) watch(request, response);
  }

  function watch(request: FastifyRequest, response: ServerResponse): void {
    const { raw } = request;
    const { socket } = raw;
    // Requests that tests inject have none.
    if (!(socket instanceof Socket)) return;
    const now = performance.now();
    const firstByte = socket.bytesRead;
    arriving.set(raw, { request, response, socket, startedAt: now, firstByte, windowByte: firstByte, windowAt: now });
    const forget = (): void => void arriving.delete(raw);
    raw.once('end', forget);
    raw.once('close', forget);
    socket.once('close', forget);
    timer ??= setInterval(check, withinMs / checksPerWindow).unref();
    limitCaller(request);
  }

  function check(): void {
    const now = performance.now();
    for (const [raw, arrival] of arriving) {
      if (raw.complete) arriving.delete(raw);
      else if (now - arrival.windowAt >= withinMs) {
        if (arrival.socket.bytesRead - arrival.windowByte < bytes) end(raw, arrival, tooSlow(bytes, withinMs));
        arrival.windowAt = now;
        arrival.windowByte = arrival.socket.bytesRead;
      }
    }
    if (arriving.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  function limitCaller(request: FastifyRequest): void {
    const owner = keyOf(request);
    const ofCaller = [...arriving].filter(([raw, arrival]) => !raw.complete && keyOf(arrival.request) === owner);
    if (ofCaller.length <= perCaller) return;
    const now = performance.now();
    const paceOf = ({ socket, firstByte, startedAt }: Arrival): number =>
      now - startedAt < youngMs ? Infinity : (socket.bytesRead - firstByte) / (now - startedAt);
    const [first] = ofCaller.toReversed().toSorted(([, one], [, other]) => paceOf(one) - paceOf(other));
    if (first !== undefined) end(...first, tooMany(perCaller));
  }

  function keyOf(request: FastifyRequest): string {
    try {
      return ownerOf(request);
    } catch {
      return `address ${request.ip}`;
    }
  }

  function end(raw: IncomingMessage, { request, response, socket }: Arrival, error: GatewayError): void {
    arriving.delete(raw);
    request.log.info({ code: error.code, bytes: socket.bytesRead }, 'a body was given up before it was whole');
    if (response.headersSent) socket.destroy();
    else endWithError(socket, error);
  }
}

function hasBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

function tooSlow(bytes: number, withinMs: number): GatewayError {
  const message = `The body arrives too slowly: less than ${bytes} bytes in ${withinMs / 1_000} s.`;
  return new GatewayError('request_timeout', message);
}

function tooMany(perCaller: number): GatewayError {
  const message = `More than ${perCaller} bodies of one caller are on their way, and this is the slowest of them. Try again in a moment.`;
  return new GatewayError('overloaded', message, { retryAfter: '1' });
}
