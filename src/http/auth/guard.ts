import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { loggedCaller, type Caller } from '../../core/callers/caller.ts';
import { GatewayError } from '../../core/errors.ts';
import { bearerIn, invalidKey, startKeyNeeded, type Authenticator } from './authenticate.ts';
import { sendNotFound } from '../errors/error-handler.ts';
import type { ClientTokens } from './client-tokens.ts';
import { findAccess, needsPerson, routeRoles, takesClientTokens, type Access } from './route-roles.ts';
import { hasLargeBody, leaveBodyUnread } from '../errors/unread-bodies.ts';
import { createRequestOrder } from '../pipelined-requests.ts';
import { addressOwner } from './address-owner.ts';
import { createRequestTurns } from '../request-turns.ts';
import { callWhenDone, whenThere, type MaybePromise } from '../../shared/async/maybe-promise.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated caller. Missing on `public` routes, and on `socket` routes, which authenticate by themselves. */
    caller: Caller;
  }
}

interface GuardOptions {
  authenticator: Pick<Authenticator, 'requireCaller' | 'hasMetricsKey'>;
  /** Absent: only keys, and tokens of `auth.oidc`, let programs in. */
  clientTokens?: ClientTokens | undefined;
  /** Milliseconds since 1970. */
  now: () => number;
  /** Default: the gateway's own table. */
  table?: Readonly<Record<string, Access>>;
}

/** Why there is no caller. */
interface Refused {
  refusal: unknown;
}

/** No key has such an id. */
const metricsOwner = 'metrics';

/**
 * Authenticates and authorizes every request by the table of routes, before its body is read. Install it before the routes: registering a route
 * that has no row throws, so that a forgotten route makes the start fail instead of being open to everybody.
 */
export function installGuard(app: FastifyInstance, { authenticator, clientTokens, now, table = routeRoles }: GuardOptions): void {
  app.decorateRequest('caller');
  const order = createRequestOrder();
  // Separate, so that requests with keys do not delay `/health`, and requests without keys do not delay those with one.
  const turns = { withKey: createRequestTurns(), withoutKey: createRequestTurns() };
  requireRows(app, table);

  /** A caller is identified before their turn, so that turns are counted per caller; a caller without a valid key is counted by address. @throws GatewayError */
  function admit(request: FastifyRequest): MaybePromise<void> {
    refuseTwoHosts(request);
    if (request.is404) return takeAsStranger(request);
    const access = findAccess(request.method, request.routeOptions.url ?? '', table);
    refuseUnexpectedBody(request, access);
    if (access === 'public' || access === 'socket') return takeAsStranger(request);
    if (access === 'metrics' && authenticator.hasMetricsKey(request)) return turns.withKey.take(metricsOwner);
    return whenThere(identify(request), (identified) => {
      if ('refusal' in identified) {
        const turn = takeAsStranger(request);
        return whenThere(turn, () => {
          throw identified.refusal;
        });
      }
      return whenThere(turns.withKey.take(identified.id), () => authorize(request, identified, access));
    });
  }

  function takeAsStranger({ ip }: FastifyRequest): Promise<void> | undefined {
    return turns.withoutKey.take(addressOwner(ip));
  }

  /** A refusal takes its turn like any other answer, so it is a value. */
  function identify(request: FastifyRequest): MaybePromise<Caller | Refused> {
    const refuse = (refusal: unknown): MaybePromise<Caller | Refused> => findClient(request, refusal);
    try {
      const caller = authenticator.requireCaller(request, needsPerson(request));
      return caller instanceof Promise ? caller.catch(refuse) : caller;
    } catch (error) {
      return refuse(error);
    }
  }

  /** After keys, because most requests have one. */
  function findClient(request: FastifyRequest, refusal: unknown): MaybePromise<Caller | Refused> {
    const token = bearerIn(request.headers);
    const isInvalid = refusal instanceof GatewayError && refusal.code === 'invalid_api_key';
    if (!isInvalid || token === undefined || clientTokens === undefined || !takesClientTokens(request)) return { refusal };
    return clientTokens.find(token, request).then(
      (caller) => caller ?? { refusal },
      (error: unknown) => ({ refusal: error }),
    );
  }

  function authorize(request: FastifyRequest, caller: Caller, access: Access | undefined): void {
    requireRight(caller, access);
    request.caller = caller;
    addCallerToLog(request, caller);
  }

  app.addHook('onRequest', (request, reply, done) => {
    callWhenDone(
      () => whenThere(order.take(request.raw, reply.raw), () => admit(request)),
      (error) => {
        // Otherwise the body of a request to an unknown path would be read and parsed without authentication.
        if (error !== undefined || request.is404) leaveBodyUnread(request, reply);
        if (error !== undefined) closeUpgradeAfterAnswer(request, reply);
        if (error === undefined && request.is404) sendNotFound(app, request, reply);
        else done(error);
      },
    );
  });
  // The key may have expired while the body was arriving.
  app.addHook('preHandler', (request, _, done) => {
    const { expiresAt } = (request.caller as Caller | undefined) ?? {};
    if (expiresAt !== undefined && expiresAt <= now()) done(invalidKey(true));
    else done();
  });
}

