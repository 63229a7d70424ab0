import {
  Client,
  StreamableHTTPClientTransport,
  type ClientOptions,
  type JSONRPCMessage,
  type JsonSchemaValidator,
  type ProgressNotificationParams,
} from '@modelcontextprotocol/client';
import type { SendOutbound } from '../../core/outbound.ts';
import type { RunContext } from '../../core/runs/run.ts';
import { whyLooped } from '../../core/tools/gateway-chain.ts';
import type { OfferChange } from '../../core/tools/offer-changes.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import type { SecretMask } from '../../shared/secrets/secret-mask.ts';
import { boundValidation } from './incoming/bound-validation.ts';
import { answerElicitation, createCallScopes, reportLogMessage } from './call-scope.ts';
import { explainMcpFailure } from './explain-mcp-failure.ts';
import { announcedChange, createAnswerWatch, createMalformedToolFilter, withoutMalformedContents } from './incoming-messages.ts';
import type { McpPeer } from './mcp-peer.ts';
import { createNotificationBudgets } from './incoming/notification-budgets.ts';
import { boundOpenQuestions } from './incoming/open-questions.ts';
import { tasksExtension } from './incoming/hidden-task.ts';
import type { CreateTransports, TransportKind } from './transports/create-transports.ts';
import { MarkedNumbers } from './transports/marked-numbers.ts';
import { recordMessages } from './transports/record-messages.ts';

/** Finding out whether it speaks the protocol version of 2026; older servers over stdio may not answer at all. */
const mcpProbeTimeoutMs = 5_000;
/** Since this version requests need no session. */
const firstModernVersion = '2026-07-28';
/** Pages of a tool list, which may have no end; also the SDK's own limit. */
const mcpListPages = 64;
/** The tool list is requested at most once in this time, however often a server announces that it has changed. */
const mcpListPauseMs = 300;

/** Interfaces (MCP Apps), which servers offer only to clients that announce them, and calls that become tasks. */
const extensions = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] }, [tasksExtension]: {} };

/** Disables the SDK's validation of results, which blocks the event loop; `mcp-tool.ts` validates them in a worker instead. */
const jsonSchemaValidator = {
  getValidator<T>(): JsonSchemaValidator<T> {
    return (value) => ({ valid: true, data: value as T, errorMessage: undefined });
  },
};

export interface ConnectorOptions {
  send: SendOutbound;
  createTransports: CreateTransports;
  version: string;
  /** Where the process of a server runs, by its id. */
  processFolder?: ((id: string) => string) | undefined;
  /** Which of the transports worked last. */
  firstTransport: number;
  /** Which of the transports works. */
  onOpened: (transport: number) => void;
  /** It failed to open, or was closed by either side. */
  onEnded: (end: { isProcess: boolean }) => void;
  /** This gateway's own id. */
  gatewayId?: string | undefined;
  /** The server reported that its tool list has changed. `gateways`: those that told it. */
  onListChanged: (gateways: readonly string[]) => void;
  /** The server reported that it has other resources or prompts. */
  onContentsChanged: (change: OfferChange) => void;
  /** The server reported that a resource has changed to which the client has subscribed. */
  onResourceUpdated: (uri: string) => void;
  /** The server exceeds the rate limit for notifications. */
  onNotificationsDropped: () => void;
}

/** Connects a client of the SDK to one server, by the first transport that works, and filters what it receives. */
export class ClientConnector {
  readonly scopes = createCallScopes();
  readonly malformedTools: ReturnType<typeof createMalformedToolFilter>;
  readonly numbers = new MarkedNumbers();
  /** Of calls that are tasks, by the token that they were made with: the SDK forgets them when the task has begun. */
  readonly taskProgress = new Map<string, (progress: ProgressNotificationParams) => void>();
  readonly #answers = createAnswerWatch();
  readonly #peer: McpPeer;
  readonly #options: ConnectorOptions;
  readonly #signal: AbortSignal;
  readonly #kinds: readonly TransportKind[];
  /** The gateways that told of the last change of the tool list. */
  #toldBy: readonly string[] = [];

