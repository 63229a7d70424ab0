import { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import type { CallToolResult, McpRequestContext, ServerContext } from '@modelcontextprotocol/server';
import type { Caller } from '../../core/caller.ts';
import { GatewayError } from '../../core/errors.ts';
import type { JsonObject } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import { createMcpLogLevels } from './mcp-log-levels.ts';
import type { McpLogLevels } from './mcp-log-levels.ts';
import { createMcpProgress } from './mcp-progress.ts';
import type { McpEar } from './mcp-progress.ts';
import { toMcpResult, toMcpTool } from './mcp-result.ts';
import { invokeFunction } from '../routes/invoke.ts';
import type { InvokeRouteOptions } from '../routes/invoke.ts';

export interface McpHandlerOptions extends InvokeRouteOptions {
  version: string;
  /** New with every start. */
  gatewayId: string;
}

export type McpHandler = ReturnType<typeof createMcpHandler>;

/** Nothing here changes while somebody listens. */
const maxSubscriptions = 16;

/** Answers MCP requests one by one; the caller stands in `authInfo.extra.caller`. */
export function createHandler(options: McpHandlerOptions): McpHandler {
  const levels = createMcpLogLevels();
  return createMcpHandler((context) => createServer(context, options, levels), { maxSubscriptions, keepAliveMs: limits.keepAliveMs });
}

function createServer({ authInfo, era }: McpRequestContext, options: McpHandlerOptions, levels: McpLogLevels): Server {
  const caller = authInfo?.extra?.['caller'] as Caller;
  const server = new Server({ name: 'toolwharf', version: options.version }, { capabilities: { tools: {}, logging: {} } });
  server.setRequestHandler('logging/setLevel', ({ params }) => {
    levels.set(caller.id, params.level);
    return {};
  });
  server.setRequestHandler('tools/list', async (_request, { mcpReq }) => {
    const patience = AbortSignal.any([mcpReq.signal, AbortSignal.timeout(2 * limits.documentTimeoutMs)]);
    return { tools: (await options.tools.list(caller, patience)).map((tool) => toMcpTool(tool, options.gatewayId)) };
  });
  server.setRequestHandler('tools/call', ({ params }, context) => {
    const { name, arguments: args = {} } = params;
    // In the second era each request says for itself what it wants to hear, and the package minds it.
    const isHeard = era === 'modern' || levels.hearsInfo(caller.id);
    const ear = earOf(context, { name, isHeard });
    return callFunction({ idOrName: name, args: args as JsonObject }, { caller, context, options, ear });
  });
  return server;
}

/** A client that asked for progress reads there what is being done; to another it is told as a log message. */
function earOf({ mcpReq }: ServerContext, { name, isHeard }: { name: string; isHeard: boolean }): McpEar {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return { log: async (text) => (isHeard ? mcpReq.log('info', text, name) : undefined) };
  return { progress: (progress) => mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...progress } }) };
}

async function callFunction(
  call: { idOrName: string; args: JsonObject },
  { caller, context, options, ear }: { caller: Caller; context: ServerContext; options: McpHandlerOptions; ear: McpEar },
): Promise<CallToolResult> {
  try {
    return await options.calls.run(caller, context.mcpReq.signal, async (signal) => {
      const { outcome } = await invokeFunction(call, { caller, signal, options, live: createMcpProgress(ear) });
      return toMcpResult(outcome);
    });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const isUnknown = error.code === 'not_found' || error.code === 'forbidden';
    throw new ProtocolError(isUnknown ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError, error.message);
  }
}
