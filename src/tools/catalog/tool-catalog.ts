import type { Caller } from '../../core/callers/caller.ts';
import { textOf } from '../../core/chat/chat.ts';
import type { ChatMessage, ChatRequest } from '../../core/chat/chat.ts';
import type { CallBrowser } from '../../core/tools/browser-call.ts';
import type { LessonMemory } from '../../core/models/model.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { CredentialStore, OwnCredentials } from '../../core/callers/credentials.ts';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { OAuthClientStore } from '../../core/callers/oauth-clients.ts';
import type { Registry, ToolServerRecord } from '../../core/stores/registry.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { ContentsAsker, ServerContents } from '../../core/tools/server-contents.ts';
import type { ToolServerInspector } from '../../core/tools/tool-server-report.ts';
import type { ListedTool, ToolFinder, ToolOffer } from '../../core/tools/tool.ts';
import { originOf } from '../../shared/document-url.ts';
import { allThere, whenThere } from '../../shared/maybe-promise.ts';
import { waitAtMost, waitUnlessAborted } from '../../shared/wait-for.ts';
import type { MaybePromise } from '../../shared/maybe-promise.ts';
import type { CreateTransports } from '../mcp/transports/create-transports.ts';
import { loadedContents } from '../mcp/contents/loaded-contents.ts';
import { createMcpServers } from '../mcp/mcp-servers.ts';
import type { McpSession } from '../mcp/sessions/mcp-session.ts';
import { chooseServers, permittedServers } from '../servers/choose-servers.ts';
import { createServerInspector } from '../servers/inspect-server.ts';
import { isRejected } from '../definitions/opened-server.ts';
import type { Opening } from '../definitions/opened-server.ts';
import { refuseItself } from '../outgoing/refuse-itself.ts';
import { createServerReconnector } from '../servers/reconnect-servers.ts';
import type { ServerNews } from '../servers/reconnect-servers.ts';
import { createOAuthClient } from '../credentials/oauth/oauth-client.ts';
import type { OAuthClient } from '../credentials/oauth/oauth-client.ts';
import { asksForCredential, createOwnCredentials, refusesCredential } from '../credentials/own-credentials.ts';
import { createOpeningMarks } from '../servers/opening-marks.ts';
import { createRegisteredServers } from '../servers/registered-servers.ts';
import { openRequestMcpServers } from '../servers/request-mcp-servers.ts';
import { openRequestServers } from '../servers/request-servers.ts';
import { createKeptLists } from './kept-lists.ts';
import { connectCandidate, needsCredential } from './connect-function.ts';
import { offerTools } from './offer-tools.ts';
import { createFunctionSearches } from './search-functions.ts';
import { candidatesOf, supplyFromServer } from './server-candidates.ts';
import type { Candidate, OpenFor, SuppliedFunctions, ToolSource } from '../definitions/tool-source.ts';

/** How often unused lists are looked for. */
const listCheckMs = 60_000;

interface ToolCatalogOptions {
  registry: Registry;
  send: SendOutbound;
  callBrowser: CallBrowser;
  browserToolTimeoutMs: number;
  /** Sources of functions that belong to no server. If two claim the same entry of `tool_ids`, the first one gets it. */
  sources?: readonly ToolSource[];
  /** The gateway's version, for MCP servers. */
  clientVersion?: string;
  /** This gateway's own id, to detect a tool server that turns out to be this gateway. */
  gatewayId?: string;
  /** Replaced by scripted peers in tests. */
  createMcpTransports?: CreateTransports;
  /** Of people, for servers that ask each for their own. */
  credentials: CredentialStore;
  /** Registrations with authorization servers. */
  oauthClients: OAuthClientStore;
  /** What backends have refused of registered functions, for reports. */
  lessons?: LessonMemory;
  /** PUBLIC_URL. */
  publicUrl?: string | undefined;
  /** Milliseconds since 1970. */
  now: () => number;
  /** Milliseconds of a clock that nobody sets, for delays: a clock that is set back must not put off retries. */
  elapsed: () => number;
  /** Called once per change: a registered server becomes unusable or usable again, was given another id, and so on. */
  onServerNews?: (record: ToolServerRecord, news: ServerNews) => void;
}

