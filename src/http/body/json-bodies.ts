import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import { InflightBodyLimit } from './inflight-body-limit.ts';
import { installBodyPace, type BodyPace } from './body-pace.ts';
import { parseInPlace, parseJsonBody } from './parse-json-body.ts';
import { hasLargeBody } from '../errors/unread-bodies.ts';

/** All large bodies that are being received at the same time: they are in memory before they are validated. */
const arrivingBodiesBytes = 64 * 1024 * 1024;

interface JsonBodyOptions {
  /** Bytes of all large bodies that are being received or parsed; default `arrivingBodiesBytes`. */
  arrivingBytes?: number;
  /** The caller who owns a body; default: one caller owns all. */
  ownerOf?: (request: FastifyRequest) => string;
  /** The minimum rate of bodies; default: that of `limits`. */
  pace?: Partial<BodyPace>;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** To be called when a form was read and is no longer in memory; at the latest, its answer does that. */
    releaseBody?: () => void;
  }
  interface FastifyContextConfig {
    takesForms?: true;
    /** Bodies are JSON whatever their content type says, as an Ollama takes them, but for those that a page sends. */
    takesAnyType?: true;
  }
}

type BodyDone = (error: Error | null, body?: unknown) => void;

const reading = { maxDepth: limits.bodyDepth, prototypes: 'refuse' } as const;

/**
 * Reads bodies as JSON only, because pages of other sites may send forms and plain text without a preflight. An empty body with the content type of
 * JSON is allowed, as many clients send it; a route that needs a body refuses it itself. Routes that take forms too (`takesForms`) get them as
 * streams that they read, and limit, by themselves.
 *
 * Every body has to arrive at a minimum rate. Large ones count against a limit over all requests until they are parsed, in a worker unless
 * parsing is cheap. Install it together with the guard, which refuses requests without a key first.
 */
export function installJsonBodies(app: FastifyInstance, options: JsonBodyOptions = {}): void {
  const { arrivingBytes = arrivingBodiesBytes, ownerOf = () => '', pace } = options;
  app.removeContentTypeParser(['text/plain', 'application/json']);
  const arriving = new InflightBodyLimit(arrivingBytes);
  installBodyPace(app, { ownerOf, ...(pace !== undefined && { pace }) });

  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    if (bytes.byteLength > limits.smallBodyBytes) return void parseLarge(request, bytes, done);
    // A chunked body that turned out small is counted too: release it now, because its run may last for minutes.
    arriving.release(request.raw);
    if (bytes.byteLength === 0) return done(null, undefined);
    try {
      return done(null, parseInPlace(bytes, reading)?.value);
    } catch (error) {
      return done(error as Error);
    }
  });

  app.addHook('onRoute', (route) => {
    if (route.config?.takesAnyType === true) route.onRequest = [route.onRequest ?? [], readAsJson].flat();
  });

  app.decorateRequest('releaseBody');
  app.addContentTypeParser('multipart/form-data', (request, payload, done) => {
    if (request.routeOptions.config.takesForms !== true) return done(noForms());
    request.releaseBody = () => arriving.release(request.raw);
    return done(null, payload);
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

  // eslint-disable-next-line max-params -- the fourth parameter tells Fastify that the hook is synchronous; a promise would slow down every small body
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (!hasLargeBody(request.headers)) return done();
    const counted = arriving.count(request.raw, ownerOf(request));
    reply.raw.once('close', () => arriving.abort(request.raw));
    payload.once('error', (error) => counted.destroy(error));
    return done(null, payload.pipe(counted));
  });
}

/** Browsers name the origin of what pages send, or how they came to send it. */
function readAsJson({ raw: { headers } }: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  if (headers.origin === undefined && headers['sec-fetch-site'] === undefined) headers['content-type'] = 'application/json';
  done();
}

function noForms(): GatewayError {
  return new GatewayError('unsupported_media_type', 'The body must be sent as content-type: application/json.');
}

/** Paths of OpenAPI documents in the bodies of a route. The worker may return them as JSON text, which the routes accept too. */
function documentsIn({ routeOptions }: FastifyRequest): readonly string[] {
  const path = routeOptions.url ?? '';
  if (path.startsWith('/api/tool-servers')) return ['spec', '*.spec'];
  if (path.startsWith('/api/v1/configs/')) return ['spec', 'TOOL_SERVER_CONNECTIONS.*.spec'];
  return ['tool_servers.*.openapi'];
}
