import { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import type { CallToolResult, McpRequestContext, ServerContext } from '@modelcontextprotocol/server';
import type { Caller } from '../../core/caller.ts';
import { GatewayError } from '../../core/errors.ts';
import type { JsonObject } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import { createMcpLogLevels } from './mcp-log-levels.ts';
import type { McpLogLevels } from './mcp-log-levels.ts';
import { createMcpProgress } from './mcp-progress.ts';
import type { McpProgressChannel } from './mcp-progress.ts';
import { listPage } from './mcp-tool-pages.ts';
import { toMcpResult } from './mcp-result.ts';
import type { ToolFinder } from '../../core/tool.ts';
import type { InvokeFunction } from '../../runs/invoke-function.ts';

export interface McpHandlerOptions {
  tools: ToolFinder;
  invoke: InvokeFunction;
  version: string;
  /** Random, new for each start. */
  gatewayId: string;
}

export type McpHandler = ReturnType<typeof createMcpHandler>;

/** The gateway sends no change notifications, so subscriptions only cost memory. */
const maxSubscriptions = 16;

/** Answers MCP requests one by one; the caller is in `authInfo.extra.caller`. */
export function createHandler(options: McpHandlerOptions): McpHandler {
  const levels = createMcpLogLevels();
  return createMcpHandler((context) => createServer(context, options, levels), { maxSubscriptions, keepAliveMs: limits.keepAliveMs });
}

function createServer({ authInfo, era }: McpRequestContext, options: McpHandlerOptions, levels: McpLogLevels): Server {
  const { tools, invoke, version, gatewayId } = options;
  const caller = authInfo?.extra?.['caller'] as Caller;
  const server = new Server({ name: 'toolwharf', version }, { capabilities: { tools: {}, logging: {} } });
  server.setRequestHandler('logging/setLevel', ({ params }) => {
    levels.set(caller.id, params.level);
    return {};
  });
  server.setRequestHandler('tools/list', async ({ params }, { mcpReq }) => {
    const signal = AbortSignal.any([mcpReq.signal, AbortSignal.timeout(2 * limits.documentTimeoutMs)]);
    return listPage(await tools.list(caller, signal), { cursor: params?.cursor, gatewayId });
  });
  server.setRequestHandler('tools/call', async ({ params }, context): Promise<CallToolResult> => {
    const { name: idOrName, arguments: args = {} } = params;
    // In the stateless protocol versions (`modern`) each request names its own log level, which the SDK applies.
    const isLogging = era === 'modern' || levels.includesInfo(caller.id);
    const emit = createMcpProgress(progressChannel(context, idOrName, isLogging));
    try {
      const { outcome } = await invoke({ idOrName, args: args as JsonObject }, { caller, signal: context.mcpReq.signal, emit });
      return toMcpResult(outcome);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      const isUnknown = error.code === 'not_found' || error.code === 'forbidden';
      throw new ProtocolError(isUnknown ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError, error.message);
    }
  });
  return server;
}

/** A client that sent a progress token gets progress notifications; others get the status as log messages. */
function progressChannel({ mcpReq }: ServerContext, name: string, isLogging: boolean): McpProgressChannel {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return { log: async (text) => (isLogging ? mcpReq.log('info', text, name) : undefined) };
  return { progress: (progress) => mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...progress } }) };
}