/** `not_loaded`: not needed yet, disabled, or not supported by this version (then `error` says why). */
interface ToolServerState {
  id: string;
  state: 'ok' | 'unreachable' | 'not_loaded';
  functions: number;
  /** Functions that are held until an administrator accepts their changed definition; absent if there are none. */
  held?: number;
  error?: string;
  /** Opening it has ended the gateway several times. */
  skipped?: true;
}

export interface ToolCatalog extends ToolFinder {
  /** The last known state; contacts no server. */
  servers(): Promise<ToolServerState[]>;
  inspector: ToolServerInspector;
  credentials: OwnCredentials;
  oauth: OAuthClient;
  /** What MCP servers have besides tools. */
  contents: ServerContents;
  /** Drops the sessions that were opened with credentials of a key and its people, or of one of them. */
  forgetAllOf: (ownerId: string) => void;
  /** Starts opening every enabled server, so that the first chat need not wait, and retries those that fail. */
  start(): void;
  /** Resolves when every MCP process has exited. */
  close(): Promise<void>;
}

/** Combines all sources of functions into the offer of a request. */
export function createToolCatalog(options: ToolCatalogOptions): ToolCatalog {
  const { registry, callBrowser, browserToolTimeoutMs, sources = [], clientVersion = '0.0.0', gatewayId, now, elapsed } = options;
  const { createMcpTransports, onServerNews } = options;
  const closing = new AbortController();
  const send = gatewayId === undefined ? options.send : refuseItself(options.send, gatewayId);
  const oauth = createOAuthClient({
    send,
    clients: options.oauthClients,
    publicUrl: options.publicUrl,
    now,
    async signInOf(record) {
      const opening = await registered.open(record, closing.signal, true);
      if (opening.type === 'opened') return opening.server.signIn;
      throw new GatewayError(
        'upstream_unreachable',
        `The document of the tool server "${record.id}" cannot be read at the moment. Try again later; GET /api/tool-servers/{id} says why.`,
      );
    },
  });
  const { ownRecord, isRefused, ...credentials } = createOwnCredentials({
    store: options.credentials,
    oauth,
    serversOf: async ({ tools }) => permittedServers(await listRecords(), serverIdsIn(tools)).map(({ record }) => record),
    allServers: listRecords,
    now,
    onChanged: (callerId, server) => mcp.forgetOwn(callerId, server),
  });
  const mcp = createMcpServers({
    send,
    now: elapsed,
    ownRecord,
    facts: registry,
    version: clientVersion,
    gatewayId,
    onProcessEnded: (record, stderr) => onServerNews?.(record, { type: 'process_ended', stderr }),
    onNotificationsDropped: (record) => onServerNews?.(record, { type: 'notifications_dropped' }),
    onListChanged: (record) => void registered.renew(record, closing.signal).catch(() => undefined),
    ...(createMcpTransports && { createTransports: createMcpTransports }),
  });
  const marks = createOpeningMarks({ facts: registry, now });
  const registered = createRegisteredServers({
    send,
    openMcp: (record, opening) => mcp.open(record, opening),
    gatewayId,
    ownRecord,
    marks,
    now: elapsed,
  });
  const searchIn = createFunctionSearches();
  const lists = createKeptLists(elapsed);
  let droppingLists: NodeJS.Timeout | undefined;
  const connects = new WeakMap<ToolServerRecord, Candidate>();
  const reconnector = createServerReconnector({
    servers: registered,
    listRecords: async () => listRecords(),
    now: elapsed,
    signal: closing.signal,
    ...(onServerNews && { onNews: onServerNews }),
  });

  function listRecords(): MaybePromise<ToolServerRecord[]> {
    return whenThere(registry.listToolServers(), (records) => {
      registered.keepOnly(new Set(records.map((record) => record.id)));
      mcp.keepOnly(records);
      return records;
    });
  }

  const claimantOf = (toolId: string): ToolSource | undefined => sources.find((source) => source.claims(toolId));
  const serverIdsIn = (toolIds: readonly string[] | undefined): string[] | undefined =>
    toolIds?.filter((toolId) => claimantOf(toolId) === undefined);

  const openFor: OpenFor = (record, asker, isNeeded) =>
    whenThere(registered.open(record, asker.signal, isNeeded), (opening) =>
      opening.type !== 'opened' && asksForCredential(record) && record.type === 'mcp' ? openOwn(record, asker, opening) : opening,
    );

  /** The functions that a server lists to this caller where it does not list them to everybody; `otherwise`: for a caller without a credential. */
  async function openOwn(record: ToolServerRecord, { caller, signal }: Parameters<OpenFor>[1], otherwise: Opening): Promise<Opening> {
    let own;
    try {
      own = await ownRecord(record, caller);
    } catch (error) {
      if (error instanceof GatewayError) return { type: 'unreachable', reason: error.message, cause: 'failed' };
      throw error;
    }
    const refused: Opening = { type: 'unsupported', reason: refusesCredential(record), needsCredential: true };
    if (own === undefined) return (await isRefused(record, caller)) ? refused : otherwise;
    const opening = await waitAtMost(limits.requestMcpOpenMs, waitUnlessAborted(mcp.openOwn(own, caller.id), signal), (): Opening => ({
      type: 'unreachable',
      reason: `it did not list its tools within ${limits.requestMcpOpenMs / 1_000} seconds`,
      cause: 'failed',
    }));
    if (!isRejected(opening)) return opening;
    if (own.signInId === undefined) {
      if (opening.type === 'unreachable' && opening.cause === 'unauthorized') await ownRecord(record, caller, { key: own.key ?? '' });
      return refused;
    }
    // A token that could not be refreshed now is good again when its authorization server is.
    const isStillThere = (await ownRecord(record, caller).catch(() => own)) !== undefined;
    return isStillThere ? opening : refused;
  }

  function offerFor(request: ChatRequest, run: RunContext): MaybePromise<ToolOffer> {
    // A preset may add tools that no list names, such as `transfer_to_agent`.
    const bringsNone = request.toolServers.length === 0 && (request.mcpServers ?? []).length === 0;
    const wantsNone = request.toolIds?.length === 0 && bringsNone && run.preset === undefined;
    return request.isTask || wantsNone ? { tools: new Map(), warnings: [] } : makeOffer(request, run);
  }

  async function makeOffer(request: ChatRequest, run: RunContext): Promise<ToolOffer> {
    const { toolIds, mcpServers = [] } = request;
    const listing = listRecords();
    const records = listing instanceof Promise ? await listing : listing;
    const chosen = chooseServers(serverIdsIn(toolIds), records, serverIdsIn(run.caller.tools));
    const sessionServerAt = (origin: string): string | undefined =>
      records.find((record) => record.authType === 'session' && originOf(record.url) === origin)?.id;
    // Nothing of this throws but in its promise: one that is pending would be left without anybody who hears of its failure.
    const supplying = allThere<readonly SuppliedFunctions[]>([
      allThere(
        sources.map((source) =>
          source.supplyFor(
            toolIds?.filter((toolId) => claimantOf(toolId) === source),
            run,
            request,
          ),
        ),
      ),
      allThere(chosen.map((server) => supplyFromServer(server, run, openFor))),
      request.toolServers.length === 0
        ? []
        : openRequestServers(request, run, { send, callBrowser, browserToolTimeoutMs, sessionServerAt }),
      mcpServers.length === 0
        ? []
        : openRequestMcpServers(mcpServers, run, {
            openForRun: (peer) => mcp.openForRun(peer, run),
            isRegistered: (id) => records.some((record) => record.id === id),
          }),
    ]);
    const [fromSources = [], fromRegistered = [], fromRequestApis = [], fromRequestMcp = []] =
      supplying instanceof Promise ? await supplying : supplying;
    const fromRequest = [...fromRequestApis, ...fromRequestMcp].map(markedAsRequested);
    // The bundled example server comes last, without functions that the request's own servers have too.
    const isBundledDefault = chosen.map(({ record }) => toolIds === undefined && record.origin === 'bundled');
    const requested = new Set(fromRequest.flatMap(({ candidates }) => candidates.map(({ wanted }) => wanted)));
    const offer = await offerTools({
      groups: [
        ...fromSources.map(({ candidates }) => candidates),
        fromRegistered.flatMap(({ candidates }, index) => (isBundledDefault[index] === true ? [] : candidates)),
        ...fromRequest.map(({ candidates }) => candidates),
        fromRegistered
          .flatMap(({ candidates }, index) => (isBundledDefault[index] === true ? candidates : []))
          .filter(({ wanted }) => !requested.has(wanted)),
      ],
      callerNames: request.callerFunctions.map(({ name }) => name),
      query: latestQuestions(request.messages),
      searchIn: (specs) => searchIn(specs, run.caller.id),
    });
    const warnings = [...fromSources, ...fromRegistered, ...fromRequest].flatMap((supplied) => supplied.warnings);
    const lists = request.listsMcpTools === true ? { lists: fromRequestMcp.flatMap(({ list }) => list ?? []) } : {};
    return { ...offer, ...lists, warnings: [...warnings, ...offer.warnings] };
  }

  async function list(caller: Caller, signal: AbortSignal): Promise<readonly ListedTool[]> {
    const servers = permittedServers(await listRecords(), serverIdsIn(caller.tools)).filter(({ record }) => record.isEnabled);
    const fromSources = await Promise.all(sources.map((source) => source.list(caller, signal)));
    const fromServers = await Promise.all(
      servers.map(async (server) => {
        const opening = await openFor(server.record, { caller, signal }, true);
        if (needsCredential(opening)) return [listedConnect(server.record)];
        return opening.type === 'opened' ? candidatesOf(server, opening.server) : [];
      }),
    );
    return lists.listOf([...fromSources, ...fromServers], caller.id);
  }

  /** The same object for the same record, so that a list with it can be kept. */
  function listedConnect(record: ToolServerRecord): Candidate {
    const candidate = connects.get(record) ?? connectCandidate(record, openFor, false);
    connects.set(record, candidate);
    return candidate;
  }

  /** A key that names single functions of a server has nothing else of it. */
  async function listWholeMcpServers(caller: Caller): Promise<ToolServerRecord[]> {
    return permittedServers(await listRecords(), serverIdsIn(caller.tools)).flatMap(({ record, permitted }) =>
      record.type === 'mcp' && record.isEnabled && permitted === undefined ? [record] : [],
    );
  }

  async function openMcpSession(record: ToolServerRecord, { caller, signal }: ContentsAsker): Promise<McpSession | undefined> {
    if (asksForCredential(record)) return mcp.ownSession(record, caller.id);
    const opening = await registered.open(record, signal, true);
    return opening.type === 'opened' ? mcp.find(record) : undefined;
  }

  return {
    offerFor,
    list,
    async servers() {
      return (await listRecords()).map((record) => toState(record, registered.stateOf(record)));
    },
    credentials,
    oauth,
    inspector: createServerInspector({ servers: registered, send, mcp, gatewayId, lessons: options.lessons, now: elapsed }),
    contents: loadedContents({
      serversOf: listWholeMcpServers,
      open: openMcpSession,
      ownRecord,
      ...(gatewayId !== undefined && { gatewayId }),
    }),
    forgetAllOf(ownerId) {
      mcp.forgetAllOf(ownerId);
      lists.forgetAllOf(ownerId);
    },
    start() {
      void reconnector.reconnectDue();
      reconnector.start();
      droppingLists ??= setInterval(() => lists.dropUnused(), listCheckMs).unref();
    },
    async close() {
      reconnector.close();
      clearInterval(droppingLists);
      closing.abort(new Error('The gateway is shutting down.'));
      registered.close();
      await mcp.close();
      await marks.close();
    },
  };
}