  /** `signal`: aborted when the connection is closed. */
  constructor(peer: McpPeer, options: ConnectorOptions, signal: AbortSignal) {
    const { send, createTransports, processFolder } = options;
    this.#peer = peer;
    this.malformedTools = createMalformedToolFilter(peer.listPages ?? mcpListPages);
    this.#options = options;
    this.#signal = signal;
    const [scopes, numbers, answers] = [this.scopes, this.numbers, this.#answers];
    this.#kinds = createTransports(peer, { send, scopes, answers, numbers, signal, processFolder });
  }

  /** @throws what the first transport that failed has thrown */
  async connect(): Promise<Client> {
    let failure: unknown;
    for (const index of new Set([this.#options.firstTransport, ...this.#kinds.keys()])) {
      const kind = this.#kinds[index];
      if (kind === undefined) continue;
      this.#signal.throwIfAborted();
      try {
        const client = await this.#connectBy(kind);
        this.#options.onOpened(index);
        return client;
      } catch (error) {
        failure ??= error;
        // If nothing answers, or the credential is rejected, another transport would not help.
        if (!mayNeedOtherTransport(error)) break;
      }
    }
    throw failure;
  }

  /** The last lines of its process's stderr, with credentials redacted; empty without a process. */
  errorLines(): string[] {
    return this.#kinds.flatMap(({ errorOutput }) => errorOutput?.().lines((line) => this.#peer.mask.text(line)) ?? []);
  }

  maskFor(run: RunContext | undefined): SecretMask {
    return (run && this.#peer.masksFor?.(run).mask) ?? this.#peer.mask;
  }

  #createClient(isLegacy: boolean): Client {
    const { version, onListChanged } = this.#options;
    const peer = this.#peer;
    const client = new Client(
      { name: 'toolwharf', version },
      {
        // No sampling: a server must not spend the operator's tokens, nor inject text into a conversation it cannot see.
        capabilities: { elicitation: { form: { applyDefaults: true }, url: {} }, extensions },
        ...negotiationOf(isLegacy ? (peer.protocolVersion ?? 'legacy') : peer.protocolVersion),
        jsonSchemaValidator,
        listChanged: {
          tools: {
            autoRefresh: false,
            debounceMs: mcpListPauseMs,
            onChanged: () => void (this.#signal.aborted || onListChanged(this.#toldBy)),
          },
          // What has a handler is subscribed to; `#isOwnEcho` reads them.
          resources: { autoRefresh: false, onChanged: () => undefined },
          prompts: { autoRefresh: false, onChanged: () => undefined },
        },
      },
    );
    client.setRequestHandler('elicitation/create', ({ params }) => {
      const scope = this.scopes.current();
      return answerElicitation(this.maskFor(scope?.run).value(params as JsonObject) as typeof params, peer.name ?? peer.id, scope);
    });
    client.setNotificationHandler('notifications/message', ({ params }) =>
      reportLogMessage(params, this.scopes.current(), (run) => this.maskFor(run)),
    );
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => this.#options.onResourceUpdated(params.uri));
    // A protocol violation does not end the connection; a call that it affects fails by itself.
    // eslint-disable-next-line unicorn/prefer-add-event-listener -- a client of the SDK is not an EventTarget
    client.onerror = () => undefined;
    return client;
  }

  async #connectBy(kind: TransportKind): Promise<Client> {
    const { scopes, numbers, malformedTools } = this;
    const client = this.#createClient(kind.isLegacy);
    const transport = kind.createTransport();
    const onFlood = (): void => void transport.close().catch(() => undefined);
    boundOpenQuestions(transport, { isAnswered: () => client.getProtocolEra() !== 'modern', onFlood });
    await client.connect(transport, { timeout: kind.connectTimeoutMs, signal: this.#signal });
    const receive = transport.onmessage;
    const observe =
      transport instanceof StreamableHTTPClientTransport ? undefined : recordMessages(transport, { peer: this.#peer, scopes });
    const mayPass = createNotificationBudgets(transport, { scopes, onDropped: this.#options.onNotificationsDropped, onFlood });
    // eslint-disable-next-line unicorn/prefer-add-event-listener -- nor is its transport
    transport.onmessage = (received, extra) => {
      const message = numbers.unmarkProtocol(received);
      if (!mayPass(message) || this.#isOwnEcho(message) || this.#isTaskProgress(message)) return;
      this.#answers.observe(message);
      observe?.(numbers.unmark(message));
      receive?.(malformedTools.filter(withoutMalformedContents(boundValidation(message))), extra);
    };
    // Set only now: a transport that fails to connect must not end the attempt, which continues with the next transport.
    // eslint-disable-next-line unicorn/prefer-add-event-listener -- a client of the SDK is not an EventTarget
    client.onclose = () => this.#options.onEnded({ isProcess: kind.errorOutput !== undefined && !this.#signal.aborted });
    return client;
  }

  #isTaskProgress(message: JSONRPCMessage): boolean {
    if (!('method' in message) || message.method !== 'notifications/progress' || this.taskProgress.size === 0) return false;
    const { progressToken, progress } = message.params ?? {};
    const report = typeof progressToken === 'string' ? this.taskProgress.get(progressToken) : undefined;
    if (report === undefined || typeof progress !== 'number') return false;
    report(message.params as unknown as ProgressNotificationParams);
    return true;
  }

  /** Notes a change that the server tells of. Whether this gateway has told it of that itself. */
  #isOwnEcho(message: JSONRPCMessage): boolean {
    const change = announcedChange(message);
    if (change === undefined) return false;
    if (whyLooped(change.gateways, this.#options.gatewayId ?? '') !== undefined) return true;
    if (change.lists.includes('tools')) this.#toldBy = change.gateways;
    else this.#options.onContentsChanged(change);
    return false;
  }
}

/** `version`: the only one that is wanted, or `legacy` for any of those before 2026; undefined: the newest that both sides know. */
function negotiationOf(version: string | undefined): Pick<ClientOptions, 'versionNegotiation' | 'supportedProtocolVersions'> {
  const probe = { timeoutMs: mcpProbeTimeoutMs };
  if (version === undefined) return { versionNegotiation: { mode: 'auto', probe } };
  if (version === 'legacy') return { versionNegotiation: { mode: 'legacy' } };
  if (version >= firstModernVersion) return { versionNegotiation: { mode: { pin: version }, probe } };
  return { versionNegotiation: { mode: 'legacy' }, supportedProtocolVersions: [version] };
}

/** A server of 2024 does not accept a POST at this URL (MCP specification, transports, backwards compatibility). */
function mayNeedOtherTransport(error: unknown): boolean {
  const { kind, message } = explainMcpFailure(error);
  return kind === 'answered' || kind === 'invalid' || /\b(?:400|404|405|406|415)\b/.test(message);
}
