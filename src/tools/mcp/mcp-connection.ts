import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { CallToolResult, JsonSchemaValidator, Tool as McpTool } from '@modelcontextprotocol/client';
import { limits } from '../../core/limits.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { ToolContext, ToolInvocation } from '../../core/tools/tool.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { SecretMask } from '../../shared/secrets/secret-mask.ts';
import { waitUnlessAborted } from '../../shared/wait-for.ts';
import { answerElicitation, createCallScopes } from './call-scope.ts';
import { truncateText } from './convert-tools.ts';
import { createTransports as createUsualTransports } from './transports/create-transports.ts';
import type { CreateTransports, TransportKind } from './transports/create-transports.ts';
import { AnswerCutOff, explainMcpFailure } from './explain-mcp-failure.ts';
import { createAnswerWatch, createMalformedToolFilter, createNotificationBudget, withoutMalformedContents } from './incoming-messages.ts';
import type { MalformedTool } from './incoming-messages.ts';
import type { McpPeer } from './mcp-peer.ts';
import { recordMessages } from './transports/record-messages.ts';

export interface McpListing {
  tools: McpTool[];
  /** Listed entries that are not valid tools. */
  malformed: readonly MalformedTool[];
  info: JsonObject | undefined;
  protocolVersion: string | undefined;
}

/**
 * The connection to one server, shared by all its calls: of all callers if it is registered, of one run if a request supplied it. It is opened on
 * demand, and reopened when it was lost.
 */
export interface McpConnection {
  /** Requests the tool list. @throws what the SDK throws */
  list(signal: AbortSignal): Promise<McpListing>;
  /** Whether the last list may be outdated: the server reported a change, or its process was restarted. */
  isListStale(): boolean;
  /** @throws what the SDK throws, and AnswerCutOff */
  call(name: string, invocation: ToolInvocation, context: ToolContext | undefined): Promise<CallToolResult>;
  /** Any other request for a caller. @throws what the SDK throws, and AnswerCutOff */
  request<Result>(run: RunContext, work: (client: Client, signal: AbortSignal) => Promise<Result>): Promise<Result>;
  /** The last lines of its process's stderr, with credentials redacted; empty without a process. */
  errorLines(): string[];
  /** Drops the current connection, so that the next request opens a new one. */
  drop(): Promise<void>;
  /** Closes the connection once no call is running. */
  retire(): void;
  /** Tells the server that its session is over, then closes. Never rejects. */
  end(): Promise<void>;
  close(): Promise<void>;
}

export interface McpConnectionOptions {
  send: SendOutbound;
  createTransports?: CreateTransports;
  version: string;
  /** The server reported that its tool list has changed. */
  onListChanged: () => void;
  /** The server's process exited unexpectedly; gets the last lines of its stderr. */
  onProcessEnded: (stderr: string[]) => void;
  /** The server exceeds the rate limit for notifications. */
  onNotificationsDropped: () => void;
}

/** Disables the SDK's validation of results, which blocks the event loop; `mcp-tool.ts` validates them in a worker instead. */
const jsonSchemaValidator = {
  getValidator<T>(): JsonSchemaValidator<T> {
    return (value) => ({ valid: true, data: value as T, errorMessage: undefined });
  },
};

