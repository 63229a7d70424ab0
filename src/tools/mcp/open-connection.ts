import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { CallToolResult, JsonSchemaValidator, Tool as McpTool } from '@modelcontextprotocol/client';
import { limits } from '../../core/limits.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { ToolContext, ToolInvocation } from '../../core/tools/tool.ts';
import { runTurnOf } from '../../shared/foreign-turns.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { SecretMask } from '../../shared/secrets/secret-mask.ts';
import { waitUnlessAborted } from '../../shared/wait-for.ts';
import { answerElicitation, createCallScopes, mcpStatusCharacters } from './call-scope.ts';
import { boundValidation } from './bound-validation.ts';
import { truncateText } from './convert-tools.ts';
import type { CreateTransports, TransportKind } from './transports/create-transports.ts';
import { AnswerCutOff, explainMcpFailure, isSessionLost, SessionLost } from './explain-mcp-failure.ts';
import { createAnswerWatch, createMalformedToolFilter, withoutMalformedContents } from './incoming-messages.ts';
import type { MalformedTool } from './incoming-messages.ts';
import type { McpPeer } from './mcp-peer.ts';
import { createNotificationBudgets } from './notification-budgets.ts';
import { boundOpenQuestions } from './open-questions.ts';
import { MarkedNumbers } from './transports/marked-numbers.ts';
import { recordMessages } from './transports/record-messages.ts';

/** How long the request of a call that was given up stays open: by then the server has been told. */
export const mcpGivenUpMs = 5_000;

/** Finding out whether it speaks the protocol version of 2026; older servers over stdio may not answer at all. */
const mcpProbeTimeoutMs = 5_000;
/** The tool list is requested at most once in this time, however often a server announces that it has changed. */
const mcpListPauseMs = 300;

export interface McpListing {
  tools: McpTool[];
  /** Listed entries that are not valid tools. */
  malformed: readonly MalformedTool[];
  info: JsonObject | undefined;
  protocolVersion: string | undefined;
}

/** One connection to a server, which its first request opens. What began on it ends on it, even if it has been replaced meanwhile. */
export interface OpenConnection {
  /** Requests the tool list. @throws what the SDK throws, and SessionLost */
  list(signal: AbortSignal): Promise<McpListing>;
  /** @throws what the SDK throws, AnswerCutOff and SessionLost */
  call(name: string, invocation: ToolInvocation, context: ToolContext | undefined): Promise<CallToolResult>;
  /** Any other request for a caller. @throws as `call` */
  request<Result>(run: RunContext, work: (client: Client, signal: AbortSignal) => Promise<Result>): Promise<Result>;
  /** Whether it has answered before, so that a failure may be due to its age. */
  isOpen(): boolean;
  /** Whether requests of callers are running. */
  isBusy(): boolean;
  /** The last lines of its process's stderr, with credentials redacted; empty without a process. */
  errorLines(): string[];
  /** Closes once nothing is running. */
  retire(): void;
  /** Tells the server that its session is over, then closes. Never rejects. */
  end(): Promise<void>;
  /** Never rejects. */
  close(): Promise<void>;
}

interface OpenConnectionOptions {
  send: SendOutbound;
  createTransports: CreateTransports;
  version: string;
  /** Which of the transports worked last. */
  firstTransport: number;
  /** Whether it stays open while nothing is running. */
  mayStay: () => boolean;
  /** Which of the transports works. */
  onOpened: (transport: number) => void;
  /** It failed to open, or was closed by either side. */
  onEnded: (end: { isProcess: boolean }) => void;
  /** The server reported that its tool list has changed. */
  onListChanged: () => void;
  /** The server exceeds the rate limit for notifications. */
  onNotificationsDropped: () => void;
}

/** Disables the SDK's validation of results, which blocks the event loop; `mcp-tool.ts` validates them in a worker instead. */
const jsonSchemaValidator = {
  getValidator<T>(): JsonSchemaValidator<T> {
    return (value) => ({ valid: true, data: value as T, errorMessage: undefined });
  },
};

