import {
  LOG_LEVEL_META_KEY,
  StreamableHTTPClientTransport,
  type CallToolResult,
  type Client,
  type Progress,
  type StandardSchemaV1,
  type Tool as McpTool,
} from '@modelcontextprotocol/client';
import { limits } from '../../core/limits.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { ToolContext, ToolInvocation } from '../../core/tools/tool.ts';
import { runTurnOf } from '../../shared/async/foreign-turns.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { waitUnlessAborted } from '../../shared/async/wait-for.ts';
import { mcpStatusCharacters } from './call-scope.ts';
import { ClientConnector, type ConnectorOptions } from './connect-client.ts';
import { truncateText } from './convert-tools.ts';
import { AnswerCutOff, isSessionLost, SessionLost } from './explain-mcp-failure.ts';
import { createResourceSubscriptions, type ConnectionWatcher } from './resource-subscriptions.ts';
import { showOutputSchema, showStructure } from './incoming/hidden-fields.ts';
import type { MalformedTool } from './incoming-messages.ts';
import type { McpPeer } from './mcp-peer.ts';

/** How long the request of a call that was given up stays open: by then the server has been told. */
export const mcpGivenUpMs = 5_000;

export interface McpListing {
  tools: McpTool[];
  /** Listed entries that are not valid tools. */
  malformed: readonly MalformedTool[];
  info: JsonObject | undefined;
  protocolVersion: string | undefined;
}

/** One connection to a server, which its first request opens. A request ends on the connection it began on, even if that has been replaced. */
export interface OpenConnection {
  /** Requests the tool list. @throws what the SDK throws, and SessionLost */
  list(signal: AbortSignal): Promise<McpListing>;
  /** @throws what the SDK throws, AnswerCutOff and SessionLost */
  call(definition: McpTool, invocation: ToolInvocation, context: ToolContext | undefined): Promise<CallToolResult>;
  /** A request about a task that a call has become. @throws as `call` */
  askAboutTask(request: TaskRequest, asker: Pick<ToolInvocation, 'run' | 'signal'>, context: ToolContext | undefined): Promise<JsonObject>;
  /** A call has ended that may have become a task. */
  forgetTask(callId: string): void;
  /** Any other request for a caller. @throws as `call` */
  request<Result>(run: RunContext, work: (client: Client, signal: AbortSignal) => Promise<Result>): Promise<Result>;
  /** Subscribes to a resource; once, for all who want it. Gives a function that ends it. @throws what the SDK throws, and SessionLost */
  watch(uri: string, watcher: ConnectionWatcher, signal: AbortSignal): Promise<() => void>;
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

export interface TaskRequest {
  method: 'tasks/get' | 'tasks/result' | 'tasks/update' | 'tasks/cancel';
  taskId: string;
  inputResponses?: JsonObject;
  /** Default: as long as calls may take. */
  timeoutMs?: number;
}

/** For answers that are read where they are used. */
const anyAnswer: StandardSchemaV1<unknown, JsonObject> = {
  '~standard': { version: 1, vendor: 'toolwharf', validate: (value) => ({ value: value as JsonObject }) },
};

function tokenOfTask(callId: string): string {
  return `task-${callId}`;
}

interface OpenConnectionOptions extends Omit<ConnectorOptions, 'onResourceUpdated'> {
  /** Whether it stays open while nothing is running. */
  mayStay: () => boolean;
}

interface CallScope {
  run: RunContext;
  context: ToolContext | undefined;
  signal: AbortSignal;
}

export function createOpenConnection(peer: McpPeer, options: OpenConnectionOptions): OpenConnection {
  return new ConnectionOverSdk(peer, options);
}

class ConnectionOverSdk implements OpenConnection {
  readonly #options: OpenConnectionOptions;
  readonly #closing = new AbortController();
  readonly #connector: ClientConnector;
  readonly #subscriptions = createResourceSubscriptions();
  readonly #turn: Parameters<typeof runTurnOf>[0];
  #opening: Promise<Client> | undefined;
  #isOpen = false;
  /** Requests of callers, and all of them. */
  #calls = 0;
  #uses = 0;
  #isRetired = false;

  constructor(peer: McpPeer, given: OpenConnectionOptions) {
    const onResourceUpdated = this.#subscriptions.tell;
    const onEnded: ConnectorOptions['onEnded'] = (end) => {
      this.#subscriptions.lose();
      given.onEnded(end);
    };
    const options = { ...given, onEnded };
    this.#options = options;
    const onOpened = (transport: number): void => {
      this.#isOpen = true;
      options.onOpened(transport);
    };
    this.#connector = new ClientConnector(peer, { ...options, onOpened, onResourceUpdated }, this.#closing.signal);
    this.#turn = { name: `the MCP server "${peer.id}"`, fail: () => void this.close() };
  }

