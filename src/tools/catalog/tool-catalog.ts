import type { Caller } from '../../core/caller.ts';
import { textOf } from '../../core/chat.ts';
import { originOf } from '../../shared/document-url.ts';
import type { ChatMessage, ChatRequest } from '../../core/chat.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { Registry, ToolServerRecord } from '../../core/registry.ts';
import type { RunContext } from '../../core/run.ts';
import type { CallBrowser } from '../../core/browser-call.ts';
import type { ToolServerInspector } from '../../core/tool-server-report.ts';
import type { ListedTool, Tool, ToolFinder, ToolOffer } from '../../core/tool.ts';
import { chooseServers, requireFunctions, serversInReach } from '../servers/choose-servers.ts';
import type { ChosenServer } from '../servers/choose-servers.ts';
import { createServerInspector } from '../servers/inspect-server.ts';
import type { CreateTransports } from '../mcp/create-transports.ts';
import { createMcpServers } from '../mcp/mcp-servers.ts';
import { possibleNames } from './name-functions.ts';
import { leftOutWarning, listNames, nameInGroups, offerTools, withNames } from './offer-tools.ts';
import type { Candidate, Warning } from './offer-tools.ts';
import type { OpenedServer, Opening } from '../servers/open-registered-server.ts';
import type { Operation } from '../openapi/operation.ts';
import { createRegisteredServers } from '../servers/registered-servers.ts';
import { openRequestServers } from '../servers/request-servers.ts';
import type { SuppliedFunctions } from '../servers/request-servers.ts';
import { withServerRules } from '../servers/server-rules.ts';
import { createServerReconnector } from '../servers/reconnect-servers.ts';
import { createFunctionSearches } from './search-functions.ts';
import type { ToolSource } from './tool-source.ts';
import type { ServerNews } from '../servers/reconnect-servers.ts';

export interface ToolCatalogOptions {
  registry: Registry;
  send: SendOutbound;
  callBrowser: CallBrowser;
  browserToolTimeoutMs: number;
  /** Functions that belong to no server; of two that claim an entry of `tool_ids` the first one has it. */
  sources?: readonly ToolSource[];
  /** What MCP servers are told of the gateway. */
  clientVersion?: string;
  /** By which it knows itself when a tool server turns out to be this gateway. */
  gatewayId?: string;
  /** How MCP servers are reached; tests put scripted peers here. */
  createMcpTransports?: CreateTransports;
  /** Milliseconds; any zero. */
  now: () => number;
  /** Told once of every registered server that cannot be used, can be used again, or was given another id. */
  onServerNews?: (record: ToolServerRecord, news: ServerNews) => void;
}

/** `not_loaded`: nobody asked for it yet, it is disabled, or this version cannot use it (then `error` says why). */
export interface ToolServerState {
  id: string;
  state: 'ok' | 'unreachable' | 'not_loaded';
  functions: number;
  /** Functions that wait for an administrator to agree to their changed definition; absent: none. */
  held?: number;
  error?: string;
}

export interface ToolCatalog extends ToolFinder {
  /** What is known without asking any server. */
  servers(): Promise<ToolServerState[]>;
  inspector: ToolServerInspector;
  /** Begins to open every enabled server, so that the first chat does not wait for it, and keeps trying those that fail. */
  start(): void;
  /** Resolves when every process that was started has ended. */
  close(): Promise<void>;
}