export function createOpenConnection(peer: McpPeer, options: OpenConnectionOptions): OpenConnection {
  const { send, version, createTransports, firstTransport, onOpened, onEnded } = options;
  const maskFor = (run: RunContext | undefined): SecretMask => (run && peer.masksFor?.(run).mask) ?? peer.mask;
  const scopes = createCallScopes();
  const answers = createAnswerWatch();
  const malformedTools = createMalformedToolFilter();
  const numbers = new MarkedNumbers();
  const closing = new AbortController();
  const kinds = createTransports(peer, { send, scopes, answers, numbers, signal: closing.signal });
  const turn = { name: `the MCP server "${peer.id}"`, fail: () => void close() };
  let opening: Promise<Client> | undefined;
  let isOpen = false;
  /** Requests of callers, and all of them. */
  let calls = 0;
  let uses = 0;
  let isRetired = false;

  function createClient(isLegacy: boolean): Client {
    const client = new Client(
      { name: 'toolwharf', version },
      {
        // No sampling: a server must not spend the operator's tokens, nor inject text into a conversation it cannot see.
        capabilities: { elicitation: { form: { applyDefaults: true } } },
        versionNegotiation: isLegacy ? { mode: 'legacy' } : { mode: 'auto', probe: { timeoutMs: mcpProbeTimeoutMs } },
        jsonSchemaValidator,
        ...(peer.listPages !== undefined && { listMaxPages: peer.listPages }),
        listChanged: {
          tools: {
            autoRefresh: false,
            debounceMs: mcpListPauseMs,
            onChanged: () => void (closing.signal.aborted || options.onListChanged()),
          },
        },
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

  async function connectBy(kind: TransportKind): Promise<Client> {
    const client = createClient(kind.isLegacy);
    const transport = kind.createTransport();
    const onFlood = (): void => void transport.close().catch(() => undefined);
    boundOpenQuestions(transport, { isAnswered: () => client.getProtocolEra() !== 'modern', onFlood });
    await client.connect(transport, { timeout: kind.connectTimeoutMs, signal: closing.signal });
    const receive = transport.onmessage;
    const observe = transport instanceof StreamableHTTPClientTransport ? undefined : recordMessages(transport, { peer, scopes });
    const mayPass = createNotificationBudgets(transport, {
      scopes,
      onDropped: options.onNotificationsDropped,
      onFlood,
    });
    // eslint-disable-next-line unicorn/prefer-add-event-listener -- nor is its transport
    transport.onmessage = (received, extra) => {
      const message = numbers.unmarkProtocol(received);
      if (!mayPass(message)) return;
      answers.observe(message);
      observe?.(numbers.unmark(message));
      receive?.(malformedTools.filter(withoutMalformedContents(boundValidation(message)), client.getProtocolEra() === 'legacy'), extra);
    };
    // Set only now: a transport that fails to connect must not end the attempt, which continues with the next transport.
    // eslint-disable-next-line unicorn/prefer-add-event-listener -- a client of the SDK is not an EventTarget
    client.onclose = () => onEnded({ isProcess: kind.errorOutput !== undefined && !closing.signal.aborted });
    return client;
  }

  async function connect(): Promise<Client> {
    let failure: unknown;
    for (const index of new Set([firstTransport, ...kinds.keys()])) {
      const kind = kinds[index];
      if (kind === undefined) continue;
      closing.signal.throwIfAborted();
      try {
        const client = await connectBy(kind);
        isOpen = true;
        onOpened(index);
        return client;
      } catch (error) {
        failure ??= error;
        // If nothing answers, or the credential is refused, another transport would not help.
        if (!mayNeedOtherTransport(error)) break;
      }
    }
    throw failure;
  }

  function opened(): Promise<Client> {
    if (opening !== undefined) return opening;
    // A connection belongs to no call, even if a call opens it.
    opening = Promise.resolve().then(connect);
    opening.catch(() => onEnded({ isProcess: false }));
    return opening;
  }

  async function close(): Promise<void> {
    closing.abort(new Error('The connection to the MCP server was closed.'));
    await opening?.then((client) => client.close()).catch(() => undefined);
    onEnded({ isProcess: false });
  }

  /** Runs a request, and all that its answer starts, for this connection. */
  async function use<Result>(signal: AbortSignal, work: (client: Client) => Promise<Result>): Promise<Result> {
    uses += 1;
    try {
      return await runTurnOf(turn, async () => {
        const client = await waitUnlessAborted(opened(), signal);
        try {
          return await work(client);
        } catch (error) {
          const hasSession = client.transport?.sessionId !== undefined;
          throw hasSession && isSessionLost(error) ? new SessionLost(error) : error;
        }
      });
    } finally {
      uses -= 1;
      if (uses === 0 && (isRetired || !options.mayStay())) void close();
    }
  }

  async function inScope<Result>(
    { run, context, signal }: { run: RunContext; context: ToolContext | undefined; signal: AbortSignal },
    work: (client: Client, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const answerLost = new AbortController();
    const scope = {
      run,
      context,
      onAnswerLost: () => answerLost.abort(new AnswerCutOff()),
      onFlood: () => answerLost.abort(new AnswerCutOff('The call was ended because the server sent too many notifications during it.')),
      lost: answerLost.signal,
    };
    const ended = AbortSignal.any([signal, answerLost.signal]);
    calls += 1;
    try {
      return await use(ended, (client) => scopes.run(scope, () => work(client, ended)));
    } catch (error) {
      if (ended.aborted) {
        scopes.abandon(scope);
        // A server that does not end it would keep a socket for each call.
        setTimeout(() => answerLost.abort(new AnswerCutOff()), mcpGivenUpMs).unref();
      }
      throw answerLost.signal.aborted && !signal.aborted ? answerLost.signal.reason : error;
    } finally {
      calls -= 1;
    }
  }

  return {
    list: (signal) =>
      use(signal, async (client) => {
        const malformed = malformedTools.gather();
        try {
          const options = { signal, timeout: limits.mcpListTimeoutMs, cacheMode: 'refresh' } as const;
          const { tools } = await scopes.runForNobody(() => client.listTools(undefined, options));
          const info = client.getServerVersion() as JsonObject | undefined;
          return { tools: numbers.unmark(tools), malformed: malformed.found, info, protocolVersion: client.getNegotiatedProtocolVersion() };
        } finally {
          malformed.end();
        }
      }),
    call: (name, { args, run, signal: ended }, context) =>
      inScope({ run, context, signal: ended }, async (client, signal) => {
        const result = await client.callTool(
          { name, arguments: args },
          {
            signal,
            // The runtime's own time limits end a call; this one is a backstop for what the runtime cannot see.
            timeout: limits.mcpAnswerMs,
            onprogress: ({ progress, total, message }) => {
              void context?.progress(progress, total).catch(() => undefined);
              const status = truncateText(maskFor(run).text(message ?? ''), mcpStatusCharacters);
              if (message !== undefined) void context?.status(status).catch(() => undefined);
            },
          },
        );
        return numbers.unmark(result);
      }),
    request: (run, work) => inScope({ run, context: undefined, signal: run.signal }, work),
    isOpen: () => isOpen,
    isBusy: () => calls > 0,
    errorLines: () => kinds.flatMap(({ errorOutput }) => errorOutput?.().lines((line) => peer.mask.text(line)) ?? []),
    retire() {
      isRetired = true;
      if (uses === 0) void close();
    },
    async end() {
      const transport = await opening?.then((client) => client.transport).catch(() => undefined);
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
