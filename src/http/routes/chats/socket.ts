import websocket from '@fastify/websocket';
import type { WebSocket } from '@fastify/websocket';
import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify';
import type { Caller } from '../../../core/callers/caller.ts';
import { GatewayError } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';
import type { RateLimiter } from '../../../core/callers/rate-limit.ts';
import type { BrowserRelay } from '../../../relay/browser-relay.ts';
import { FairMap } from '../../../shared/fairness/fair-map.ts';
import { addressOwner } from '../../auth/address-owner.ts';
import { invalidKey, tokenOf } from '../../auth/authenticate.ts';
import { foreignOrigin } from '../../auth/open-mode.ts';
import type { PersonSource } from '../../auth/identify-person.ts';
import { tidyPath } from '../../errors/not-found-hints.ts';
import { createSocketChats, type StartChat } from '../../dialects/socket/socket-chats.ts';
import type { ActiveRuns } from '../../../runs/active-runs.ts';
import type { InterruptChat } from '../../../runs/interrupt-chat.ts';
import { createSocketSlots } from '../../dialects/socket/socket-slots.ts';
import { serveConnection, type Credential } from '../../dialects/socket/socket-connection.ts';
import { addResponsesSocket, responseFrameBytes, responsesPath, type ResponsesSocketOptions } from './responses-socket.ts';
import type { MaybePromise } from '../../../shared/async/maybe-promise.ts';

export interface SocketRouteOptions {
  relay: BrowserRelay;
  /** Undefined when the token is unknown. @throws GatewayError as `Authenticator.findByToken` */
  authenticateToken(token: string, source: PersonSource): MaybePromise<Caller | undefined>;
  /** The caller in open mode; undefined when this request needs a key. @throws GatewayError `storage_unavailable` */
  openCaller(request: FastifyRequest): MaybePromise<Caller | undefined>;
  /** Origins of pages that may connect besides the gateway's own; `*` allows every page. */
  allowedOrigins: readonly string[];
  /** `PUBLIC_URL`. */
  publicUrl?: string | undefined;
  pingIntervalMs: number;
  /** Milliseconds since 1970. */
  now: () => number;
  startChat: StartChat;
  /** The model for a `message` that names none: one that this caller may use. */
  defaultModel?: (caller: Caller) => Promise<string | undefined>;
  /** Default: no limits. */
  limiter?: RateLimiter;
  /** Cancels a run of this caller that was not started over a socket of this process; false when there is none. */
  cancelRun?: (runId: string, caller: Caller) => boolean;
  /** Cancels the runs of this caller whose answers go to the session. */
  cancelSession?: (sessionId: string, caller: Caller) => void;
  interruptChat?: InterruptChat;
  /** Default: nothing is counted. */
  holdWaiting?: ActiveRuns['holdWaiting'];
  /** Default: Responses are not served over a websocket. */
  responses?: Omit<ResponsesSocketOptions, 'limiter' | 'now' | 'pingIntervalMs'>;
}

const path = '/ws';
const protocol = 'toolwharf.v1';
const bearerPrefix = 'bearer.';
/** How long a peer may take to answer the close frame before its connection is destroyed. */
const closeTimeoutMs = 2_000;
/**
 * Sockets that have not authenticated; each is closed after `limits.socketAuthTimeoutMs`. A further one replaces the oldest of the address with the most,
 * so that silent connections cannot keep out a page, which sends its auth frame at once, nor push out one that is about to.
 */
const maxAnonymousSockets = 256;

/** `GET /ws`: checks origin and credential before the upgrade, then serves the socket. */
export const socketRoute: FastifyPluginAsync<SocketRouteOptions> = async (app, options) => {
  const slots = createSocketSlots();
  const anonymous = createAnonymousSockets();
  /** Looked up before the upgrade, because the `wsHandler` must attach its listeners without waiting. */
  const credentials = new WeakMap<FastifyRequest, Credential>();
  const chats = createSocketChats({ ...options, log: app.log });
  await registerWebsocket(app);
  if (options.responses !== undefined) {
    const refuse = (request: FastifyRequest): void => refuseForeignOrigin(request, options.allowedOrigins);
    addResponsesSocket(app, { ...options, ...options.responses, slots, refuseForeignOrigin: refuse });
  }

  app.route({
    method: 'GET',
    url: path,
    onRequest: async (request) => {
      refuseForeignOrigin(request, options.allowedOrigins);
      const credential = await findCredential(request, options);
      if (credential.type === 'refused' && tokenOf(request.headers) !== undefined) throw invalidKey(true);
      credentials.set(request, credential);
    },
    handler: () => {
      throw new GatewayError('invalid_request', `${path} speaks WebSocket: connect with ws:// or wss:// and the subprotocol ${protocol}.`, {
        status: 426,
      });
    },
    wsHandler: (socket, request) => {
      const credential = credentials.get(request) ?? { type: 'refused' };
      if (credential.type === 'none') anonymous.admit(socket, addressOwner(request.ip));
      let callerWithSlot: string | undefined;
      socket.on('close', () => {
        anonymous.delete(socket);
        if (callerWithSlot !== undefined) slots.release(callerWithSlot);
      });
      serveConnection(socket, credential, {
        ...options,
        chats,
        headers: request.headers,
        rawHeaders: request.raw.rawHeaders,
        log: request.log,
        takeSlot(callerId) {
          anonymous.delete(socket);
          const budget = slots.take(callerId);
          if (budget !== undefined) callerWithSlot = callerId;
          return budget;
        },
      });
    },
  });
};