/** Everything that can be offered to a model, from whatever source. */
export function createToolCatalog({
  registry,
  send,
  callBrowser,
  browserToolTimeoutMs,
  sources = [],
  clientVersion = '0.0.0',
  gatewayId,
  createMcpTransports,
  now,
  onServerNews,
}: ToolCatalogOptions): ToolCatalog {
  const mcp = createMcpServers({
    send,
    facts: registry,
    version: clientVersion,
    gatewayId,
    onProcessEnded: (record, stderr) => onServerNews?.(record, { type: 'process_ended', stderr }),
    onNotificationsDropped: (record) => onServerNews?.(record, { type: 'notifications_dropped' }),
    onListChanged: (record) => void registered.renew(record, closing.signal).catch(() => undefined),
    ...(createMcpTransports && { createTransports: createMcpTransports }),
  });
  const registered = createRegisteredServers({ send, openMcp: (record, options) => mcp.open(record, options), now });
  const searchIn = createFunctionSearches();
  const closing = new AbortController();
  const reviver = createServerReconnector({
    servers: registered,
    listRecords,
    now,
    signal: closing.signal,
    ...(onServerNews !== undefined && { onNews: onServerNews }),
  });

  async function listRecords(): Promise<ToolServerRecord[]> {
    const records = await registry.listToolServers();
    registered.keepOnly(new Set(records.map((record) => record.id)));
    mcp.keepOnly(records);
    return records;
  }

  async function openChosen(chosen: ChosenServer, run: RunContext): Promise<SuppliedFunctions> {
    const { record } = chosen;
    if (!record.isEnabled) return { candidates: [], warnings: [leftOut(record, 'tool_server_disabled', 'it is disabled')] };
    const { functions } = chosen;
    const opening = await registered.open(record, run.signal, functions !== undefined);
    if (opening.type !== 'opened') return { candidates: [], warnings: [failureWarning(record, opening, run.caller)] };
    const candidates = candidatesOf(chosen, opening.server);
    const held = heldNames(chosen, opening.server);
    if (functions === undefined) return { candidates, warnings: heldWarnings(record, held) };
    requireFunctions(chosen, new Set([...candidates.map(({ wanted }) => wanted), ...held]));
    return {
      candidates: candidates.filter(({ wanted }) => functions.has(wanted)).map((candidate) => ({ ...candidate, isNamed: true })),
      warnings: heldWarnings(
        record,
        held.filter((name) => functions.has(name)),
      ),
    };
  }

  async function offerFor(request: ChatRequest, run: RunContext): Promise<ToolOffer> {
    const { toolIds } = request;
    // What a preset brings by itself is in no list.
    const wantsNone = toolIds?.length === 0 && request.toolServers.length === 0 && run.preset === undefined;
    if (request.isTask || wantsNone) return { tools: new Map(), warnings: [] };
    const isClaimed = (toolId: string): boolean => sources.some((source) => source.claims(toolId));
    const ofServers = (ids: readonly string[] | undefined): string[] | undefined => ids?.filter((toolId) => !isClaimed(toolId));
    const records = await listRecords();
    const chosen = chooseServers(ofServers(toolIds), records, ofServers(run.caller.tools));
    const sessionServerAt = (origin: string): string | undefined =>
      records.find((record) => record.authType === 'session' && originOf(record.url) === origin)?.id;
    const [fromRegistered, fromRequest, fromSources] = await Promise.all([
      Promise.all(chosen.map((server) => openChosen(server, run))),
      openRequestServers(request, run, { send, callBrowser, browserToolTimeoutMs, sessionServerAt }),
      Promise.all(
        sources.map((source) =>
          source.supplyFor(
            // The first that claims an entry has it.
            toolIds?.filter((toolId) => sources.find((other) => other.claims(toolId)) === source),
            run,
            request,
          ),
        ),
      ),
    ]);
    const givesWay = (index: number): boolean => request.toolIds === undefined && chosen[index]?.record.origin === 'bundled';
    const brought = new Set(fromRequest.flatMap(({ candidates }) => candidates.map((candidate) => candidate.wanted)));
    const offer = await offerTools({
      groups: [
        ...fromSources.map(({ candidates }) => candidates),
        fromRegistered.flatMap(({ candidates }, index) => (givesWay(index) ? [] : candidates)),
        ...fromRequest.map(({ candidates }) => candidates),
        // What ships for a first try gives way: a request that brings the same functions along need not hold them twice.
        fromRegistered.flatMap(({ candidates }, index) => (givesWay(index) ? candidates.filter(({ wanted }) => !brought.has(wanted)) : [])),
      ],
      callerNames: request.callerFunctions.map((callerFunction) => callerFunction.name),
      query: lastWords(request.messages),
      searchIn: (specs) => searchIn(specs, run.caller.id),
    });
    const warnings = [...fromSources, ...fromRegistered, ...fromRequest].flatMap((supplied) => supplied.warnings);
    return { ...offer, warnings: [...warnings, ...offer.warnings] };
  }

  async function list(caller: Caller, signal: AbortSignal): Promise<ListedTool[]> {
    const ids = caller.tools?.filter((toolId) => !sources.some((source) => source.claims(toolId)));
    const servers = serversInReach(await listRecords(), ids).filter(({ record }) => record.isEnabled);
    const others = await Promise.all(sources.map((source) => source.list(caller, signal)));
    const openings = await Promise.all(
      servers.map(async (server) => ({ server, opening: await registered.open(server.record, signal, true) })),
    );
    const candidates = openings.map(({ server, opening }) => (opening.type === 'opened' ? candidatesOf(server, opening.server) : []));
    return [...nameInGroups([...others, ...candidates], new Set())].map(({ name, entry }) => toListedTool(entry, name));
  }

  async function servers(): Promise<ToolServerState[]> {
    return (await listRecords()).map((record) => toState(record, registered.stateOf(record)));
  }

  return {
    offerFor,
    list,
    servers,
    inspector: createServerInspector({ servers: registered, send, mcp }),
    start() {
      void reviver.reviveDue();
      reviver.start();
    },
    async close() {
      reviver.close();
      closing.abort(new Error('The gateway is shutting down.'));
      registered.close();
      await mcp.close();
    },
  };
}

