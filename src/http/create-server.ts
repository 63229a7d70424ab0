import cors from '@fastify/cors';
import { fastify, LogController, type FastifyBaseLogger, type FastifyInstance } from 'fastify';
import type { Metrics } from '../core/runs/metrics.ts';
import type { Audit } from '../core/audit.ts';
import type { Tracing } from '../core/runs/trace.ts';
import type { RateLimiter } from '../core/callers/rate-limit.ts';
import type { Authenticator } from './auth/authenticate.ts';
import { auditChanges } from './audit-changes.ts';
import type { ClientTokens } from './auth/client-tokens.ts';
import { installGuard } from './auth/guard.ts';
import { installCallerLimits } from './auth/limit-callers.ts';
import { installJsonBodies } from './body/json-bodies.ts';
import { loggedPath } from './logged-path.ts';
import { traceRequests } from './trace-requests.ts';
import { installErrorHandling, noSniffing, sendMalformedRequest, sendMalformedUrl } from './errors/error-handler.ts';

interface ServerOptions {
  logger: FastifyBaseLogger;
  authenticator: Authenticator;
  clientTokens: ClientTokens | undefined;
  limiter: RateLimiter;
  metrics: Pick<Metrics, 'countRequest'>;
  audit: Audit;
  tracing?: Pick<Tracing, 'beginRequest'> | undefined;
  bodyLimitBytes: number;
  corsOrigins: readonly string[];
  /** How long a client may read nothing of its answer. */
  stallMs: number;
  /** Milliseconds since 1970. */
  now: () => number;
  newId: () => string;
}

/** The id of a person has up to 256 characters, each of which may be nine when it is percent-encoded; the rest is for the route around it. */
const longestPath = 2_560;

/** No route has a longer path. Routing takes its time for each character, before it is known who asks, and a thousand requests may arrive together. */
function withoutLongPath(url: string): string {
  if (url.length <= longestPath) return url;
  const end = url.indexOf('?');
  return end === -1 || end > longestPath ? url.slice(0, longestPath) : url;
}

/** Creates Fastify with everything that runs before the routes: body limits, errors, CORS, and the guard, in this order. */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { logger, authenticator, clientTokens, limiter, metrics, audit, tracing, bodyLimitBytes, corsOrigins, stallMs, now, newId } =
    options;
  const server = fastify({
    loggerInstance: logger,
    bodyLimit: bodyLimitBytes,
    // Longer than the largest body takes at 6 kB/s. It does not apply to answers.
    requestTimeout: 30 * 60_000,
    // Model ids contain slashes and digests; the default of 100 characters would refuse long ones with a 414. Base URLs with an extra slash are
    // the most common mistake of clients; roles and limits follow the matched route, however it is spelled.
    routerOptions: { maxParamLength: 1_024, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true },
    rewriteUrl: ({ url = '/' }) => withoutLongPath(url),
    genReqId: () => newId(),
    // Without the options of the route, because none has any: Pino would look through them.
    childLoggerFactory: (...[log, bindings, , { method, url = '' }]) =>
      log.child(Object.assign(bindings, { method, path: loggedPath(url) })),
    // Fastify would log two lines for every request; a chat logs one at its end.
    logController: new LogController({ disableRequestLogging: true }),
    forceCloseConnections: true,
    frameworkErrors: sendMalformedUrl,
    clientErrorHandler: sendMalformedRequest,
  });
  server.server.headersTimeout = 30_000;
  // Once an answer has ended, which a stream may take its time for. Node sets its own limit when all of it is sent.
  server.server.prependListener('request', (_request, answer) => {
    answer.once('prefinish', () => answer.socket?.setTimeout(stallMs));
  });
  if (tracing !== undefined) traceRequests(server, tracing);
  // For every answer, streams and errors included: no browser guesses a type that would make a script of somebody's text.
  server.addHook('onRequest', (_request, reply, done) => {
    reply.header(...noSniffing);
    done();
  });
  server.addHook('onResponse', (request, reply, done) => {
    const route = request.is404 ? undefined : request.routeOptions.url;
    metrics.countRequest({ method: request.method, route, status: reply.statusCode });
    done();
  });
  installJsonBodies(server, { ownerOf: (request) => request.caller.id });
  installErrorHandling(server);
  if (corsOrigins.length > 0)
    await server.register(cors, {
      origin: corsOrigins.includes('*') ? '*' : [...corsOrigins],
      methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      exposedHeaders: ['x-toolwharf-run-id', 'x-request-id', 'request-id', 'retry-after', 'www-authenticate'],
    });
  installGuard(server, { authenticator, clientTokens, now });
  auditChanges(server, audit);
  installCallerLimits(server, limiter);
  return server;
}
