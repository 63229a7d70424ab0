import { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import type { CallToolResult, McpRequestContext, ServerContext } from '@modelcontextprotocol/server';
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../core/caller.ts';
import { GatewayError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { isDeeperThan } from '../../core/json.ts';
import { limits } from '../../core/limits.ts';
import { isOwnOrigin } from '../authenticate.ts';
import { createMcpProgress } from '../mcp-progress.ts';
import { toMcpResult, toMcpTool } from '../mcp-result.ts';
import { untilLeave } from '../watch-leave.ts';
import { invokeFunction } from './invoke.ts';
import type { InvokeRouteOptions } from './invoke.ts';

export interface McpRouteOptions extends InvokeRouteOptions {
  version: string;
  /** Pages of other origins that may call; `*`: all. */
  allowedOrigins: readonly string[];
}

/** Nothing here changes while somebody listens. */
const maxSubscriptions = 16;

/**
 * `/mcp`: every function that the caller may use, for MCP clients (Streamable HTTP, both eras of the protocol). No sessions: each request stands
 * alone, with its own credential, and nobody can take up another one's.
 */
export const mcpRoute: FastifyPluginCallback<McpRouteOptions> = (app, options, done) => {
  const handler = createMcpHandler((context) => createServer(context, options), { maxSubscriptions, keepAliveMs: limits.keepAliveMs });
  app.addHook('onClose', () => handler.close());

  const serve = (request: FastifyRequest, reply: FastifyReply): Promise<unknown> =>
    untilLeave(reply, async (signal) => {
      requireKnownOrigin(request, options.allowedOrigins);
      const { method, body } = request;
      if (Array.isArray(body) || isDeeperThan(body, limits.jsonDepth))
        throw new GatewayError('invalid_request', `The body must be one JSON-RPC message, nested at most ${limits.jsonDepth} levels deep.`);
      const headers = headersFor(request);
      const authInfo = { token: '', clientId: options.callerOf(request).id, scopes: [], extra: { caller: options.callerOf(request) } };
      const wanted = new Request('http://gateway/mcp', { method, headers, signal });
      return reply.send(await handler.fetch(wanted, { authInfo, ...(method === 'POST' && { parsedBody: body }) }));
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
  return passed;
}

function createServer({ authInfo }: McpRequestContext, options: McpRouteOptions): Server {
  const caller = authInfo?.extra?.['caller'] as Caller;
  const server = new Server({ name: 'toolwharf', version: options.version }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', async (_request, { mcpReq }) => {
    const patience = AbortSignal.any([mcpReq.signal, AbortSignal.timeout(2 * limits.documentTimeoutMs)]);
    return { tools: (await options.tools.list(caller, patience)).map(toMcpTool) };
  });
  server.setRequestHandler('tools/call', ({ params }, context) =>
    callFunction({ idOrName: params.name, args: (params.arguments ?? {}) as JsonObject }, { caller, context, options }),
  );
  return server;
}

async function callFunction(
  call: { idOrName: string; args: JsonObject },
  { caller, context, options }: { caller: Caller; context: ServerContext; options: McpRouteOptions },
): Promise<CallToolResult> {
  const { mcpReq } = context;
  const progressToken = mcpReq._meta?.progressToken;
  const notify = (progress: object): Promise<void> =>
    mcpReq.notify({ method: 'notifications/progress', params: { progressToken: progressToken ?? 0, progress: 0, ...progress } });
  const live = progressToken === undefined ? {} : { live: createMcpProgress(notify) };
  try {
    return await options.calls.run(caller, mcpReq.signal, async (signal) => {
      const { outcome } = await invokeFunction(call, { caller, signal, options, ...live });
      return toMcpResult(outcome);
    });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const isUnknown = error.code === 'not_found' || error.code === 'forbidden';
    throw new ProtocolError(isUnknown ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError, error.message);
  }
}