export function createMcpConnection(peer: McpPeer, options: McpConnectionOptions): McpConnection {
  const { send, version, createTransports = createUsualTransports } = options;
  const maskFor = (run: RunContext | undefined): SecretMask => (run && peer.masksFor?.(run).mask) ?? peer.mask;
  const scopes = createCallScopes();
  const answers = createAnswerWatch();
  const malformedTools = createMalformedToolFilter();
  const closing = new AbortController();
  /** The transport that worked last comes first. */
  let kinds = createTransports(peer, { send, scopes, answers, signal: closing.signal });
  let connecting: Promise<Client> | undefined;
  let isStale = false;
  let isRetiring = false;

  function createClient(isLegacy: boolean): Client {
    const client = new Client(
      { name: 'toolwharf', version },
      {
        // No sampling: a server must not spend the operator's tokens, nor inject text into a conversation it cannot see.
        capabilities: { elicitation: { form: { applyDefaults: true } } },
        versionNegotiation: isLegacy ? { mode: 'legacy' } : { mode: 'auto', probe: { timeoutMs: limits.mcpProbeTimeoutMs } },
        jsonSchemaValidator,
        ...(peer.listPages !== undefined && { listMaxPages: peer.listPages }),
        listChanged: { tools: { autoRefresh: false, debounceMs: limits.mcpListPauseMs, onChanged: markStale } },
      },
    );
    client.setRequestHandler('elicitation/create', ({ params }) => {
      const scope = scopes.current();
      return answerElicitation(maskFor(scope?.run).value(params as JsonObject) as typeof params, peer.name ?? peer.id, scope);
    });
    // A protocol violation does not end the connection; a call that it affects fails by itself.
    // eslint-disable-next-line unicorn/prefer-add-event-listener -- a client of the SDK is not an EventTarget
    client.onerror = () => undefined;
    return client;
  }

  function markStale(): void {
    isStale = true;
    if (!closing.signal.aborted) options.onListChanged();
  }

  async function connectBy(kind: TransportKind): Promise<Client> {
    const client = createClient(kind.isLegacy);
    const attempt = connecting;
    const transport = kind.createTransport();
    await client.connect(transport, { timeout: kind.connectTimeoutMs, signal: closing.signal });
    const receive = transport.onmessage;
    const observe = transport instanceof StreamableHTTPClientTransport ? undefined : recordMessages(transport, { peer, scopes });
    const mayPass = createNotificationBudget({ onDropped: options.onNotificationsDropped, onFlood: () => void transport.close() });
    // eslint-disable-next-line unicorn/prefer-add-event-listener -- nor is its transport
    transport.onmessage = (message, extra) => {
      if (!mayPass(message)) return;
      answers.observe(message);
      observe?.(message);
      receive?.(malformedTools.filter(withoutMalformedContents(message), client.getProtocolEra() === 'legacy'), extra);
    };
    // Set only now: a transport that fails to connect must not end the attempt, which continues with the next transport.
    // eslint-disable-next-line unicorn/prefer-add-event-listener -- a client of the SDK is not an EventTarget
    client.onclose = () => {
      isStale = true;
      if (connecting !== attempt) return;
      connecting = undefined;
      if (kind.errorOutput !== undefined && !closing.signal.aborted) options.onProcessEnded(errorLines());
    };
    return client;
  }

  async function connect(): Promise<Client> {
    closing.signal.throwIfAborted();
    let failure: unknown;
    for (const kind of kinds) {
      try {
        const client = await connectBy(kind);
        kinds = [kind, ...kinds.filter((other) => other !== kind)];
        return client;
      } catch (error) {
        failure ??= error;
        // If nothing answers, or the credential is refused, another transport would not help.
        if (closing.signal.aborted || !mayNeedOtherTransport(error)) break;
      }
    }
    throw failure;
  }

  function connected(): Promise<Client> {
    if (connecting !== undefined) return connecting;
    const attempt = Promise.resolve().then(connect);
    connecting = attempt;
    attempt.catch(() => {
      if (connecting === attempt) connecting = undefined;
    });
    return attempt;
  }

  async function closeClient(client: Promise<Client> | undefined): Promise<void> {
    await client?.then((open) => open.close()).catch(() => undefined);
  }

  function close(): Promise<void> {
    closing.abort(new Error('The connection to the MCP server was closed.'));
    return closeClient(connecting);
  }

  function closeIfRetired(): void {
    if (isRetiring && scopes.size === 0) void close();
  }

  function errorLines(): string[] {
    return kinds.flatMap(({ errorOutput }) => errorOutput?.().lines((line) => peer.mask.text(line)) ?? []);
  }

  async function inScope<Result>(
    { run, context, signal }: { run: RunContext; context: ToolContext | undefined; signal: AbortSignal },
    work: (client: Client, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const answerLost = new AbortController();
    const scope = { run, context, onAnswerLost: () => answerLost.abort(new AnswerCutOff()) };
    const ended = AbortSignal.any([signal, answerLost.signal]);
    try {
      // Outside of the scope: a connection belongs to no call, even if a call opens it.
      const client = await waitUnlessAborted(connected(), ended);
      return await scopes.run(scope, () => work(client, ended));
    } catch (error) {
      throw answerLost.signal.aborted && !signal.aborted ? answerLost.signal.reason : error;
    } finally {
      closeIfRetired();
    }
  }

  return {
    async list(signal) {
      const client = await waitUnlessAborted(connected(), signal);
      isStale = false;
      const malformed = malformedTools.gather();
      try {
        const { tools } = await client.listTools(undefined, { signal, timeout: limits.mcpListTimeoutMs, cacheMode: 'refresh' });
        const info = client.getServerVersion() as JsonObject | undefined;
        return { tools, malformed: malformed.found, info, protocolVersion: client.getNegotiatedProtocolVersion() };
      } finally {
        malformed.end();
      }
    },
    isListStale: () => isStale,
    call: (name, { args, run, signal: ended }, context) =>
      inScope({ run, context, signal: ended }, (client, signal) =>
        client.callTool(
          { name, arguments: args },
          {
            signal,
            // The runtime's own time limits end a call; this one is a backstop for what the runtime cannot see.
            timeout: limits.mcpAnswerMs,
            onprogress: ({ progress, total, message }) => {
              void context?.progress(progress, total).catch(() => undefined);
              const status = truncateText(maskFor(run).text(message ?? ''), limits.mcpStatusCharacters);
              if (message !== undefined) void context?.status(status).catch(() => undefined);
            },
          },
        ),
      ),
    request: (run, work) => inScope({ run, context: undefined, signal: run.signal }, work),
    errorLines,
    drop() {
      const current = connecting;
      connecting = undefined;
      isStale = true;
      return closeClient(current);
    },
    retire() {
      isRetiring = true;
      closeIfRetired();
    },
    async end() {
      const transport = await connecting?.then((client) => client.transport).catch(() => undefined);
      if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession().catch(() => undefined);
      await close();
    },
    close,
  };
}

/** A server of 2024 does not accept a POST at this URL (MCP specification, transports, backwards compatibility). */
function mayNeedOtherTransport(error: unknown): boolean {
  const { kind, message } = explainMcpFailure(error);
  return kind === 'answered' || kind === 'invalid' || /\b(?:400|404|405|406|415)\b/.test(message);
}