/** Makes the registration of a route without a row fail. */
function requireRows(app: FastifyInstance, table: Readonly<Record<string, Access>>): void {
  app.addHook('onRoute', (route) => {
    for (const method of [route.method].flat()) {
      if (findAccess(method, route.url, table) === undefined)
        throw new Error(`The route ${method} ${route.url} has no row in http/auth/route-roles.ts. Add one that says who may call it.`);
    }
  });
}

/** `setBindings` is Pino's; Fastify's no-op logger lacks it. */
type NamedLogger = FastifyRequest['log'] & { setBindings?: (bindings: Readonly<Record<string, string>>) => void };

/**
 * Adds the caller to every further log line of the request. It changes the request's logger instead of creating a child of it: a child of a child
 * would turn each request's logger into a prototype, which makes every line slow to write.
 */
function addCallerToLog({ log }: FastifyRequest, caller: Caller): void {
  (log as NamedLogger).setBindings?.(loggedCaller(caller));
}

/** Once a request asks for an upgrade, Node no longer closes its connection, and the websocket server has not taken it over yet. */
function closeUpgradeAfterAnswer(request: FastifyRequest, reply: FastifyReply): void {
  if (request.headers.upgrade !== undefined) reply.raw.once('finish', () => request.raw.socket.destroySoon());
}

/** A route without a row requires an administrator. */
function requireRight(caller: Caller, access: Access | undefined): void {
  if (access === 'nobody')
    throw new GatewayError(
      'forbidden',
      'No key may do this: the models of a backend are changed at that backend itself, not through the gateway.',
    );
  if (access === 'user' || caller.role === 'admin') return;
  if (!caller.isOpen)
    throw new GatewayError('forbidden', 'Only administrators may do this, and this key has the role "user". Use an administrator key.');
  if (access !== 'admin-read' && access !== 'metrics') throw startKeyNeeded();
}

const bodiless = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Small bodies are harmless, and some clients send them by habit. */
function refuseUnexpectedBody({ method, headers }: FastifyRequest, access: Access | undefined): void {
  if (!bodiless.has(method) && access !== 'public') return;
  if (hasLargeBody(headers)) throw new GatewayError('payload_too_large', `${method} takes no body here. Send the request without one.`);
}

/**
 * Node keeps the first of two `Host` headers and drops the second, which a proxy in front may have used (RFC 9112, section 3.2, requires a 400).
 * A request line with an absolute URL names a host as well, which takes precedence over the header.
 * @throws GatewayError `invalid_request`
 */
function refuseTwoHosts({ raw }: FastifyRequest): void {
  const inLine = raw.url?.startsWith('/') === true ? undefined : /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i.exec(raw.url ?? '')?.[1];
  const isOther = inLine !== undefined && inLine.toLowerCase() !== raw.headers.host?.toLowerCase();
  if (isOther || hasTwoHosts(raw.rawHeaders))
    throw new GatewayError('invalid_request', 'The request names two hosts. Send one Host header, and no other host in the request line.');
}

/** `rawHeaders` alternates names and values. */
function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts > 1;
}
