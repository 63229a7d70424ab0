import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isJsonObject } from '../../shared/json.ts';
import type { RateLimiter, Release } from '../../core/rate-limit.ts';
import { findAccess } from './route-roles.ts';

/** Routes of every caller that make neither a backend nor a tool work, and so are not counted. A new `POST` route is counted unless it is here. */
const freeRoutes: ReadonlySet<string> = new Set([
  'POST /v1/chat/completions/:id',
  'POST /api/runs/:id/cancel',
  'POST /api/runs/:id/calls/:call_id/cancel',
  'POST /api/tasks/stop/:id',
]);

interface Admission {
  release: Release;
  /** Something that outlives the answer releases it. */
  isTakenOver: boolean;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Of requests that count against the limits of a key. */
    admission?: Admission;
  }
}

/**
 * Holds callers to the limits of their keys, from the request to the end of its answer. What is counted follows from the route, never from what
 * the body says about itself. To be installed after the guard.
 */
export function installCallerLimits(app: FastifyInstance, limiter: Pick<RateLimiter, 'admit'>): void {
  app.decorateRequest('admission');
  app.addHook('preHandler', async (request, reply) => {
    if (!isCounted(request)) return;
    const admission: Admission = { release: await limiter.admit(request.caller), isTakenOver: false };
    request.admission = admission;
    const end = (): void => {
      if (!admission.isTakenOver) admission.release();
    };
    reply.raw.once('close', end);
    if (reply.raw.destroyed) end();
  });
}

/** For work that goes on after the answer: from now on the request counts until this is called. */
export function takeOverAdmission(request: FastifyRequest): Release {
  const { admission } = request;
  if (admission === undefined) return () => undefined;
  admission.isTakenOver = true;
  return admission.release;
}

function isCounted({ method, routeOptions, body }: FastifyRequest): boolean {
  if (method !== 'POST') return false;
  const { url = '' } = routeOptions;
  if (findAccess(method, url) !== 'user' || freeRoutes.has(`${method} ${url}`)) return false;
  // By this field the protocol decides what is done: listing costs nothing, calling does.
  return url !== '/mcp' || (isJsonObject(body) && body['method'] === 'tools/call');
}
