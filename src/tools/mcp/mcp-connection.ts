import { Client } from '@modelcontextprotocol/client';
import type { CallToolResult, Tool as McpTool } from '@modelcontextprotocol/client';
import type { JsonObject } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { ToolServerRecord } from '../../core/registry.ts';
import type { ToolContext, ToolInvocation } from '../../core/tool.ts';
import { answerElicitation } from './answer-elicitation.ts';
import { createAnswerWatch } from './answer-watch.ts';
import { createCallScopes } from './call-scope.ts';
import { shortened } from './convert-tools.ts';
import type { CreateWays, Way } from './create-transports.ts';
import { AnswerCutOff, explainMcpFailure } from './explain-mcp-failure.ts';
import { maskOfEverythingSent } from '../servers/credentials-of.ts';
import { redactSecrets } from './redact-secrets.ts';
import { createNotificationBudget } from './notification-budget.ts';
import { createMalformedToolFilter } from './drop-malformed-tools.ts';
import type { MalformedTool } from './drop-malformed-tools.ts';
import { passingValidator } from './check-structured-result.ts';

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
  createWays: CreateWays;
  version: string;
  /** Told when the server says that its list has changed. */
  onListChanged: () => void;
  /** Told when a process has ended by itself. */
  onProcessEnded: () => void;
  /** Told when the server sends more notifications than are read. */
  onNotificationsDropped: () => void;
}

