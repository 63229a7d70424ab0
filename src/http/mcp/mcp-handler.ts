import { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import type { CallToolResult, McpRequestContext, ServerContext } from '@modelcontextprotocol/server';
import { GatewayError } from '../../core/errors.ts';
import type { JsonObject } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import { handleContents } from './mcp-contents-handlers.ts';
import { askerOf } from './mcp-request.ts';
import { createMcpLogLevels } from './mcp-log-levels.ts';
import type { McpLogLevels } from './mcp-log-levels.ts';
import { createMcpProgress } from './mcp-progress.ts';
import type { McpProgressChannel } from './mcp-progress.ts';
import { listPage } from './mcp-tool-pages.ts';
import { toMcpResult } from './mcp-result.ts';
import type { ServerContents } from '../../core/server-contents.ts';
import type { ToolFinder } from '../../core/tool.ts';
import type { InvokeFunction } from '../../runs/invoke-function.ts';

export interface McpHandlerOptions {
  tools: ToolFinder;
  contents: ServerContents;
  invoke: InvokeFunction;
  version: string;
  /** Random, new for each start. */
  gatewayId: string;
}

export type McpHandler = ReturnType<typeof createMcpHandler>;

/** The gateway sends no change notifications, so subscriptions only cost memory. */
const maxSubscriptions = 16;

/** Answers MCP requests one by one; `authInfo.extra` is a `McpRequestInfo`. */
export function createHandler(options: McpHandlerOptions): McpHandler {
  const levels = createMcpLogLevels();
  return createMcpHandler((context) => createServer(context, options, levels), { maxSubscriptions, keepAliveMs: limits.keepAliveMs });
}

function createServer({ era }: Pick<McpRequestContext, 'era'>, options: McpHandlerOptions, levels: McpLogLevels): Server {
  const { tools, contents, invoke, version, gatewayId } = options;
  const capabilities = { tools: {}, resources: {}, prompts: {}, completions: {}, logging: {} };
  const server = new Server({ name: 'toolwharf', version }, { capabilities });
  handleContents(server, contents);
  server.setRequestHandler('logging/setLevel', ({ params }, context) => {
    levels.set(askerOf(context).caller.id, params.level);
    return {};
  });
  server.setRequestHandler('tools/list', async ({ params }, context) => {
    const { caller, signal } = askerOf(context);
    const listed = await tools.list(caller, AbortSignal.any([signal, AbortSignal.timeout(2 * limits.documentTimeoutMs)]));
    return listPage(listed, { cursor: params?.cursor, gatewayId });
  });
  server.setRequestHandler('tools/call', async ({ params }, context): Promise<CallToolResult> => {
    const { name: idOrName, arguments: args = {} } = params;
    const { caller, signal } = askerOf(context);
    // In the stateless protocol versions (`modern`) each request names its own log level, which the SDK applies.
    const isLogging = era === 'modern' || levels.includesInfo(caller.id);
    const emit = createMcpProgress(progressChannel(context, idOrName, isLogging));
    try {
      const { outcome } = await invoke({ idOrName, args: args as JsonObject }, { caller, signal, emit });
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
