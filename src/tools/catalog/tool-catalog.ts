import type { Caller } from '../../core/callers/caller.ts';
import { textOf, type ChatMessage, type ChatRequest } from '../../core/chat/chat.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { ToolServerRecord } from '../../core/stores/registry.ts';
import type { ListedTool, OfferedTo, ToolFinder, ToolOffer } from '../../core/tools/tool.ts';
import { originOf } from '../../shared/text/document-url.ts';
import { allThere, whenThere, type MaybePromise } from '../../shared/async/maybe-promise.ts';
import { sourceOf, type Candidate, type SuppliedFunctions, type ToolSource, type Warning } from '../definitions/tool-source.ts';
import type { McpServers } from '../mcp/mcp-servers.ts';
import type { CallerServers } from '../servers/caller-servers.ts';
import type { ChosenServer } from '../servers/choose-servers.ts';
import { openRequestMcpServers } from '../servers/request-mcp-servers.ts';
import { openRequestServers, type RequestServersOptions } from '../servers/request-servers.ts';
import type { ServerList } from '../servers/server-list.ts';
import { connectCandidate, needsCredential } from './connect-function.ts';
import { createKeptLists } from './kept-lists.ts';
import { KeptOffers, type Supplied } from './kept-offers.ts';
import { KeptServers, type ServerSupply } from './kept-servers.ts';
import { offerTools } from './offer-tools.ts';
import { createFunctionSearches } from './search-functions.ts';
import { candidatesOf, supplyFromServer } from './server-candidates.ts';

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

/** Out of which servers functions are selected, and for whom. */
interface Selecting {
  /** Every registered server. */
  records: readonly ToolServerRecord[];
  to: OfferedTo;
}

/** Combines all sources of functions into the offer of a request, and into the list of what a caller may use. */
export function createToolCatalog({ sources, list, servers, mcp, requested, elapsed }: ToolCatalogOptions): ToolCatalog {
  const searchIn = createFunctionSearches();
  const lists = createKeptLists(elapsed);
  const keptServers = new KeptServers();
  const keptOffers = new KeptOffers();
  const connects = new WeakMap<ToolServerRecord, Candidate>();

  /** What the registered servers supply that the request selects. */
  function supplyFromServers({ toolIds }: ChatRequest, run: RunContext, { records, to }: Selecting): MaybePromise<ServerSupply> {
    const selection = { records, revision: servers.revision(), toolIds, permitted: run.caller.tools, to };
    const known = keptServers.find(selection);
    if (known !== undefined) return known;
    const chosen = list.choose(toolIds, records, run.caller);
    return whenThere(allThere(chosen.map((server) => supplyFromServer(server, run, { servers, to }))), (supplied) => {
      // The bundled example server comes last.
      const isLast = chosen.map(({ record }) => toolIds === undefined && record.origin === 'bundled');
      const candidatesWhere = (last: boolean): Candidate[] =>
        supplied.flatMap(({ candidates }, index) => (isLast[index] === last ? candidates : []));
      return keptServers.keep(selection, {
        candidates: candidatesWhere(false),
        lastCandidates: candidatesWhere(true),
        warnings: supplied.flatMap(({ warnings }) => warnings),
        isForEverybody: supplied.every(({ isForEverybody }) => isForEverybody === true),
      });
    });
  }

  function supply(request: ChatRequest, run: RunContext, { records, to }: Selecting): MaybePromise<Supplied> {
    const { toolIds, toolServers, mcpServers = [] } = request;
    const idsOf = (source: ToolSource): string[] | undefined => toolIds?.filter((toolId) => sourceOf(toolId, sources) === source);
    const sessionServerAt = (origin: string): string | undefined =>
      records.find((record) => record.authType === 'session' && originOf(record.url) === origin)?.id;
    // None of these throws before it returns a promise: the promises of the others would be left without a handler.
    const fromServers = supplyFromServers(request, run, { records, to });
    const fromOthers = allThere<readonly SuppliedFunctions[]>([
      allThere(sources.map((source) => source.supplyFor(idsOf(source), run, request))),
      toolServers.length === 0 ? [] : openRequestServers(request, run, { ...requested, sessionServerAt }),
      mcpServers.length === 0
        ? []
        : openRequestMcpServers(mcpServers, run, {
            openForRun: (peer) => mcp.openForRun(peer, run),
            isRegistered: (id) => records.some((record) => record.id === id),
          }),
    ]);
    const together = (registered: ServerSupply, [fromSources = [], apis = [], peers = []]: Awaited<typeof fromOthers>): Supplied => ({
      fromSources,
      registered,
      requested: [...apis, ...peers].map(markAsRequested),
    });
    return fromServers instanceof Promise || fromOthers instanceof Promise
      ? Promise.all([fromServers, fromOthers]).then((both) => together(...both))
      : together(fromServers, fromOthers);
  }

  /** Waits for nothing as long as all that it needs is kept. */
  function makeOffer(request: ChatRequest, run: RunContext, to: OfferedTo): MaybePromise<ToolOffer> {
    const supplying = whenThere(list.all(), (records) => supply(request, run, { records, to }));
    return whenThere(supplying, (supplied) =>
      whenThere(keptOffers.nameFunctions(supplied, request.callerFunctions), (functions) => {
        const query = (): string => latestQuestions(request.messages);
        const offering = offerTools(functions, { query, searchIn: (specs) => searchIn(specs, run.caller.id) });
        return whenThere(offering, (offer) => withWarnings(offer, supplied, request));
      }),
    );
  }

  /** The same object for the same record, so that a list with it can be kept. */
  function listedConnect(record: ToolServerRecord): Candidate {
    const candidate = connects.get(record) ?? connectCandidate(record, servers.open, false);
    connects.set(record, candidate);
    return candidate;
  }

  async function listServer(server: ChosenServer, caller: Caller, signal: AbortSignal): Promise<readonly Candidate[]> {
    const opening = await servers.open(server.record, { caller, signal }, true);
    if (needsCredential(opening)) return [listedConnect(server.record)];
    return opening.type === 'opened' ? candidatesOf(server, opening.server, servers) : [];
  }

  return {
    offerFor(request, run, to = 'model'): MaybePromise<ToolOffer> {
      // A preset may add tools that no list names, such as `transfer_to_agent`.
      const bringsNone = request.toolServers.length === 0 && (request.mcpServers ?? []).length === 0;
      const wantsNone = request.toolIds?.length === 0 && bringsNone && run.preset === undefined;
      return request.purpose === 'task' || wantsNone ? noOffer : makeOffer(request, run, to);
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

const noOffer: ToolOffer = { tools: new Map(), warnings: [] };

function withWarnings(offer: ToolOffer, { fromSources, registered, requested }: Supplied, { listsMcpTools }: ChatRequest): ToolOffer {
  const warnings = [...warningsOf(fromSources), ...registered.warnings, ...warningsOf(requested)];
  if (warnings.length === 0 && listsMcpTools !== true) return offer;
  const lists = requested.flatMap((functions) => functions.list ?? []);
  return { ...offer, ...(listsMcpTools === true && { lists }), warnings: [...warnings, ...offer.warnings] };
}

function warningsOf(supplied: readonly SuppliedFunctions[]): Warning[] {
  return supplied.flatMap(({ warnings }) => warnings);
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