/** Tells functions that the request brought from those of everybody. */
function markedAsRequested(supplied: SuppliedFunctions): SuppliedFunctions {
  const candidates = supplied.candidates.map((candidate): Candidate => ({
    ...candidate,
    toTool: (name) => ({ ...candidate.toTool(name), isFromRequest: true }),
  }));
  return { ...supplied, candidates };
}

/** The last three user messages: a follow-up such as "and tomorrow?" names no topic by itself. */
function latestQuestions(messages: readonly ChatMessage[]): string {
  const questions = messages.filter((message) => message.role === 'user').slice(-3);
  return questions.map((message) => textOf(message.content)).join('\n');
}

function toState(record: ToolServerRecord, opening: Opening | undefined): ToolServerState {
  const { id } = record;
  if (opening === undefined || !record.isEnabled) return { id, state: 'not_loaded', functions: 0 };
  if (opening.type === 'opened') {
    const held = opening.server.held?.length ?? 0;
    return { id, state: 'ok', functions: opening.server.functions.length, ...(held > 0 && { held }) };
  }
  const isSkipped = opening.type === 'unreachable' && opening.cause === 'skipped';
  const state = opening.type === 'unreachable' ? 'unreachable' : 'not_loaded';
  return { id, state, functions: 0, error: opening.reason, ...(isSkipped && { skipped: true }) };
}
