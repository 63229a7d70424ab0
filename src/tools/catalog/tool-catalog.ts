import type { Caller } from '../../core/callers/caller.ts';
import { textOf, type ChatMessage, type ChatRequest } from '../../core/chat/chat.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { ToolServerRecord } from '../../core/stores/registry.ts';
import type { ListedTool, ToolFinder, ToolOffer } from '../../core/tools/tool.ts';
import { originOf } from '../../shared/text/document-url.ts';
import { allThere, type MaybePromise } from '../../shared/async/maybe-promise.ts';
import { sourceOf, type Candidate, type SuppliedFunctions, type ToolSource } from '../definitions/tool-source.ts';
import type { McpServers } from '../mcp/mcp-servers.ts';
import type { CallerServers } from '../servers/caller-servers.ts';
import type { ChosenServer } from '../servers/choose-servers.ts';
import { openRequestMcpServers } from '../servers/request-mcp-servers.ts';
import { openRequestServers, type RequestServersOptions } from '../servers/request-servers.ts';
import type { ServerList } from '../servers/server-list.ts';
import { connectCandidate, needsCredential } from './connect-function.ts';
import { createKeptLists } from './kept-lists.ts';
import { offerTools } from './offer-tools.ts';
import { createFunctionSearches } from './search-functions.ts';
import { candidatesOf, supplyFromServer } from './server-candidates.ts';
import { withoutBrought } from './without-brought.ts';

interface ToolCatalogOptions {
  /** Sources of functions that belong to no server. If two claim the same entry of `tool_ids`, the first one gets it. */
  sources: readonly ToolSource[];
  list: ServerList;
  servers: CallerServers;
  mcp: Pick<McpServers, 'openForRun'>;
  /** How the servers of a request are reached. */
  requested: Omit<RequestServersOptions, 'sessionServerAt'>;
  /** Milliseconds of a monotonic clock. */
  elapsed: () => number;
}

export interface ToolCatalog extends ToolFinder {
  /** Drops the lists of a key and its people, or of one of them. */
  forgetAllOf(ownerId: string): void;
  close(): void;
}

