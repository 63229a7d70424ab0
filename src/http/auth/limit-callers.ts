import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isJsonObject, ownValue } from '../../shared/json/json.ts';
import { callWhenDone } from '../../shared/async/maybe-promise.ts';
import type { RateLimiter, Release } from '../../core/callers/rate-limit.ts';
import { findAccess } from './route-roles.ts';

/** `POST` routes of users that cause no work of a backend or tool, and so are not counted. Every other `POST` route of users is counted. */
const freeRoutes: ReadonlySet<string> = new Set([
  'POST /v1/chat/completions/:id',
  'POST /v1/messages/count_tokens',
  'POST /v1/responses/:id/cancel',
  'POST /api/runs/:id/cancel',
  'POST /api/runs/:id/calls/:call_id/cancel',
  'POST /api/tasks/stop/:id',
  'POST /api/show',
]);

/** JSON-RPC's `method` of the requests to `/mcp` that are counted: using something costs, listing it does not. */
const countedRpcMethods: ReadonlySet<string> = new Set(['tools/call', 'resources/read', 'prompts/get', 'completion/complete']);

/** Lists of functions, which grow with what is registered. They are counted apart, generously. */
const readRoutes: ReadonlySet<string> = new Set(['GET /api/tools', 'GET /api/tools/openapi.json']);
const readRpcMethods: ReadonlySet<string> = new Set(['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list']);

interface Admission {
  release: Release;
  /** Work that continues after the answer will release it. */
  isTakenOver: boolean;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Present on requests that count against the limits of a key. */
    admission?: Admission;
  }
  interface FastifyContextConfig {
    /** The route admits requests with `interrupt: true` by itself: first it ends what is in their way. */
    admitsInterrupts?: true;
  }
}

/**
 * Enforces the limits of callers' keys, from the request to the end of its run or its answer. The route decides whether a request counts, never
 * what its body claims to be. Install it after the guard.
 */
export function installCallerLimits(app: FastifyInstance, limiter: Pick<RateLimiter, 'admit' | 'admitRead'>): void {
  app.decorateRequest('admission');
  function count(request: FastifyRequest, reply: FastifyReply): void {
    const { method, body, routeOptions } = request;
    const { url = '', config } = routeOptions;
    if (isRead(method, url, body)) limiter.admitRead(request.caller);
    else if (isCounted(method, url, body) && !(config.admitsInterrupts === true && isInterrupt(body)))
      admitRequest(request, reply, limiter);
  }
  app.addHook('preHandler', (request, reply, done) => callWhenDone(() => count(request, reply), done));
}

/**
 * Counts the request until its run or its answer has ended. For routes with `admitsInterrupts`.
 * @throws GatewayError `rate_limit_exceeded`
 */
export function admitRequest(request: FastifyRequest, reply: FastifyReply, limiter: Pick<RateLimiter, 'admit'>): void {
  const admission: Admission = { release: limiter.admit(request.caller), isTakenOver: false };
  request.admission = admission;
  const end = (): void => {
    if (!admission.isTakenOver) admission.release();
  };
  reply.raw.once('close', end);
  if (reply.raw.destroyed) end();
}

function isInterrupt(body: unknown): boolean {
  return isJsonObject(body) && ownValue(body, 'interrupt') === true;
}

/** For work that continues after the answer: the request counts until the returned function is called. */
export function takeOverAdmission(request: FastifyRequest): Release {
  const { admission } = request;
  if (admission === undefined) return () => undefined;
  admission.isTakenOver = true;
  return admission.release;
}

/** Whether requests of a route count, as far as the route decides. */
export function isCountedRoute(method: string, url: string): boolean {
  return method === 'POST' && findAccess(method, url) === 'user' && !freeRoutes.has(`${method} ${url}`);
}

function isCounted(method: string, url: string, body: unknown): boolean {
  if (!isCountedRoute(method, url)) return false;
  return url !== '/mcp' || countedRpcMethods.has(rpcMethodIn(body));
}

function isRead(method: string, url: string, body: unknown): boolean {
  if (url === '/mcp') return method === 'POST' && readRpcMethods.has(rpcMethodIn(body));
  return readRoutes.has(`${method === 'HEAD' ? 'GET' : method} ${url}`);
}

function rpcMethodIn(body: unknown): string {
  const rpcMethod = isJsonObject(body) ? body['method'] : undefined;
  return typeof rpcMethod === 'string' ? rpcMethod : '';
}
