import {
  createMcpHandler,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type CallToolResult,
  type InputRequiredResult,
  type McpRequestContext,
  type ServerContext,
  type Tool as McpTool,
} from '@modelcontextprotocol/server';
import { GatewayError, shownId } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../shared/json/json.ts';
import { limits } from '../../core/limits.ts';
import { appViewsOf } from './app-views.ts';
import { createChangeStreams } from './change-streams.ts';
import { handleContents, handleSubscriptions } from './mcp-contents-handlers.ts';
import { canBeAsked } from './elicitation-form.ts';
import { askInSession } from './ask-in-session.ts';
import { askerOf, type McpRequestInfo, type SentPage } from './mcp-request.ts';
import { createMcpSessions, opensSession, sessionHeader } from './mcp-sessions.ts';
import { createParkedCalls, type CallReader, type CallToPark, type ParkedCalls } from './parked-calls.ts';
import { createMcpLogLevels, logLevels, type LogLevel, type McpLogLevels } from './mcp-log-levels.ts';
import { createMcpProgress, type McpProgressChannel } from './mcp-progress.ts';
import { listPage } from './mcp-tool-pages.ts';
import { createResourceSubscriptions, type SessionSubscriptions } from './resource-subscriptions.ts';
import { createListedTexts, type ListedTexts } from '../listed-texts.ts';
import { toMcpResult, toMcpTool } from './mcp-result.ts';
import type { OfferChanges } from '../../core/tools/offer-changes.ts';
import type { ServerContents } from '../../core/tools/server-contents.ts';
import type { ToolFinder, ToolOutcome } from '../../core/tools/tool.ts';
import type { ReadRequestHeader } from '../../core/chat/request-headers.ts';
import type { FunctionInvoker, InvokedFunction, InvokeFunction } from '../../runs/invoke-function.ts';

