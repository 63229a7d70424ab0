import {
  isInitializeRequest,
  isSpecType,
  ProtocolErrorCode,
  WebStandardStreamableHTTPServerTransport,
  type McpHandlerRequestOptions,
  type RequestId,
  type Server,
} from '@modelcontextprotocol/server';
import { limits } from '../../core/limits.ts';
import { canBeAsked } from './elicitation-form.ts';
import { createOwnedEntries } from './owned-entries.ts';
import { mcpSessionsPerCaller } from './mcp-log-levels.ts';
import { createSessionSubscriptions, type ResourceSubscriptions, type SessionSubscriptions } from './resource-subscriptions.ts';

/** Each holds a server of the SDK, of about 30 KB. */
export const mcpSessions = 1_000;

/** How long a session lasts after its last request: a window stays open over night. */
const mcpSessionIdleMs = 24 * 60 * 60 * 1000;

/** The header that names the session of a request (MCP specification, transports, session management). */
export const sessionHeader = 'mcp-session-id';

/**
 * Sessions of clients of the protocol versions before 2026 that can be asked: a question goes out on the stream of the call, and its answer comes in
 * another request, which has to find the call. Clients that cannot be asked need none.
 */
interface McpSessions {
  /** Initializes a session. */
  open(owner: string, request: Request, options: McpHandlerRequestOptions): Promise<Response>;
  /** Answers a request of a session; 404 where this owner has no such one. */
  answer(owner: string, request: Request, options: McpHandlerRequestOptions): Promise<Response>;
  /** For its stream of changes; the response with 404 where this owner has no such session. */
  find(owner: string, request: Request): OpenSession | Response;
  /** Closes those of a key and its people, or of one of them. */
  closeAllOf(ownerId: string): void;
  close(): void;
}

interface McpSessionsOptions {
  /** `subscriptions`: of the session. */
  createServer: (subscriptions: SessionSubscriptions) => Server;
  subscriptions: ResourceSubscriptions;
  newId: () => string;
  /** Milliseconds since 1970. */
  now: () => number;
}

export interface OpenSession {
  subscriptions: SessionSubscriptions;
  /** Also aborted at the end of the session, and when its client opens another stream: each message goes out on one only. */
  untilNextStream(signal: AbortSignal): AbortSignal;
}

interface Session extends OpenSession {
  transport: WebStandardStreamableHTTPServerTransport;
  usedAt: number;
  /** Ends its stream of changes. */
  endStream: () => void;
}

/** Whether a message opens a session: it initializes one, and its client answers forms. */
export function opensSession(message: unknown): boolean {
  return isInitializeRequest(message) && canBeAsked(message.params.capabilities);
}

export function createMcpSessions({ createServer, subscriptions, newId, now }: McpSessionsOptions): McpSessions {
  const sessions = createOwnedEntries<Session>({
    perOwner: mcpSessionsPerCaller,
    total: mcpSessions,
    end({ transport, subscriptions: own, endStream }) {
      endStream();
      own.end();
      void transport.close();
    },
  });
  const isOver = ({ usedAt }: Session): boolean => now() - usedAt > mcpSessionIdleMs;

  function createSession(transport: Session['transport'], own: SessionSubscriptions): Session {
    let streaming = new AbortController();
    return {
      transport,
      subscriptions: own,
      usedAt: now(),
      endStream: () => streaming.abort(),
      untilNextStream(signal) {
        streaming.abort();
        streaming = new AbortController();
        return AbortSignal.any([signal, streaming.signal]);
      },
    };
  }

  function find(owner: string, request: Request): Session | undefined {
    const session = sessions.find(request.headers.get(sessionHeader) ?? '', owner);
    if (session === undefined || isOver(session)) return undefined;
    session.usedAt = now();
    return session;
  }

  return {
    async open(owner, request, options) {
      sessions.endWhere(isOver);
      const own = createSessionSubscriptions(subscriptions);
      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: newId,
        keepAliveMs: limits.keepAliveMs,
        onsessioninitialized: (id) => sessions.add(id, owner, createSession(transport, own)),
        onsessionclosed(id) {
          const session = sessions.find(id, owner);
          session?.endStream();
          session?.subscriptions.end();
          sessions.delete(id);
        },
      });
      await createServer(own).connect(transport);
      return transport.handleRequest(request, options);
    },
    async answer(owner, request, options) {
      const session = find(owner, request);
      if (session === undefined) return notFound();
      const response = await session.transport.handleRequest(request, options);
      const cancelled = cancelledId(options.parsedBody);
      if (cancelled !== undefined) await endStream(session.transport, cancelled);
      return response;
    },
    find: (owner, request) => find(owner, request) ?? notFound(),
    closeAllOf: (ownerId) => sessions.endAllOf(ownerId),
    close: () => sessions.endWhere(() => true),
  };
}

/** The id of the request that a message cancels. */
function cancelledId(message: unknown): RequestId | undefined {
  return isSpecType.CancelledNotification(message) ? message.params.requestId : undefined;
}

/** The SDK gives a cancelled request no response, as the protocol wants it, and so leaves its stream open and keeps its id. */
async function endStream(transport: WebStandardStreamableHTTPServerTransport, id: RequestId): Promise<void> {
  transport.closeSSEStream(id);
  const response = { jsonrpc: '2.0', id, error: { code: ProtocolErrorCode.InternalError, message: 'The request was cancelled.' } } as const;
  // No client gets this, as the stream is closed: it only makes the transport forget the id. It throws for an unknown id.
  await transport.send(response).catch(() => undefined);
}

/** The status that makes a client initialize a new one. */
function notFound(): Response {
  const error = { code: -32_001, message: 'There is no such session. Initialize a new one.' };
  return Response.json({ jsonrpc: '2.0', error, id: null }, { status: 404 });
}
