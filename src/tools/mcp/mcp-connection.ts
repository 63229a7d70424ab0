import { Client } from '@modelcontextprotocol/client';
import type { CallToolResult, JsonSchemaValidator, Tool as McpTool } from '@modelcontextprotocol/client';
import { limits } from '../../core/limits.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { ToolServerRecord } from '../../core/registry.ts';
import type { ToolContext, ToolInvocation } from '../../core/tool.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { SecretMask } from '../../shared/secrets/secret-mask.ts';
import { waitUnlessAborted } from '../../shared/wait-for.ts';
import { answerElicitation, createCallScopes } from './call-scope.ts';
import { shortened } from './convert-tools.ts';
import { createTransports as createUsualTransports } from './create-transports.ts';
import type { CreateTransports, TransportKind } from './create-transports.ts';
import { AnswerCutOff, explainMcpFailure } from './explain-mcp-failure.ts';
import { createAnswerWatch, createMalformedToolFilter, createNotificationBudget } from './incoming-messages.ts';
import type { MalformedTool } from './incoming-messages.ts';

export interface McpListing {
  tools: McpTool[];
  /** What was listed and is no tool. */
  malformed: readonly MalformedTool[];
  info: JsonObject | undefined;
  protocolVersion: string | undefined;
}

/** The connection to one registered server, for all calls of all callers. It is opened when it is needed, and again when it was lost. */
export interface McpConnection {
  /** Asks for the list of tools. @throws what the SDK throws */
  list(signal: AbortSignal): Promise<McpListing>;
  /** Whether the list that was given last may be another one by now: the server said so, or it is another process. */
  isListStale(): boolean;
  /** @throws what the SDK throws, and AnswerCutOff */
  call(name: string, invocation: ToolInvocation, context: ToolContext | undefined): Promise<CallToolResult>;
  /** The last lines that its process has written to stderr, without credentials; empty where there is no process. */
  errorLines(): string[];
  /** Gives up the present connection, so that the next request opens another one. */
  drop(): Promise<void>;
  /** Closes as soon as no call is under way. */
  retire(): void;
  close(): Promise<void>;
}

export interface McpConnectionOptions {
  send: SendOutbound;
  createTransports?: CreateTransports;
  version: string;
  /** For what the server says: it must not repeat what it was sent. */
  mask: SecretMask;
  /** The server says that its list has changed. */
  onListChanged: () => void;
  /** A process has ended by itself; the last lines of its stderr. */
  onProcessEnded: (stderr: string[]) => void;
  /** The server sends more notifications than are read. */
  onNotificationsDropped: () => void;
}

/** The SDK checks results without waiting: it lets all of them pass, and `mcp-tool.ts` checks them. */
const jsonSchemaValidator = {
  getValidator<T>(): JsonSchemaValidator<T> {
    return (value) => ({ valid: true, data: value as T, errorMessage: undefined });
  },
};

export function createMcpConnection(record: ToolServerRecord, options: McpConnectionOptions): McpConnection {
  const { send, mask, version, createTransports = createUsualTransports } = options;
  const scopes = createCallScopes();
  const answers = createAnswerWatch();
  const malformedTools = createMalformedToolFilter();
  const closing = new AbortController();
  /** The one that worked last comes first. */
  let kinds = createTransports(record, { send, scopes, answers, signal: closing.signal });
  let connecting: Promise<Client> | undefined;
  let isStale = false;
  let isRetiring = false;

  function createClient(isLegacy: boolean): Client {
    const client = new Client(
      { name: 'toolwharf', version },
      {
        // No sampling: a server must not spend the operator's tokens, nor put words into a conversation it cannot see.
        capabilities: { elicitation: { form: { applyDefaults: true } } },
        versionNegotiation: isLegacy ? { mode: 'legacy' } : { mode: 'auto', probe: { timeoutMs: limits.mcpProbeTimeoutMs } },
        jsonSchemaValidator,
        listChanged: { tools: { autoRefresh: false, debounceMs: limits.mcpListPauseMs, onChanged: noteChange } },
      },
    );
    client.setRequestHandler('elicitation/create', ({ params }) =>
      answerElicitation(mask.value(params as JsonObject) as typeof params, record.name ?? record.id, scopes.current()),
    );
    // What the peer sends beside the protocol ends nothing; a call that suffers from it ends by itself.
    // eslint-disable-next-line unicorn/prefer-add-event-listener -- a client of the SDK is no event target
    client.onerror = () => undefined;
    return client;
  }

  function noteChange(): void {
    isStale = true;
    if (!closing.signal.aborted) options.onListChanged();
  }

  async function connectBy(kind: TransportKind): Promise<Client> {
    const client = createClient(kind.isLegacy);
    const attempt = connecting;
    const transport = kind.createTransport();
    await client.connect(transport, { timeout: kind.connectTimeoutMs, signal: closing.signal });
    const receive = transport.onmessage;
    const mayPass = createNotificationBudget({ onDropped: options.onNotificationsDropped, onFlood: () => void transport.close() });
    // eslint-disable-next-line unicorn/prefer-add-event-listener -- nor is its transport
    transport.onmessage = (message, extra) => {
      if (!mayPass(message)) return;
      answers.note(message);
      receive?.(malformedTools.filter(message, client.getProtocolEra() === 'legacy'), extra);
    };
    // Not earlier: a transport that fails must not end the attempt that goes on with the next one.
    // eslint-disable-next-line unicorn/prefer-add-event-listener -- a client of the SDK is no event target
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
        // Where nobody answers, or the credential is refused, another transport changes nothing.
        if (closing.signal.aborted || !mayBeOtherTransport(error)) break;
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
    return kinds.flatMap(({ errorOutput }) => errorOutput?.().lines((line) => mask.text(line)) ?? []);
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
    async call(name, invocation, context) {
      const cut = new AbortController();
      const scope = { invocation, context, onAnswerLost: () => cut.abort(new AnswerCutOff()) };
      const signal = AbortSignal.any([invocation.signal, cut.signal]);
      try {
        // Not within the scope: a connection belongs to no call, even where one opens it.
        const client = await waitUnlessAborted(connected(), signal);
        return await scopes.run(scope, () =>
          client.callTool(
            { name, arguments: invocation.args },
            {
              signal,
              // The runtime's own limits end a call; this one is for what the runtime cannot see.
              timeout: limits.mcpAnswerMs,
              onprogress: ({ progress, total, message }) => {
                void context?.progress(progress, total).catch(() => undefined);
                const status = shortened(mask.text(message ?? ''), limits.mcpStatusCharacters);
                if (message !== undefined) void context?.status(status).catch(() => undefined);
              },
            },
          ),
        );
      } catch (error) {
        throw cut.signal.aborted && !invocation.signal.aborted ? cut.signal.reason : error;
      } finally {
        closeIfRetired();
      }
    },
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
    close,
  };
}

/** A server of 2024 knows no POST at the address (specification, transports, backwards compatibility). */
function mayBeOtherTransport(error: unknown): boolean {
  const { kind, message } = explainMcpFailure(error);
  return kind === 'answered' || /\b(?:400|404|405|406|415)\b/.test(message);
}