/** Combines all sources of functions into the offer of a request, and into the list of what a caller may use. */
export function createToolCatalog({ sources, list, servers, mcp, requested, elapsed }: ToolCatalogOptions): ToolCatalog {
  const searchIn = createFunctionSearches();
  const lists = createKeptLists(elapsed);
  const connects = new WeakMap<ToolServerRecord, Candidate>();

  async function supply(request: ChatRequest, run: RunContext): Promise<Supplied> {
    const { toolIds, toolServers, mcpServers = [] } = request;
    const listing = list.all();
    const records = listing instanceof Promise ? await listing : listing;
    const chosen = list.choose(toolIds, records, run.caller);
    const idsOf = (source: ToolSource): string[] | undefined => toolIds?.filter((toolId) => sourceOf(toolId, sources) === source);
    const sessionServerAt = (origin: string): string | undefined =>
      records.find((record) => record.authType === 'session' && originOf(record.url) === origin)?.id;
    // None of these throws before it returns a promise: the promises of the others would be left without a handler.
    const supplying = allThere<readonly SuppliedFunctions[]>([
      allThere(sources.map((source) => source.supplyFor(idsOf(source), run, request))),
      allThere(chosen.map((server) => supplyFromServer(server, run, servers))),
      toolServers.length === 0 ? [] : openRequestServers(request, run, { ...requested, sessionServerAt }),
      mcpServers.length === 0
        ? []
        : openRequestMcpServers(mcpServers, run, {
            openForRun: (peer) => mcp.openForRun(peer, run),
            isRegistered: (id) => records.some((record) => record.id === id),
          }),
    ]);
    const [fromSources = [], registered = [], apis = [], mcpPeers = []] = supplying instanceof Promise ? await supplying : supplying;
    return { fromSources, chosen, registered, requested: [...apis, ...mcpPeers].map(markAsRequested) };
  }

  async function makeOffer(request: ChatRequest, run: RunContext): Promise<ToolOffer> {
    const supplied = ownWithoutBrought(await supply(request, run), request);
    const offer = await offerTools({
      groups: inPrecedence(supplied, request),
      callerNames: request.callerFunctions.map(({ name }) => name),
      query: latestQuestions(request.messages),
      searchIn: (specs) => searchIn(specs, run.caller.id),
    });
    const { fromSources, registered, requested: fromRequest } = supplied;
    const warnings = [...fromSources, ...registered, ...fromRequest].flatMap((functions) => functions.warnings);
    const mcpLists = fromRequest.flatMap((functions) => functions.list ?? []);
    return { ...offer, ...(request.listsMcpTools === true && { lists: mcpLists }), warnings: [...warnings, ...offer.warnings] };
  }

  /** The same object for the same record, so that a list with it can be kept. */
  function listedConnect(record: ToolServerRecord): Candidate {
    const candidate = connects.get(record) ?? connectCandidate(record, servers.open, false);
    connects.set(record, candidate);
    return candidate;
  }

  async function listServer(server: ChosenServer, caller: Caller, signal: AbortSignal): Promise<Candidate[]> {
    const opening = await servers.open(server.record, { caller, signal }, true);
    if (needsCredential(opening)) return [listedConnect(server.record)];
    return opening.type === 'opened' ? candidatesOf(server, opening.server, servers) : [];
  }

  return {
    offerFor(request, run): MaybePromise<ToolOffer> {
      // A preset may add tools that no list names, such as `transfer_to_agent`.
      const bringsNone = request.toolServers.length === 0 && (request.mcpServers ?? []).length === 0;
      const wantsNone = request.toolIds?.length === 0 && bringsNone && run.preset === undefined;
      return request.purpose === 'task' || wantsNone ? { tools: new Map(), warnings: [] } : makeOffer(request, run);
    },
    async list(caller, signal): Promise<readonly ListedTool[]> {
      const enabled = (await list.permittedTo(caller)).filter(({ record }) => record.isEnabled);
      const fromSources = await Promise.all(sources.map((source) => source.list(caller, signal)));
      const fromServers = await Promise.all(enabled.map((server) => listServer(server, caller, signal)));
      return lists.listOf([...fromSources, ...fromServers], caller.id);
    },
    forgetAllOf: (ownerId) => lists.forgetAllOf(ownerId),
    close: () => lists.close(),
  };
}

/** The functions of all sources. */
interface Supplied {
  fromSources: readonly SuppliedFunctions[];
  chosen: readonly ChosenServer[];
  /** One for each chosen server, in the same order. */
  registered: readonly SuppliedFunctions[];
  requested: readonly SuppliedFunctions[];
}

/** The request's own servers are left alone. */
function ownWithoutBrought(supplied: Supplied, { callerFunctions }: ChatRequest): Supplied {
  if (callerFunctions.length === 0) return supplied;
  const withoutThem = (functions: SuppliedFunctions): SuppliedFunctions => ({
    ...functions,
    candidates: withoutBrought(functions.candidates, callerFunctions),
  });
  return { ...supplied, fromSources: supplied.fromSources.map(withoutThem), registered: supplied.registered.map(withoutThem) };
}

/** In a name clash, the function of the later group is renamed. */
function inPrecedence({ fromSources, chosen, registered, requested }: Supplied, { toolIds }: ChatRequest): Candidate[][] {
  // The bundled example server comes last, without functions that the request's own servers have too.
  const isBundledDefault = chosen.map(({ record }) => toolIds === undefined && record.origin === 'bundled');
  const wanted = new Set(requested.flatMap(({ candidates }) => candidates.map((candidate) => candidate.wanted)));
  return [
    ...fromSources.map(({ candidates }) => candidates),
    registered.flatMap(({ candidates }, index) => (isBundledDefault[index] === true ? [] : candidates)),
    ...requested.map(({ candidates }) => candidates),
    registered
      .flatMap(({ candidates }, index) => (isBundledDefault[index] === true ? candidates : []))
      .filter((candidate) => !wanted.has(candidate.wanted)),
  ];
}

/** Distinguishes functions that the request brought from those that are registered. */
function markAsRequested(supplied: SuppliedFunctions): SuppliedFunctions {
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
