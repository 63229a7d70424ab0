import type { FastifyInstance, FastifyRequest } from 'fastify';
import { GatewayError } from '../core/errors.ts';
import { isTextDeeperThan } from '../core/json-depth.ts';
import { limits } from '../core/limits.ts';
import { createArrivingBodies } from './arriving-bodies.ts';
import { hasLargeBody } from './unread-bodies.ts';

export interface JsonBodyOptions {
  /** Of larger bodies that arrive at the same time; default `limits.arrivingBodiesBytes`. */
  arrivingBytes?: number;
  /** Whose a body is; default: all are one caller's. */
  ownerOf?: (request: FastifyRequest) => string;
}

/**
 * How bodies are read: JSON or nothing, so that a form or a text, which a foreign page may send without asking, is refused. None at all is fine
 * with its content type too, as many clients send it; a route that needs one says so itself.
 *
 * Large ones are counted while they arrive, over all requests, looked through for their depth, and parsed one after the other. To be installed
 * with the guard, which lets nobody without a key come this far.
 */
export function installJsonBodies(app: FastifyInstance, options: JsonBodyOptions = {}): void {
  const { arrivingBytes = limits.arrivingBodiesBytes, ownerOf = () => '' } = options;
  app.removeContentTypeParser(['text/plain', 'application/json']);
  const parse = app.getDefaultJsonParser('error', 'error');
  const arriving = createArrivingBodies(arrivingBytes);
  const takeTurn = createTurns();

  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, text, done) => {
    if (text.length <= limits.smallBodyBytes) {
      // Of unknown size, or of letters that take several bytes each. Its run may last for minutes.
      arriving.release(request.raw);
      if (text === '') return done(null, undefined);
      return void parse(request, text, done);
    }
    return takeTurn(() => {
      arriving.release(request.raw);
      if (isTextDeeperThan(text, limits.bodyDepth)) done(tooDeep());
      else void parse(request, text, done);
    });
  });
  // eslint-disable-next-line max-params -- Fastify tells by the fourth that the hook gives no promise, which every small body would pay for
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (!hasLargeBody(request.headers)) return done();
    const counted = arriving.count(request.raw, ownerOf(request));
    reply.raw.once('close', () => arriving.release(request.raw));
    payload.once('error', (error) => counted.destroy(error));
    return done(null, payload.pipe(counted));
  });
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
