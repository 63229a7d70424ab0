import type { FastifyInstance } from 'fastify';
import { isJsonObject } from '../core/json.ts';
import type { RateLimiter } from '../core/rate-limit.ts';
import { callerOf } from './guard.ts';

/** Routes that make a backend or a tool work, as they are registered. Everything else is cheap. */
const countedRoutes: ReadonlySet<string> = new Set([
  'POST /v1/chat/completions',
  'POST /api/chat/completions',
  'POST /api/v1/chat/completions',
  'POST /v1/embeddings',
  'POST /api/tools/*',
  'POST /mcp',
  'POST /api/runs/:id/approvals/:call_id',
]);

/** Holds callers to the limits of their keys, from the request to the end of its answer. To be installed after the guard. */
export function installCallerLimits(app: FastifyInstance, limiter: Pick<RateLimiter, 'admit'>): void {
  app.addHook('preHandler', async (request, reply) => {
    if (!countedRoutes.has(`${request.method} ${request.routeOptions.url ?? ''}`)) return;
    // Asking what there is costs nothing.
    if (request.routeOptions.url === '/mcp' && !(isJsonObject(request.body) && request.body['method'] === 'tools/call')) return;
    // A run in the background outlives its answer: it is counted where it starts.
    if (isJsonObject(request.body) && request.body['background'] === true) return;
    const release = await limiter.admit(callerOf(request));
    reply.raw.once('close', release);
    if (reply.raw.destroyed) release();
  });
}