async function registerWebsocket(app: FastifyInstance): Promise<void> {
  // By default Node treats every request with an `Upgrade` header as an upgrade, also `h2c` of curl and Java, without its HTTP timeouts.
  Object.assign(app.server, { shouldUpgradeCallback: isSocketUpgrade });
  const options = {
    maxPayload: limits.socketFrameBytes,
    closeTimeout: closeTimeoutMs,
    // One frame per tick of the event loop: a single read can contain ten thousand small frames.
    allowSynchronousEvents: false,
    // Only the name of the protocol is echoed: the other subprotocol contains the key.
    handleProtocols: (offered: Set<string>) => (offered.has(protocol) ? protocol : false),
  };
  await app.register(websocket, {
    options,
    errorHandler(error, socket, request) {
      request.log.info({ error: error.message }, 'socket failed');
      if (socket.readyState === socket.OPEN) socket.close(1011, 'Internal error.');
    },
    preClose(done) {
      for (const socket of app.websocketServer.clients) socket.close(1001, 'The gateway is shutting down.');
      app.websocketServer.close();
      done();
    },
  });
  const server = app.websocketServer;
  // The last event before `ws` takes the limit for the new socket.
  server.on('headers', (_headers, request) => {
    server.options.maxPayload = pathOf(request) === responsesPath ? responseFrameBytes : limits.socketFrameBytes;
  });
}

interface AnonymousSockets {
  /** `owner`: the address. */
  admit(socket: WebSocket, owner: string): void;
  delete(socket: WebSocket): void;
}

/** Sockets that have not authenticated. */
function createAnonymousSockets(): AnonymousSockets {
  const sockets = new FairMap<WebSocket>({ entries: maxAnonymousSockets, characters: 0 });
  const keys = new WeakMap<WebSocket, string>();
  let last = 0;
  return {
    admit(socket, owner) {
      last += 1;
      keys.set(socket, String(last));
      for (const dropped of sockets.set(String(last), { owner, value: socket, characters: 0 })) {
        dropped.close(1013, 'Too many sockets wait for their auth frame.');
        // A client that floods the gateway would not answer the close frame.
        dropped.terminate();
      }
    },
    delete: (socket) => sockets.delete(keys.get(socket) ?? ''),
  };
}

function isSocketUpgrade(request: { url?: string; headers: { upgrade?: string } }): boolean {
  const target = pathOf(request);
  return (target === path || target === responsesPath) && request.headers.upgrade?.toLowerCase() === 'websocket';
}

function pathOf({ url }: { url?: string | undefined }): string {
  return tidyPath(url?.split('?', 1)[0] ?? '');
}

/** Browsers let any page open a socket to any host; only the `Origin` header tells pages apart (RFC 6455, section 10.2). */
function refuseForeignOrigin(request: FastifyRequest, allowedOrigins: readonly string[]): void {
  const origin = foreignOrigin(request.headers, allowedOrigins);
  if (origin === undefined) return;
  // A page only sees a close code, so the reason has to be in the log.
  request.log.warn({ origin }, 'socket of a foreign page refused: add its origin to CORS_ALLOW_ORIGIN to allow it');
  throw new GatewayError('forbidden', `The page ${origin} may not open a socket here. Add its origin to CORS_ALLOW_ORIGIN to allow it.`);
}

async function findCredential(request: FastifyRequest, options: SocketRouteOptions): Promise<Credential> {
  const findOpen = async (): Promise<Caller | undefined> => options.openCaller(request);
  const open = await findOpen();
  if (open !== undefined) return { type: 'open', caller: open, findCaller: findOpen };
  const token = tokenOf(request.headers) ?? protocolToken(request.headers['sec-websocket-protocol']);
  if (token === undefined) return { type: 'none' };
  try {
    const caller = await options.authenticateToken(token, request);
    return caller === undefined ? { type: 'refused' } : { type: 'token', caller, token };
  } catch (error) {
    // A page cannot set the header that names the person, so its auth frame does.
    if (error instanceof GatewayError && error.code === 'user_required') return { type: 'none', token };
    if (error instanceof GatewayError && error.code === 'invalid_api_key' && tokenOf(request.headers) === undefined)
      return { type: 'refused' };
    throw error;
  }
}

/** Pages cannot set headers on a WebSocket, so the key comes as a subprotocol, which unlike the URL is not logged by proxies. */
function protocolToken(header: string | undefined): string | undefined {
  const entry = header
    ?.split(',')
    .map((part) => part.trim())
    .find((part) => part.startsWith(bearerPrefix));
  return entry === undefined || entry === bearerPrefix ? undefined : entry.slice(bearerPrefix.length);
}
