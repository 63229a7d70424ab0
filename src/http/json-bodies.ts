import type { IncomingMessage } from 'node:http';
import { Transform } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../core/errors.ts';
import { isTextDeeperThan } from '../core/json-depth.ts';
import { limits } from '../core/limits.ts';
import { hasLargeBody } from './unread-bodies.ts';

export interface JsonBodyOptions {
  /** Of larger bodies that arrive at the same time; default `limits.arrivingBodiesBytes`. */
  arrivingBytes?: number;
}

/**
 * How bodies are read: JSON or nothing, so that a form or a text, which a foreign page may send without asking, is refused. None at all is fine
 * with its content type too, as many clients send it; a route that needs one says so itself.
 *
 * Large ones are counted while they arrive, over all requests, looked through for their depth, and parsed one after the other. To be installed
 * with the guard, which lets nobody without a key come this far.
 */
export function installJsonBodies(app: FastifyInstance, { arrivingBytes = limits.arrivingBodiesBytes }: JsonBodyOptions = {}): void {
  app.removeContentTypeParser(['text/plain', 'application/json']);
  const parse = app.getDefaultJsonParser('error', 'error');
  const { count, release } = createBodyCount(arrivingBytes);
  const takeTurn = createTurns();

  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, text, done) => {
    if (text === '') return done(null, undefined);
    if (text.length <= limits.smallBodyBytes) return void parse(request, text, done);
    return takeTurn(() => {
      release(request.raw);
      if (isTextDeeperThan(text, limits.bodyDepth)) done(tooDeep());
      else void parse(request, text, done);
    });
  });
  // eslint-disable-next-line max-params -- Fastify tells by the fourth that the hook gives no promise, which every small body would pay for
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (!hasLargeBody(request.headers)) return done();
    const counted = count(request.raw);
    reply.raw.once('close', () => release(request.raw));
    payload.once('error', (error) => counted.destroy(error));
    return done(null, payload.pipe(counted));
  });
}

/** Counts what is being received and waits to be parsed, over all requests, and cuts off what is too much. */
function createBodyCount(maxBytes: number): {
  count: (incoming: IncomingMessage) => Transform;
  release: (incoming: IncomingMessage) => void;
} {
  const held = new Map<IncomingMessage, number>();
  let sum = 0;
  function release(incoming: IncomingMessage): void {
    sum -= held.get(incoming) ?? 0;
    held.delete(incoming);
  }
  function count(incoming: IncomingMessage): Transform {
    const counted = new Transform({
      transform(piece: Buffer, _encoding, pass) {
        sum += piece.length;
        held.set(incoming, (held.get(incoming) ?? 0) + piece.length);
        if (sum > maxBytes) pass(overloaded());
        else pass(null, piece);
      },
    });
    counted.once('error', () => release(incoming));
    // It also closes after its end, when the last pieces may still be on their way.
    incoming.once('close', () => {
      if (!incoming.complete) counted.destroy(new Error('The client left amid its body'));
    });
    return counted;
  }
  return { count, release };
}

/** One piece of work in each turn of the event loop: parsing a large body takes a tenth of a second, and what is short goes between two of them. */
function createTurns(): (work: () => void) => void {
  const waiting: (() => void)[] = [];
  function next(): void {
    const work = waiting.shift();
    if (waiting.length > 0) setImmediate(next);
    work?.();
  }
  return (work) => {
    waiting.push(work);
    if (waiting.length === 1) setImmediate(next);
  };
}

function tooDeep(): GatewayError {
  return new GatewayError('invalid_request', `The body is nested deeper than ${limits.bodyDepth} levels.`);
}

function overloaded(): GatewayError {
  const message = 'Too many large requests arrive at the same time. Try again in a moment.';
  return new GatewayError('overloaded', message, { retryAfter: '1' });
}
