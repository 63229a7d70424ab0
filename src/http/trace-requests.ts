import type { FastifyInstance } from 'fastify';
import type { TraceHeaders } from '../core/outbound.ts';
import type { Tracing } from '../core/runs/trace.ts';
import { loggedPath } from './logged-path.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What is sent with requests on its behalf. Absent: it is not traced. */
    trace?: TraceHeaders;
  }
}

/** Asked every few seconds by balancers and scrapers. */
const untraced: ReadonlySet<string | undefined> = new Set(['/health', '/ready', '/metrics']);

/**
 * Traces each request. Its own trace headers take the place of the client's, so that whatever reads them works below its span. A websocket is open for
 * hours, so it has no span: each of its chats is traced below what the client sent when it opened the socket.
 */
export function traceRequests(server: FastifyInstance, tracing: Pick<Tracing, 'beginRequest'>): void {
  server.addHook('onRequest', (request, reply, done) => {
    const { method, headers, url } = request;
    const route = request.is404 ? undefined : request.routeOptions.url;
    if (untraced.has(route) || headers.upgrade !== undefined) return done();
    const readHeader = (name: string): string | undefined => {
      const value = headers[name];
      return Array.isArray(value) ? value.join(',') : value;
    };
    const trace = tracing.beginRequest({ method, path: loggedPath(url), route, readHeader });
    Object.assign(headers, trace.headers);
    request.trace = trace.headers;
    // Also for a client that leaves, and for answers that the route sends itself.
    reply.raw.once('close', () => trace.end({ route, status: reply.raw.statusCode }));
    return done();
  });
}