export interface McpHandlerOptions {
  tools: ToolFinder;
  contents: ServerContents;
  invoke: InvokeFunction;
  changes: Pick<OfferChanges, 'subscribe'>;
  version: string;
  /** Random, new for each start. */
  gatewayId: string;
  newId: () => string;
  /** Aborted when the gateway begins to shut down. */
  draining: AbortSignal;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** Answers one request. `authInfo.extra` is a `McpRequestInfo`. */
export interface McpHandler {
  fetch(request: Request, options: { info: McpRequestInfo; parsedBody?: unknown }): Promise<Response>;
  /** Closes the sessions and streams of a key and its people, or of one of them. */
  closeAllOf(ownerId: string): void;
  close(): Promise<void>;
}

/** Answers requests one by one, but for those of clients that can be asked, which have sessions in the versions of the protocol before 2026. */
export function createHandler(options: McpHandlerOptions): McpHandler {
  const { newId, draining, now, gatewayId } = options;
  const levels = createMcpLogLevels();
  const parked = createParkedCalls({ newId, draining });
  const texts = createListedTexts(['tools'], (tool, listed) => ({
    tools: JSON.stringify(toMcpTool(tool, gatewayId, appViewsOf(listed))),
  }));
  const parts = { ...options, levels, parked, texts };
  const factory = ({ era }: Pick<McpRequestContext, 'era'>): Server => createServer(era, parts);
  const stateless = createMcpHandler(factory, { keepAliveMs: limits.keepAliveMs });
  const subscriptions = createResourceSubscriptions(options);
  const sessions = createMcpSessions({ createServer: (own) => createServer('legacy', parts, own), subscriptions, newId, now });
  const streams = createChangeStreams({ ...options, factory, subscriptions });

  async function answer(request: Request, { info, parsedBody }: { info: McpRequestInfo; parsedBody?: unknown }): Promise<Response> {
    const { method, headers } = request;
    const authInfo = { token: '', clientId: info.caller.id, scopes: [], extra: { ...info } };
    const passed = { authInfo, ...(parsedBody !== undefined && { parsedBody }) };
    const listening = { caller: info.caller, signal: info.signal };
    if (method === 'GET' && listensForChanges(headers)) {
      const session = headers.has(sessionHeader) ? sessions.find(info.caller.id, request) : undefined;
      if (session instanceof Response) return session;
      const opened = streams.open(
        session === undefined ? listening : { ...listening, signal: session.untilNextStream(info.signal), updates: session.subscriptions },
      );
      if (opened !== undefined) return opened;
    } else if (headers.has(sessionHeader) && method !== 'GET') return sessions.answer(info.caller.id, request, passed);
    if (isJsonObject(parsedBody) && parsedBody['method'] === 'subscriptions/listen')
      return streams.listen({ ...listening, message: parsedBody }, (handler, message) =>
        handler.fetch(request, { ...passed, parsedBody: message }),
      );
    if (method === 'POST' && opensSession(parsedBody)) return sessions.open(info.caller.id, request, passed);
    return stateless.fetch(request, passed);
  }

  return {
    async fetch(request, { info, parsedBody }) {
      if (!isJsonObject(parsedBody) || parsedBody['method'] !== 'tools/list') return answer(request, { info, parsedBody });
      const page: SentPage = { mark: `tools ${newId()}` };
      return withTools(await answer(request, { info: { ...info, page }, parsedBody }), page);
    },
    closeAllOf(ownerId) {
      sessions.closeAllOf(ownerId);
      subscriptions.endAllOf(ownerId);
      streams.closeAllOf(ownerId);
    },
    async close() {
      streams.close();
      sessions.close();
      await stateless.close();
    },
  };
}

/** Whether a GET asks for the stream that clients of the protocol versions of 2025 open beside their requests. Newer ones subscribe. */
function listensForChanges(headers: Headers): boolean {
  return /text\/event-stream/i.test(headers.get('accept') ?? '') && (headers.get('mcp-protocol-version') ?? '') < '2026';
}

/** Puts the tools into an answer that the SDK has made with a mark in their place: it would write all of them anew for each request. */
async function withTools(answer: Response, page: SentPage): Promise<Response> {
  if (answer.body === null) return answer;
  // The page is made meanwhile.
  const text = await answer.text();
  const { mark, tools } = page;
  const headers = new Headers(answer.headers);
  headers.delete('content-length');
  const [before = '', after] = text.split(JSON.stringify(mark), 2);
  const body = tools === undefined || after === undefined ? text : streamOf([Buffer.from(`${before}[`), tools, Buffer.from(`]${after}`)]);
  return new Response(body, { status: answer.status, headers });
}

function streamOf(pieces: readonly Uint8Array[]): ReadableStream {
  return new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
}

type ServerParts = McpHandlerOptions & { levels: McpLogLevels; parked: ParkedCalls; texts: ListedTexts<'tools'> };

/** `subscriptions`: of the session, which all clients have that may subscribe by a request. */
function createServer(era: McpRequestContext['era'], parts: ServerParts, subscriptions?: SessionSubscriptions): Server {
  const { tools, contents, version, levels, texts } = parts;
  const listChanged = true;
  const resources = { listChanged, ...((era === 'modern' || subscriptions !== undefined) && { subscribe: true }) };
  const capabilities = { tools: { listChanged }, resources, prompts: { listChanged }, completions: {}, logging: {} };
  const server = new Server({ name: 'toolwharf', version }, { capabilities });
  handleContents(server, contents, tools);
  if (subscriptions !== undefined) handleSubscriptions(server, subscriptions);
  server.setRequestHandler('logging/setLevel', ({ params }, context) => {
    levels.set(askerOf(context).caller.id, params.level, context.sessionId);
    return {};
  });
  server.setRequestHandler('tools/list', async ({ params }, context) => {
    const { caller, signal, page } = askerOf(context);
    if (page === undefined) throw new Error('A list of tools was not asked for as one.');
    const listed = await tools.list(caller, AbortSignal.any([signal, AbortSignal.timeout(2 * limits.documentTimeoutMs)]));
    const made = await listPage(listed, { cursor: params?.cursor, texts });
    page.tools = made.tools;
    // Replaced by the list (`withTools`).
    return { ...made, tools: page.mark as unknown as McpTool[] };
  });
  server.setRequestHandler('tools/call', ({ params }, context) => {
    const { name, arguments: args = {} } = params;
    const { caller, address, signal, ...asker } = askerOf(context);
    const readHeader = readTrace(params._meta, asker.readHeader);
    // In the stateless protocol versions (`modern`) each request names its own log level, which the SDK applies.
    const isLogged = (level: LogLevel): boolean => era === 'modern' || levels.includes(level, caller.id, context.sessionId);
    const emit = createMcpProgress(progressChannel(context, name, isLogged));
    const call = (scope: Omit<FunctionInvoker, 'caller'>): Promise<CallToolResult> =>
      callFunction(parts.invoke, { idOrName: name, args: args as JsonObject }, { caller, readHeader, address, ...scope });
    // Whether a client can be asked is part of each request in the newer versions, and of the session's first one in the others.
    const client = server.getClientCapabilities();
    if (!canBeAsked(client)) return call({ signal, emit });
    if (era === 'legacy') return call({ signal, emit, askClient: askInSession(context, client) });
    const reader = { signal, emit };
    return callInRounds({ parked: parts.parked, run: call }, { owner: caller.id, name, capabilities: client, reader, context });
  });
  return server;
}

/** The trace in the message is that of the client's call; the one in the headers is only of the HTTP request. */
function readTrace(meta: Record<string, unknown> | undefined, readHeader: ReadRequestHeader | undefined): ReadRequestHeader | undefined {
  if (typeof meta?.['traceparent'] !== 'string') return readHeader;
  return (name) => {
    if (name !== 'traceparent' && name !== 'tracestate') return readHeader?.(name);
    const value = meta[name];
    return typeof value === 'string' ? value : undefined;
  };
}

async function callFunction(
  invoke: InvokeFunction,
  call: { idOrName: string; args: JsonObject },
  invoker: FunctionInvoker,
): Promise<CallToolResult> {
  try {
    const { outcome, connect, notices, output } = await invoke(call, invoker);
    return toMcpResult(connect === undefined ? outcome : withLinks(outcome, connect), {
      ...(notices && { notices }),
      ...(output && { output }),
    });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    if (error.code === 'not_found') {
      const message = `There is no tool "${shownId(call.idOrName)}". tools/list names those you may use.`;
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
    }
    throw new ProtocolError(error.code === 'forbidden' ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError, error.message);
  }
}

/** For a client that shows no links itself. */
function withLinks(outcome: ToolOutcome, { servers }: NonNullable<InvokedFunction['connect']>): ToolOutcome {
  if (outcome.type === 'result') return outcome;
  const links = servers.flatMap(({ name, url }) => (url === undefined ? [] : [`Connect to ${name}: ${url}`]));
  return { ...outcome, message: [outcome.message, ...links].join('\n') };
}

/** A call whose questions are the answer to its request, and their answers part of the next one. */
function callInRounds(
  { parked, run }: { parked: ParkedCalls; run: CallToPark['run'] },
  {
    owner,
    name,
    capabilities,
    reader,
    context: { mcpReq },
  }: Pick<CallToPark, 'owner' | 'name' | 'capabilities'> & {
    reader: CallReader;
    context: ServerContext;
  },
): Promise<CallToolResult | InputRequiredResult> {
  const state = mcpReq.requestState();
  if (typeof state !== 'string') return parked.start({ owner, name, capabilities, run }, reader);
  const resumed = parked.resume(state, { owner, name }, { answers: mcpReq.inputResponses ?? {}, reader });
  if (resumed !== undefined) return resumed;
  throw new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    'No call waits with this requestState: it was answered before, or not in time. Call the tool again.',
  );
}

/** A client that sent a progress token gets progress notifications; others get the status as log messages. */
function progressChannel({ mcpReq }: ServerContext, name: string, isLogged: (level: LogLevel) => boolean): McpProgressChannel {
  const progressToken = mcpReq._meta?.progressToken;
  return {
    async log(text, origin) {
      const level = logLevels.find((known) => known === origin?.level) ?? 'info';
      if (isLogged(level)) await mcpReq.log(level, text, origin?.logger ?? name);
    },
    ...(progressToken !== undefined && {
      progress: (progress) => mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...progress } }),
    }),
  };
}
