import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../core/errors.ts';
import { gatewayHeader } from '../../core/gateway-chain.ts';
import { isDeeperThan } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import { isOwnOrigin } from '../auth/authenticate.ts';
import type { McpHandler, McpHandlerOptions } from '../mcp/mcp-handler.ts';
import { abortOnDisconnect } from '../abort-on-disconnect.ts';

export interface McpRouteOptions extends McpHandlerOptions {
  /** Pages of other origins that may call; `*`: all. */
  allowedOrigins: readonly string[];
}

/**
 * `/mcp`: every function that the caller may use, for MCP clients (Streamable HTTP, both eras of the protocol). No sessions: each request stands
 * alone, with its own credential, and nobody can take up another one's.
 */
export const mcpRoute: FastifyPluginCallback<McpRouteOptions> = (app, options, done) => {
  let loading: Promise<McpHandler> | undefined;
  /** With the first request: the protocol's package takes its time and memory, and most gateways are never asked. */
  const handler = (): Promise<McpHandler> => {
    loading ??= import('../mcp/mcp-handler.ts').then(({ createHandler }) => createHandler(options));
    return loading;
  };
  /** One request in one turn of the event loop: each builds a server of the SDK, and hundreds may have arrived together. */
  let lastTurn: Promise<unknown> = Promise.resolve();
  const ownTurn = (): Promise<unknown> => {
    const mine = lastTurn;
    lastTurn = mine.then(() => nextTurn());
    return mine;
  };
  app.addHook('onClose', async () => (await loading)?.close());

  const serve = (request: FastifyRequest, reply: FastifyReply): Promise<unknown> =>
    abortOnDisconnect(reply, async (signal) => {
      requireKnownOrigin(request, options.allowedOrigins);
      reply.header(gatewayHeader, options.gatewayId);
      const { method, body } = request;
      if (Array.isArray(body) || isDeeperThan(body, limits.jsonDepth))
        throw new GatewayError('invalid_request', `The body must be one JSON-RPC message, nested at most ${limits.jsonDepth} levels deep.`);
      const headers = headersFor(request);
      const authInfo = { token: '', clientId: options.callerOf(request).id, scopes: [], extra: { caller: options.callerOf(request) } };
      await ownTurn();
      signal.throwIfAborted();
      const wanted = new Request('http://gateway/mcp', { method, headers, signal });
      return reply.send(await (await handler()).fetch(wanted, { authInfo, ...(method === 'POST' && { parsedBody: body }) }));
    });
  app.post('/mcp', serve);
  app.get('/mcp', serve);
  app.delete('/mcp', serve);
  done();
};

/** Whatever the key, a page that nobody named may not speak here (specification, transports, security warning). */
function requireKnownOrigin({ headers }: FastifyRequest, allowed: readonly string[]): void {
  const { origin, host = '' } = headers;
  if (origin === undefined || isOwnOrigin(origin, host) || allowed.includes(origin) || allowed.includes('*')) return;
  throw new GatewayError('forbidden', `The page ${origin.slice(0, 200)} may not call /mcp. Name its origin in CORS_ALLOW_ORIGIN.`);
}

/** The protocol's own: credentials have done their work, and go no further. */
function headersFor({ headers }: FastifyRequest): Headers {
  const passed = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string' && (name.startsWith('mcp-') || name === 'accept' || name === 'content-type')) passed.set(name, value);
  }
  // Whoever takes everything takes both forms that the protocol names.
  if ((headers.accept ?? '*/*').includes('*/*')) passed.set('accept', 'application/json, text/event-stream');
  return passed;
}
