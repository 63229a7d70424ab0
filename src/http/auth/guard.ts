import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../core/caller.ts';
import { GatewayError } from '../../core/errors.ts';
import { invalidKey, startKeyNeeded } from './authenticate.ts';
import type { Authenticator } from './authenticate.ts';
import { sendNotFound } from '../error-handler.ts';
import { findAccess, routeRoles } from './route-roles.ts';
import type { Access } from './route-roles.ts';
import { hasLargeBody, leaveBodyUnread } from '../body/unread-bodies.ts';
import { createRequestTurns } from '../request-turns.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whom the guard has let in. Missing on `public` routes, and on `socket` routes until they have authenticated. */
    caller: Caller;
  }
}

export interface GuardOptions {
  authenticator: Pick<Authenticator, 'requireCaller'>;
  /** Milliseconds since 1970. */
  now: () => number;
  /** Default: the gateway's own table. */
  table?: Readonly<Record<string, Access>>;
}

/**
 * Lets every request in or not, by the table of routes, before its body is read. To be installed before the routes: one that is registered
 * later and has no row throws at its registration, so that a forgotten route is closed by a start that fails, not open.
 */
export function installGuard(app: FastifyInstance, { authenticator, now, table = routeRoles }: GuardOptions): void {
  app.decorateRequest('caller');
  const turns = createRequestTurns();
  app.addHook('onRoute', (route) => {
    for (const method of [route.method].flat()) {
      if (findAccess(method, route.url, table) === undefined)
        throw new Error(`The route ${method} ${route.url} has no row in http/auth/route-roles.ts: say there who may call it.`);
    }
  });
  app.addHook('onRequest', async (request, reply) => {
    try {
      refuseTwoHosts(request);
      // No route to protect, but without this the body would be read and parsed for everybody.
      if (request.is404) {
        leaveBodyUnread(request, reply);
        return sendNotFound(app, request, reply);
      }
      const access = findAccess(request.method, request.routeOptions.url ?? '', table);
      refuseUnexpectedBody(request, access);
      if (access === 'public' || access === 'socket') return undefined;
      await turns.take();
      const caller = await authenticator.requireCaller(request);
      requireRight(caller, access);
      request.caller = caller;
      addCallerToLog(request, caller);
    } catch (error) {
      leaveBodyUnread(request, reply);
      closeUpgradeAfterAnswer(request, reply);
      throw error;
    }
    return undefined;
  });
  // The key may have expired while the body was arriving.
  app.addHook('preHandler', (request, _, done) => {
    const { expiresAt } = (request.caller as Caller | undefined) ?? {};
    if (expiresAt !== undefined && expiresAt <= now()) done(invalidKey(true));
    else done();
  });
}

/** Pino's; the logger of an app that keeps no log has no such function. */
type NamedLogger = FastifyRequest['log'] & { setBindings?: (bindings: Readonly<Record<string, string>>) => void };

/**
 * In every further line of the request. Into the logger that it has already: a child of a child makes each request's logger a prototype, and every
 * line of it slow to write.
 */
function addCallerToLog({ log }: FastifyRequest, { name, id }: Caller): void {
  (log as NamedLogger).setBindings?.({ caller: name ?? id });
}

/** Node no longer closes the connection of an upgrade, and the websocket server does not yet. */
function closeUpgradeAfterAnswer(request: FastifyRequest, reply: FastifyReply): void {
  if (request.headers.upgrade !== undefined) reply.raw.once('finish', () => request.raw.socket.destroySoon());
}

/** A route without a row is for administrators. */
function requireRight(caller: Caller, access: Access | undefined): void {
  if (access === 'user' || caller.role === 'admin') return;
  if (!caller.isOpen)
    throw new GatewayError('forbidden', "Only administrators may do this, and this key is a user's. Use an administrator key.");
  if (access !== 'admin-read') throw startKeyNeeded();
}

const bodiless = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Small ones are harmless, and some clients send them by habit. */
function refuseUnexpectedBody({ method, headers }: FastifyRequest, access: Access | undefined): void {
  if (!bodiless.has(method) && access !== 'public') return;
  if (hasLargeBody(headers)) throw new GatewayError('payload_too_large', `${method} takes no body here. Send none.`);
}

/**
 * Node keeps the first of two `Host` headers and drops the other one (RFC 9112 section 3.2 wants a 400); a proxy may have looked at the second. A
 * request line with a whole address names a host as well, which goes before the header.
 * @throws GatewayError `invalid_request`
 */
function refuseTwoHosts({ raw }: FastifyRequest): void {
  const inLine = raw.url?.startsWith('/') === true ? undefined : /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i.exec(raw.url ?? '')?.[1];
  const isOther = inLine !== undefined && inLine.toLowerCase() !== raw.headers.host?.toLowerCase();
  if (isOther || hasTwoHosts(raw.rawHeaders))
    throw new GatewayError('invalid_request', 'The request names its Host twice. Send the header once.');
}

/** Names and values in turn. */
function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts > 1;
}