/** What the user said last, and before it: a follow-up such as "and tomorrow?" names nothing itself. */
function lastWords(messages: readonly ChatMessage[]): string {
  const questions = messages.filter((message) => message.role === 'user').slice(-3);
  return questions.map((message) => textOf(message.content)).join('\n');
}

/** Of functions whose definition has changed, as far as the caller's key reaches. */
function heldNames({ reach }: ChosenServer, { held = [] }: OpenedServer): string[] {
  return held.map(({ operation }) => operation.spec.name).filter((name) => reach === undefined || reach.has(name));
}

/** One for the server, however many they are. */
function heldWarnings(record: ToolServerRecord, names: readonly string[]): Warning[] {
  if (names.length === 0) return [];
  const message =
    names.length === 1
      ? `The function ${listNames(names)} of "${record.id}" is left out, because its definition has changed since it was first seen. An administrator can agree to it.`
      : `${names.length} functions of "${record.id}" are left out, because their definitions have changed since they were first seen: ${listNames(names)}. An administrator can agree to them.`;
  return [{ code: 'definition_changed', message }];
}

/** What a server has on offer, for as long as it stays opened: chats are offered the same functions again and again. A changed record opens anew. */
const candidatesOfServers = new WeakMap<OpenedServer, Candidate[]>();

/** As far as the caller's key reaches. */
function candidatesOf({ record, reach }: ChosenServer, server: OpenedServer): Candidate[] {
  const known = candidatesOfServers.get(server);
  const candidates = known ?? server.functions.map((operation) => toCandidate(record, server, operation));
  if (known === undefined) candidatesOfServers.set(server, candidates);
  return reach === undefined ? candidates : candidates.filter(({ wanted }) => reach.has(wanted));
}

function toCandidate(record: ToolServerRecord, server: OpenedServer, operation: Operation): Candidate {
  const wish = {
    wanted: operation.spec.name,
    key: `${record.id} ${operation.method} ${operation.path}`,
    ...(record.type === 'mcp' && { whenTaken: `${record.id}_${operation.spec.name}` }),
  };
  const otherNames = [operation.operationId];
  const endpoint = `${operation.method} ${record.url}${operation.path}`;
  const candidate = { ...wish, spec: operation.spec, otherNames };
  // Mostly each offer shows it under the same name.
  let last: Tool | undefined;
  const toTool = (offeredName: string): Tool => {
    if (last?.spec.name === offeredName) return last;
    const tool = { ...server.createTool(operation, offeredName), endpoint };
    last = withNames(withServerRules(tool, [...otherNames, ...possibleNames(wish)], record), candidate);
    return last;
  };
  return { ...candidate, toTool };
}

function toListedTool(candidate: Candidate, name: string): ListedTool {
  const { spec, label, server, kind, isReadOnly = false, isIdempotent = false, gateways = [] } = candidate.toTool(name);
  const { name: offered, description, parameters } = spec;
  return { id: candidate.id ?? label, name: offered, description, parameters, server, kind, hints: { isReadOnly, isIdempotent, gateways } };
}

function toState(record: ToolServerRecord, opening: Opening | undefined): ToolServerState {
  const { id } = record;
  if (opening === undefined || !record.isEnabled) return { id, state: 'not_loaded', functions: 0 };
  if (opening.type === 'opened') {
    const held = opening.server.held?.length ?? 0;
    return { id, state: 'ok', functions: opening.server.functions.length, ...(held > 0 && { held }) };
  }
  return { id, state: opening.type === 'unreachable' ? 'unreachable' : 'not_loaded', functions: 0, error: opening.reason };
}

/** Reasons may name addresses of the inside: they are for administrators. */
function failureWarning(record: ToolServerRecord, opening: Exclude<Opening, { type: 'opened' }>, caller: Caller): Warning {
  if (opening.type === 'unsupported') return leftOut(record, 'tool_server_unsupported', opening.reason);
  const mayKnow = caller.role === 'admin' || caller.isOpen;
  return leftOut(
    record,
    record.type === 'mcp' ? 'mcp_unavailable' : 'tool_server_unreachable',
    mayKnow ? opening.reason : opening.isOpening === true ? 'it is still being opened' : 'it cannot be reached',
  );
}

function leftOut(record: ToolServerRecord, code: string, reason: string): Warning {
  return leftOutWarning(code, `The tool server "${record.id}"`, reason);
}
