import { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import type { CallToolResult, McpRequestContext, ServerContext } from '@modelcontextprotocol/server';
import type { Caller } from '../core/caller.ts';
import { GatewayError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import { limits } from '../core/limits.ts';
import { createMcpProgress } from './mcp-progress.ts';
import { toMcpResult, toMcpTool } from './mcp-result.ts';
import { invokeFunction } from './routes/invoke.ts';
import type { InvokeRouteOptions } from './routes/invoke.ts';

export interface McpHandlerOptions extends InvokeRouteOptions {
  version: string;
}

export type McpHandler = ReturnType<typeof createMcpHandler>;

/** Nothing here changes while somebody listens. */
const maxSubscriptions = 16;

/** Answers MCP requests one by one; the caller stands in `authInfo.extra.caller`. */
export function createHandler(options: McpHandlerOptions): McpHandler {
  return createMcpHandler((context) => createServer(context, options), { maxSubscriptions, keepAliveMs: limits.keepAliveMs });
}

function createServer({ authInfo }: McpRequestContext, options: McpHandlerOptions): Server {
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
  { caller, context, options }: { caller: Caller; context: ServerContext; options: McpHandlerOptions },
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
