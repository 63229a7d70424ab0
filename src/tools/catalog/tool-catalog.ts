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

  /** The same object for the same record, so that lists and offers with it can be kept. */
  function connectTo(record: ToolServerRecord): Candidate {
    const candidate = connects.get(record) ?? connectCandidate(record, servers.open, false);
    connects.set(record, candidate);
    return candidate;
  }

  /** What the registered servers supply that the request selects. */
  function supplyFromServers({ toolIds }: ChatRequest, run: RunContext, { records, to }: Selecting): MaybePromise<ServerSupply> {
    const selection = { records, revision: servers.revision(), toolIds, permitted: run.caller.tools, to };
    const known = keptServers.find(selection);
    const asked = known?.asked ?? list.choose(toolIds, records, run.caller);
    const answering =
      asked.length === 0 ? none : allThere(asked.map((server) => supplyFromServer(server, run, { servers, to, connectTo })));
    return whenThere(answering, (answers) => {
      if (known !== undefined) return known.supplyWith(answers, run.caller.id);
      const supplied = answers.map((answer, index) => ({ supplied: answer, server: asked[index] }));
      // The bundled example server comes last.
      const kept = keptServers.keep(
        selection,
        supplied.flatMap(({ supplied: functions, server }) => {
          return server === undefined
            ? []
            : [{ supplied: functions, server, isLast: toolIds === undefined && server.record.origin === 'bundled' }];
        }),
      );
      return kept.supplyWith(
        answers.filter(({ isForEverybody }) => isForEverybody !== true),
        run.caller.id,
      );
    });
  }

  /** What the servers supply that the request brings. */
  function supplyFromRequest(
    request: ChatRequest,
    run: RunContext,
    records: Selecting['records'],
  ): MaybePromise<readonly SuppliedFunctions[]> {
    const { toolServers, mcpServers = [] } = request;
    if (toolServers.length === 0 && mcpServers.length === 0) return none;
    const sessionServerAt = (origin: string): string | undefined =>
      records.find((record) => record.authType === 'session' && originOf(record.url) === origin)?.id;
    const apis = toolServers.length === 0 ? none : openRequestServers(request, run, { ...requested, sessionServerAt });
    const peers =
      mcpServers.length === 0
        ? none
        : openRequestMcpServers(mcpServers, run, {
            openForRun: (peer) => mcp.openForRun(peer, run),
            isRegistered: (id) => records.some((record) => record.id === id),
          });
    return Promise.all([apis, peers]).then((supplied) => supplied.flat().map(markAsRequested));
  }

  function supply(request: ChatRequest, run: RunContext, { records, to }: Selecting): MaybePromise<Supplied> {
    const { toolIds } = request;
    // None of these throws before it returns a promise: the promises of the others would be left without a handler.
    const registered = supplyFromServers(request, run, { records, to });
    const fromSources = allThere(
      sources.map((source) => {
        const claimed = toolIds?.filter((toolId) => sourceOf(toolId, sources) === source);
        return source.supplyFor(claimed, run, request);
      }),
    );
    const fromRequest = supplyFromRequest(request, run, records);
    if (!(registered instanceof Promise) && !(fromSources instanceof Promise) && !(fromRequest instanceof Promise))
      return { registered, fromSources, requested: fromRequest };
    return Promise.all([registered, fromSources, fromRequest]).then((all) => ({
      registered: all[0],
      fromSources: all[1],
      requested: all[2],
    }));
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

  async function listServer(server: ChosenServer, caller: Caller, signal: AbortSignal): Promise<readonly Candidate[]> {
    const opening = await servers.open(server.record, { caller, signal }, true);
    if (needsCredential(opening)) return [connectTo(server.record)];
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
const none: readonly SuppliedFunctions[] = [];

function withWarnings(offer: ToolOffer, { fromSources, registered, requested }: Supplied, { listsMcpTools }: ChatRequest): ToolOffer {
  const hasWarnings = registered.warnings.length > 0 || requested.length > 0 || fromSources.some(({ warnings }) => warnings.length > 0);
  if (!hasWarnings && listsMcpTools !== true) return offer;
  const warnings = [...warningsOf(fromSources), ...registered.warnings, ...warningsOf(requested)];
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