  list(signal: AbortSignal): Promise<McpListing> {
    const { malformedTools, numbers, scopes } = this.#connector;
    return this.#use(signal, async (client) => {
      const malformed = malformedTools.gather();
      try {
        const options = { signal, timeout: limits.mcpListTimeoutMs, cacheMode: 'refresh' } as const;
        const { tools } = await scopes.runForNobody(() => client.listTools(undefined, options));
        const info = client.getServerVersion() as JsonObject | undefined;
        return {
          tools: numbers.unmark(tools).map(showOutputSchema),
          malformed: malformed.found,
          info,
          protocolVersion: client.getNegotiatedProtocolVersion(),
        };
      } finally {
        malformed.end();
      }
    });
  }

  call(
    { name, execution }: McpTool,
    { callId, args, run, signal: ended }: ToolInvocation,
    context: ToolContext | undefined,
  ): Promise<CallToolResult> {
    return this.#inScope({ run, context, signal: ended }, async (client, signal) => {
      const onprogress = ({ progress, total, message }: Progress): void => {
        void context?.progress(progress, total).catch(() => undefined);
        const status = truncateText(this.#connector.maskFor(run).text(message ?? ''), mcpStatusCharacters);
        if (message !== undefined) void context?.status(status).catch(() => undefined);
      };
      // The runtime's own time limits end a call; this one is a backstop for what the runtime cannot see.
      const options = { signal, timeout: limits.mcpAnswerMs };
      const trace = run.trace?.headersOf(callId, 'mcp');
      const meta = { ...(client.getProtocolEra() === 'modern' && { [LOG_LEVEL_META_KEY]: 'info' }), ...trace };
      const params = { name, arguments: args, ...(Object.keys(meta).length > 0 && { _meta: meta }) };
      // Since 2026 the server decides what becomes a task.
      const isTask = execution?.taskSupport === 'required' && client.getServerCapabilities()?.tasks?.requests?.tools?.call !== undefined;
      const result = isTask
        ? await client.callTool({ ...params, task: {}, _meta: { ...meta, ...this.#progressOfTask(callId, onprogress) } }, options)
        : await client.callTool(params, { ...options, onprogress });
      return showStructure(this.#connector.numbers.unmark(result));
    });
  }

  /** Progress is reported under the token of the call as long as its task is worked on. */
  #progressOfTask(callId: string, report: (progress: Progress) => void): { progressToken: string } {
    const progressToken = tokenOfTask(callId);
    this.#connector.taskProgress.set(progressToken, report);
    return { progressToken };
  }

  forgetTask(callId: string): void {
    this.#connector.taskProgress.delete(tokenOfTask(callId));
  }

  askAboutTask(
    { method, timeoutMs = limits.mcpAnswerMs, ...params }: TaskRequest,
    { run, signal: ended }: Pick<ToolInvocation, 'run' | 'signal'>,
    context: ToolContext | undefined,
  ): Promise<JsonObject> {
    return this.#inScope({ run, context, signal: ended }, async (client, signal) =>
      this.#connector.numbers.unmark(await client.request({ method, params: { ...params } }, anyAnswer, { signal, timeout: timeoutMs })),
    );
  }

  request<Result>(run: RunContext, work: (client: Client, signal: AbortSignal) => Promise<Result>): Promise<Result> {
    return this.#inScope({ run, context: undefined, signal: run.signal }, work);
  }

  watch(uri: string, watcher: ConnectionWatcher, signal: AbortSignal): Promise<() => void> {
    const { scopes } = this.#connector;
    // A subscription belongs to no call, even if a call begins it.
    return this.#use(signal, (client) => scopes.runForNobody(() => this.#subscriptions.add(client, uri, watcher)));
  }

  isOpen(): boolean {
    return this.#isOpen;
  }

  isBusy(): boolean {
    return this.#calls > 0;
  }

  errorLines(): string[] {
    return this.#connector.errorLines();
  }

  retire(): void {
    this.#isRetired = true;
    if (this.#uses === 0) void this.close();
  }

  async end(): Promise<void> {
    const transport = await this.#opening?.then((client) => client.transport).catch(() => undefined);
    if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession().catch(() => undefined);
    await this.close();
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('The connection to the MCP server was closed.'));
    await this.#opening?.then((client) => client.close()).catch(() => undefined);
    this.#options.onEnded({ isProcess: false });
  }

  #connect(): Promise<Client> {
    if (this.#opening !== undefined) return this.#opening;
    // A connection belongs to no call, even if a call opens it.
    this.#opening = Promise.resolve().then(() => this.#connector.connect());
    this.#opening.catch(() => this.#options.onEnded({ isProcess: false }));
    return this.#opening;
  }

  /** Runs a request, and all that its answer starts, for this connection. */
  async #use<Result>(signal: AbortSignal, work: (client: Client) => Promise<Result>): Promise<Result> {
    this.#uses += 1;
    try {
      return await runTurnOf(this.#turn, async () => {
        const client = await waitUnlessAborted(this.#connect(), signal);
        try {
          return await work(client);
        } catch (error) {
          const hasSession = client.transport?.sessionId !== undefined;
          throw hasSession && isSessionLost(error) ? new SessionLost(error) : error;
        }
      });
    } finally {
      this.#uses -= 1;
      if (this.#uses === 0 && (this.#isRetired || !this.#options.mayStay())) void this.close();
    }
  }

  /** Runs a request of a caller, who gets what the server asks and reports meanwhile. */
  async #inScope<Result>(
    { run, context, signal }: CallScope,
    work: (client: Client, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const { scopes } = this.#connector;
    const answerLost = new AbortController();
    const scope = {
      run,
      context,
      onAnswerLost: () => answerLost.abort(new AnswerCutOff()),
      onFlood: () => answerLost.abort(new AnswerCutOff('The call was ended because the server sent too many notifications during it.')),
      lost: answerLost.signal,
    };
    const ended = AbortSignal.any([signal, answerLost.signal]);
    this.#calls += 1;
    try {
      return await this.#use(ended, (client) => scopes.run(scope, () => work(client, ended)));
    } catch (error) {
      if (ended.aborted) {
        scopes.abandon(scope);
        // A server that does not end it would keep a socket for each call.
        setTimeout(() => answerLost.abort(new AnswerCutOff()), mcpGivenUpMs).unref();
      }
      throw answerLost.signal.aborted && !signal.aborted ? answerLost.signal.reason : error;
    } finally {
      this.#calls -= 1;
    }
  }
}
