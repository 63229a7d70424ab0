import type { FastifyPluginAsync, FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { GatewayError } from '../../../core/errors.ts';
import { gatewayHeader } from '../../../core/tools/gateway-chain.ts';
import { isDeeperThan } from '../../../shared/json/json.ts';
import { limits } from '../../../core/limits.ts';
import { foreignOrigin } from '../../auth/open-mode.ts';
import { readRequestHeader } from '../../auth/read-request-header.ts';
import type { OpenAnswers } from '../../authorization-server/open-answers.ts';
import type { McpHandler, McpHandlerOptions } from '../../mcp/mcp-handler.ts';
import { disconnectSignal } from '../../disconnect-signal.ts';
import { publicAddress } from '../../public-address.ts';
import { createRequestTurns } from '../../request-turns.ts';

interface McpRouteOptions extends McpHandlerOptions {
  /** Pages of other origins that may call; `*`: all. */
  allowedOrigins: readonly string[];
  /** `PUBLIC_URL`. */
  publicUrl: string | undefined;
  /** Further parameters of the `WWW-Authenticate` header: where programs learn how to get a token. */
  challenge: string | undefined;
  openAnswers: Pick<OpenAnswers, 'add'>;
  /** Calls back when a key with its people, or one of them, was deleted. */
  onDeleted: (forget: (ownerId: string) => void) => void;
}

/**
 * `/mcp`: every function that the caller may use, for MCP clients (Streamable HTTP, protocol versions with and without sessions). Each request carries
 * its own credential; a session, where there is one, is bound to the key that has opened it.
 */
export const mcpRoute: FastifyPluginAsync<McpRouteOptions> = async (app, options) => {
  const { allowedOrigins, gatewayId, publicUrl } = options;
  let loading: Promise<McpHandler> | undefined;
  /** Created by the first request: loading the SDK takes time and memory, and most gateways never serve an MCP client. */
  const handler = (): Promise<McpHandler> => {
    loading ??= import('../../mcp/mcp-handler.ts').then(({ createHandler }) => createHandler(options));
    return loading;
  };
  options.onDeleted((ownerId) => void loading?.then((loaded) => loaded.closeAllOf(ownerId)));
  app.addHook('onClose', async () => (await loading)?.close());
  // Each request creates an SDK server, and hundreds of requests may arrive at once.
  const turns = createRequestTurns(1);

  const serve = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const signal = disconnectSignal(reply);
    const { method, body, caller } = request;
    // Even with a valid key: MCP specification, transports, security warning.
    const origin = foreignOrigin(request.headers, allowedOrigins);
    if (origin !== undefined)
      throw new GatewayError('forbidden', `The page ${origin} may not call /mcp. Name its origin in CORS_ALLOW_ORIGIN.`);
    reply.header(gatewayHeader, gatewayId);
    if (method === 'GET' && request.headers.accept?.includes('text/html') === true)
      throw new GatewayError(
        'method_not_allowed',
        'This is the address for MCP clients, which POST to it (Streamable HTTP). The console is at /.',
      );
    if (Array.isArray(body) || isDeeperThan(body, limits.jsonDepth))
      throw new GatewayError('invalid_request', `The body must be one JSON-RPC message, nested at most ${limits.jsonDepth} levels deep.`);
    await turns.take(caller.id);
    signal.throwIfAborted();
    const forwarded = new Request('http://gateway/mcp', { method, headers: protocolHeaders(request), signal });
    return reply.send(
      await (
        await handler()
      ).fetch(forwarded, {
        info: { caller, readHeader: readRequestHeader(request), address: () => publicAddress(request.headers, publicUrl), signal },
        ...(method === 'POST' && { parsedBody: body }),
      }),
    );
  };
  const config = options.challenge === undefined ? {} : { challenge: options.challenge };
  /** Before the body is read: a program that is disconnected meanwhile must not have it run. */
  const follow: onRequestAsyncHookHandler = async (request, reply) => options.openAnswers.add(request.caller, request, reply.raw);
  app.route({ method: ['POST', 'GET', 'DELETE'], url: '/mcp', config, onRequest: follow, handler: serve });
};

/** Only the headers of the protocol: credentials have been checked, and the SDK needs none. */
function protocolHeaders({ method, headers }: FastifyRequest): Headers {
  const passed = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string' && (name.startsWith('mcp-') || name === 'accept' || name === 'content-type')) passed.set(name, value);
  }
  // MCP requires both types to be named; a client that accepts everything accepts them too. A GET without them is no wish for a stream.
  if (method === 'POST' && (headers.accept ?? '*/*').includes('*/*')) passed.set('accept', 'application/json, text/event-stream');
  return passed;
}
