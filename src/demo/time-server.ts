import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import fastify from 'fastify';
import { timeServerDocument } from './time/openapi-document.ts';
import { Refusal } from './time/read-body.ts';
import type { TimeOperations } from './time/time-operations.ts';

/** Ample for the largest valid body, a timestamp and two time zones. */
const bodyLimitBytes = 64 * 1024;
/** For receiving a whole request: a slow client must not occupy a connection. */
const requestTimeoutMs = 10_000;
/** How long a browser may cache the response to a preflight. */
const preflightMaxAgeSeconds = 600;

interface TimeServerOptions {
  /** Milliseconds since 1970; the system's clock by default. */
  now?: () => number;
  /** IANA name of the zone of `get_current_local_time`; the system's by default. */
  localZone?: string;
}

interface StartTimeServerOptions extends TimeServerOptions {
  host: string;
  /** 0: any free port. */
  port: number;
  /** Closes the server when aborted. */
  signal?: AbortSignal;
}

/**
 * The bundled tool server: "Secure Time Utilities API", with its document at `/openapi.json`. It answers as a FastAPI server does:
 * `{"detail": …}` with 400, 404, 405 or 422. Every web page may call it: it stores nothing, reads no files, and has no users.
 * @throws when `localZone` is no IANA zone.
 */
export function createTimeServer(options: TimeServerOptions = {}): FastifyInstance {
  const { now = Date.now, localZone } = options;
  if (localZone !== undefined && !isTimeZone(localZone))
    throw new Error(`The time zone ${localZone} is unknown: name one of the IANA database, such as UTC.`);
  let loading: Promise<TimeOperations> | undefined;
  /** With the first call, because dates and time zones take two packages and the data of `Intl`. */
  const load = (): Promise<TimeOperations> => {
    loading ??= import('./time/time-operations.ts').then(({ createTimeOperations }) => {
      return createTimeOperations({ now, localZone: localZone ?? systemZone() });
    });
    return loading;
  };

  const app = fastify({
    logger: false,
    bodyLimit: bodyLimitBytes,
    requestTimeout: requestTimeoutMs,
    // Idle keep-alive connections of browsers would otherwise delay closing.
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    routerOptions: { ignoreTrailingSlash: true },
    // For a URL that cannot be decoded.
    frameworkErrors: (_error, _request, reply: FastifyReply) => void reply.code(404).send({ detail: 'Not Found' }),
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, text, done) => done(null, text));
  app.addHook('onRequest', openToEveryOrigin);

  const methods = new Map([['/openapi.json', 'GET']]);
  app.get('/openapi.json', () => timeServerDocument);
  for (const [path, item] of Object.entries(timeServerDocument.paths)) {
    const method = 'get' in item ? 'GET' : 'POST';
    methods.set(path, method);
    app.route({ method, url: path, handler: async (request) => (await load())[path as keyof TimeOperations](receivedBody(request)) });
  }

  app.setNotFoundHandler((request, reply) => {
    const method = methods.get(pathOf(request.url));
    if (method === undefined) return reply.code(404).send({ detail: 'Not Found' });
    return reply.code(405).header('allow', method).send({ detail: 'Method Not Allowed' });
  });
  app.setErrorHandler((error, _request, reply) => {
    if (error instanceof Refusal) return reply.code(error.status).send({ detail: error.detail });
    const status = statusOf(error);
    return reply.code(status).send({ detail: status < 500 && error instanceof Error ? error.message : 'Internal Server Error' });
  });
  return app;
}

/**
 * Listens until it is closed or its signal is aborted. If the host is a wildcard, the URL has a loopback address.
 * @throws if the address is not available; the signal's reason if it was already aborted.
 */
export async function startTimeServer(options: StartTimeServerOptions): Promise<{ url: string; close(): Promise<void> }> {
  const { host, port, signal } = options;
  signal?.throwIfAborted();
  const app = createTimeServer(options);
  await app.listen({ host, port });
  const close = async () => {
    signal?.removeEventListener('abort', onAbort);
    await app.close();
  };
  const onAbort = () => void close();
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted) {
    await close();
    signal.throwIfAborted();
  }
  const address = app.server.address();
  return { url: urlOf(host, typeof address === 'object' && address !== null ? address.port : port), close };
}

/**
 * CORS without credentials, for any origin. Answers preflights, and repeats the requested headers, because `*` does not cover `Authorization`. Also
 * grants Private Network Access, for which browsers ask before a public page reaches a private address.
 */
async function openToEveryOrigin(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
  if (request.headers.origin === undefined) return undefined;
  reply.header('access-control-allow-origin', '*');
  if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return undefined;
  reply.header('access-control-allow-methods', 'GET, POST, OPTIONS').header('access-control-max-age', preflightMaxAgeSeconds);
  reply.header('vary', 'Access-Control-Request-Headers, Access-Control-Request-Private-Network');
  const requestedHeaders = request.headers['access-control-request-headers'];
  if (requestedHeaders !== undefined) reply.header('access-control-allow-headers', requestedHeaders);
  if (request.headers['access-control-request-private-network'] === 'true') reply.header('access-control-allow-private-network', 'true');
  return reply.code(200).type('text/plain; charset=utf-8').send('OK');
}

/** UTC on a system whose time zone has no IANA name (`TZ=UTC+3`, a minimal container). */
function systemZone(): string {
  // Undefined with such a setting, despite its type.
  const name: string | undefined = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return name !== undefined && isTimeZone(name) ? name : 'UTC';
}

/** Offsets such as `+02:00`, which `Intl` takes as well, are no names. */
function isTimeZone(name: string): boolean {
  try {
    return /^[a-z]/i.test(name) && Intl.DateTimeFormat('en', { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}

function receivedBody(request: FastifyRequest) {
  return typeof request.body === 'string' ? { contentType: request.headers['content-type'], text: request.body } : undefined;
}

function pathOf(url: string): string {
  const path = url.split('?', 1)[0] ?? '';
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

function statusOf(error: unknown): number {
  const status = typeof error === 'object' && error !== null && 'statusCode' in error ? error.statusCode : undefined;
  return typeof status === 'number' && status >= 400 ? status : 500;
}

function urlOf(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '') return `http://127.0.0.1:${port}`;
  if (host === '::') return `http://[::1]:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
