import type { FastifyInstance, FastifyRequest } from 'fastify';
import { limits } from '../../core/limits.ts';
import { createInflightBodyLimit } from './inflight-body-limit.ts';
import { installBodyPace } from './body-pace.ts';
import type { BodyPace } from './body-pace.ts';
import { parseInPlace, parseJsonBody } from './parse-json-body.ts';
import { hasLargeBody } from './unread-bodies.ts';

export interface JsonBodyOptions {
  /** Of larger bodies that arrive at the same time; default `limits.arrivingBodiesBytes`. */
  arrivingBytes?: number;
  /** Whose a body is; default: all are one caller's. */
  ownerOf?: (request: FastifyRequest) => string;
  /** How fast bodies have to arrive; default: as `limits` say. */
  pace?: Partial<BodyPace>;
}

type BodyDone = (error: Error | null, body?: unknown) => void;

const reading = { maxDepth: limits.bodyDepth, prototypes: 'refuse' } as const;

/**
 * How bodies are read: JSON or nothing, so that a form or a text, which a page of another site may send without a preflight, is refused. None at all is fine
 * with its content type too, as many clients send it; a route that needs one says so itself.
 *
 * Every body has to arrive at a certain pace. Large ones are counted until they are parsed, over all requests, and parsed aside unless that costs
 * little. To be installed with the guard, which refuses requests without a key before.
 */
export function installJsonBodies(app: FastifyInstance, options: JsonBodyOptions = {}): void {
  const { arrivingBytes = limits.arrivingBodiesBytes, ownerOf = () => '', pace } = options;
  app.removeContentTypeParser(['text/plain', 'application/json']);
  const arriving = createInflightBodyLimit(arrivingBytes);
  installBodyPace(app, { ownerOf, ...(pace !== undefined && { pace }) });

  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    if (bytes.byteLength > limits.smallBodyBytes) return void parseLarge(request, bytes, done);
    // Of unknown size. Its run may last for minutes.
    arriving.release(request.raw);
    if (bytes.byteLength === 0) return done(null, undefined);
    try {
      return done(null, parseInPlace(bytes, reading)?.value);
    } catch (error) {
      return done(error as Error);
    }
  });

  async function parseLarge(request: FastifyRequest, bytes: Buffer, done: BodyDone): Promise<void> {
    const reader = { ...reading, caller: ownerOf(request), signal: arriving.signalOf(request.raw), documents: documentsIn(request) };
    let value: unknown;
    try {
      value = await parseJsonBody(bytes, reader);
    } catch (error) {
      return done(error as Error);
    } finally {
      arriving.release(request.raw);
    }
    return done(null, value);
  }

  // eslint-disable-next-line max-params -- by the fourth Fastify knows that the hook returns no promise, which every small body would pay for
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (!hasLargeBody(request.headers)) return done();
    const counted = arriving.count(request.raw, ownerOf(request));
    reply.raw.once('close', () => arriving.leave(request.raw));
    payload.once('error', (error) => counted.destroy(error));
    return done(null, payload.pipe(counted));
  });
}

/** Where the bodies of a route hold documents; who takes them takes their text as well. */
function documentsIn({ routeOptions }: FastifyRequest): readonly string[] {
  const path = routeOptions.url ?? '';
  if (path.startsWith('/api/tool-servers')) return ['spec', '*.spec'];
  if (path.startsWith('/api/v1/configs/')) return ['spec', 'TOOL_SERVER_CONNECTIONS.*.spec'];
  return ['tool_servers.*.openapi'];
}