export function createMcpConnection(record: ToolServerRecord, options: McpConnectionOptions): McpConnection {
  const scopes = createCallScopes();
  const answers = createAnswerWatch();
  const sieve = createMalformedToolFilter();
  const closing = new AbortController();
  const ways = options.createWays(record, { send: options.send, scopes, answers, signal: closing.signal });
  let connecting: Promise<Client> | undefined;
  let isStale = false;
  let isRetiring = false;
  /** The way that worked last is tried first. */
  let usual: Way | undefined;

  function createClient(way: Way): Client {
    const client = new Client(
      { name: 'toolwharf', version: options.version },
      {
        // No sampling: a server must not spend the operator's tokens, nor put words into a conversation it cannot see.
        capabilities: { elicitation: { form: { applyDefaults: true } } },
        versionNegotiation: way.isLegacy ? { mode: 'legacy' } : { mode: 'auto', probe: { timeoutMs: limits.mcpProbeTimeoutMs } },
        jsonSchemaValidator: passingValidator,
        listChanged: { tools: { autoRefresh: false, debounceMs: limits.mcpListPauseMs, onChanged: noteChange } },
      },
    );
    client.setRequestHandler('elicitation/create', (request) =>
      answerElicitation(
        maskOfEverythingSent(record).value(request.params as JsonObject) as typeof request.params,
        record.name ?? record.id,
        scopes.current(),
      ),
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

  async function connectBy(way: Way): Promise<Client> {
    const client = createClient(way);
    const own = connecting;
    const transport = way.createTransport();
    await client.connect(transport, { timeout: way.connectTimeoutMs, signal: closing.signal });
    const receive = transport.onmessage;
    const mayPass = createNotificationBudget({ onDropped: options.onNotificationsDropped, onFlood: () => void transport.close() });
    // eslint-disable-next-line unicorn/prefer-add-event-listener -- nor is its transport
    transport.onmessage = (message, extra) => {
      if (!mayPass(message)) return;
      answers.note(message);
      receive?.(sieve.sift(message, client.getProtocolEra() === 'legacy'), extra);
    };
    // Not earlier: a way that fails must not end the attempt that goes on with the next one.
    // eslint-disable-next-line unicorn/prefer-add-event-listener -- a client of the SDK is no event target
    client.onclose = () => {
      const isOwn = connecting === own;
      if (isOwn) connecting = undefined;
      isStale = true;
      if (isOwn && way.errorOutput !== undefined && !closing.signal.aborted) options.onProcessEnded();
    };
    return client;
  }

  async function connect(): Promise<Client> {
    closing.signal.throwIfAborted();
    const order = usual === undefined ? ways : [usual, ...ways.filter((way) => way !== usual)];
    let failure: unknown;
    for (const way of order) {
      try {
        const client = await connectBy(way);
        usual = way;
        return client;
      } catch (error) {
        failure ??= error;
        // Where nobody answers, or the credential is refused, another transport changes nothing.
        if (closing.signal.aborted || !mayBeOtherTransport(error)) break;
      }
    }
    throw failure;
  }

  function client(): Promise<Client> {
    if (connecting !== undefined) return connecting;
    const attempt = Promise.resolve().then(connect);
    connecting = attempt;
    attempt.catch(() => {
      if (connecting === attempt) connecting = undefined;
    });
    return attempt;
  }

  async function drop(): Promise<void> {
    const current = connecting;
    connecting = undefined;
    isStale = true;
    await current?.then((open) => open.close()).catch(() => undefined);
  }

  async function close(): Promise<void> {
    const current = connecting;
    closing.abort(new Error('The connection to the MCP server was closed.'));
    await current?.then((open) => open.close()).catch(() => undefined);
  }

  async function list(signal: AbortSignal): Promise<McpListing> {
    const open = await orAborted(client(), signal);
    isStale = false;
    const malformed = sieve.gather();
    try {
      const { tools } = await open.listTools(undefined, { signal, timeout: limits.mcpListTimeoutMs, cacheMode: 'refresh' });
      const info = open.getServerVersion() as JsonObject | undefined;
      return { tools, malformed: malformed.found, info, protocolVersion: open.getNegotiatedProtocolVersion() };
    } finally {
      malformed.end();
    }
  }

  function call(name: string, invocation: ToolInvocation, context: ToolContext | undefined): Promise<CallToolResult> {
    const cut = new AbortController();
    const scope = { invocation, context, onAnswerLost: () => cut.abort(new AnswerCutOff()) };
    const signal = AbortSignal.any([invocation.signal, cut.signal]);
    // Not within the scope: a connection belongs to no call, even where one opens it.
    return orAborted(client(), signal)
      .then((open) =>
        scopes.run(scope, () =>
          open.callTool(
            { name, arguments: invocation.args },
            {
              signal,
              // The runtime's own limits end a call; this one is for what the runtime cannot see.
              timeout: limits.mcpAnswerMs,
              onprogress: ({ progress, total, message }) =>
                tellProgress(context, { progress, total, message: message && redactSecrets(message, record) }),
            },
          ),
        ),
      )
      .catch((error: unknown) => {
        throw cut.signal.aborted && !invocation.signal.aborted ? cut.signal.reason : error;
      })
      .finally(() => {
        if (isRetiring && scopes.size === 0) void close();
      });
  }

  return {
    list,
    isListStale: () => isStale,
    call,
    errorLines: () => ways.flatMap((way) => way.errorOutput?.().lines((line) => redactSecrets(line, record)) ?? []),
    drop,
    retire() {
      isRetiring = true;
      if (scopes.size === 0) void close();
    },
    close,
  };
}

function tellProgress(
  context: ToolContext | undefined,
  { progress, total, message }: { progress: number; total: number | undefined; message: string | undefined },
): void {
  void context?.progress(progress, total).catch(() => undefined);
  if (message !== undefined) void context?.status(shortened(message, limits.mcpStatusCharacters)).catch(() => undefined);
}

/** A server of 2024 knows no POST at the address (specification, transports, backwards compatibility). */
function mayBeOtherTransport(error: unknown): boolean {
  const { kind, message } = explainMcpFailure(error);
  return kind === 'answered' || /\b(?:400|404|405|406|415)\b/.test(message);
}

/** The connection is everybody's: who leaves does not end it. */
function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason as Error);
    if (signal.aborted) return leave();
    signal.addEventListener('abort', leave, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
