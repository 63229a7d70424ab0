import type { Caller } from '../core/caller.ts';
import type { ChatRequest } from '../core/chat.ts';
import type { SendOutbound } from '../core/outbound.ts';
import type { Registry, ToolServerRecord } from '../core/registry.ts';
import type { RunContext } from '../core/run.ts';
import type { CallBrowser, ListedTool, ToolFinder, ToolOffer, ToolServerInspector } from '../core/tool.ts';
import { chooseServers, requireFunctions, serversInReach } from './choose-servers.ts';
import type { ChosenServer } from './choose-servers.ts';
import { createServerInspector, remarkOnDocument } from './inspect-server.ts';
import { uniqueNames } from './name-functions.ts';
import { leftOutWarning, offerTools } from './offer-tools.ts';
import type { Candidate, Warning } from './offer-tools.ts';
import type { OpenedServer, Opening } from './open-registered-server.ts';
import { createRegisteredServers } from './registered-servers.ts';
import { openRequestServers } from './request-servers.ts';
import type { SuppliedFunctions } from './request-servers.ts';
import { createServerReviver } from './revive-servers.ts';

export interface ToolCatalogOptions {
  registry: Registry;
  send: SendOutbound;
  callBrowser: CallBrowser;
  browserToolTimeoutMs: number;
  /** Milliseconds; any zero. */
  now: () => number;
}

/** `not_loaded`: nobody asked for it yet, it is disabled, or this version cannot use it (then `error` says why). */
export interface ToolServerState {
  id: string;
  state: 'ok' | 'unreachable' | 'not_loaded';
  functions: number;
  error?: string;
}

export interface ToolCatalog extends ToolFinder {
  /** What is known without asking any server. */
  servers(): Promise<ToolServerState[]>;
  inspector: ToolServerInspector;
  /** Begins to open every enabled server, so that the first chat does not wait for it, and keeps trying those that fail. */
  start(): void;
  close(): void;
}

/** Everything that can be offered to a model, from whatever source. */
export function createToolCatalog({ registry, send, callBrowser, browserToolTimeoutMs, now }: ToolCatalogOptions): ToolCatalog {
  const registered = createRegisteredServers({ send, now, remark: remarkOnDocument });
  const closing = new AbortController();
  const reviver = createServerReviver({ servers: registered, listRecords, now, signal: closing.signal });

  async function listRecords(): Promise<ToolServerRecord[]> {
    const records = await registry.listToolServers();
    registered.keepOnly(new Set(records.map((record) => record.id)));
    return records;
  }

  async function openChosen(chosen: ChosenServer, run: RunContext): Promise<SuppliedFunctions> {
    const { record } = chosen;
    if (!record.isEnabled) return { candidates: [], warnings: [leftOut(record, 'tool_server_disabled', 'it is disabled')] };
    const opening = await registered.open(record, run.signal);
    if (opening.type !== 'opened') return { candidates: [], warnings: [failureWarning(record, opening, run.caller)] };
    const candidates = candidatesOf(chosen, opening.server);
    const { functions } = chosen;
    if (functions === undefined) return { candidates, warnings: [] };
    requireFunctions(chosen, new Set(candidates.map((candidate) => candidate.wanted)));
    return { candidates: candidates.filter((candidate) => functions.has(candidate.wanted)), warnings: [] };
  }

  async function offerFor(request: ChatRequest, run: RunContext): Promise<ToolOffer> {
    if (request.isTask) return { tools: new Map(), warnings: [] };
    const chosen = chooseServers(request.toolIds, await listRecords(), run.caller.tools);
    const [fromRegistered, fromRequest] = await Promise.all([
      Promise.all(chosen.map((server) => openChosen(server, run))),
      openRequestServers(request, run, { send, callBrowser, browserToolTimeoutMs }),
    ]);
    const givesWay = (index: number): boolean => request.toolIds === undefined && chosen[index]?.record.origin === 'bundled';
    const brought = new Set(fromRequest.flatMap(({ candidates }) => candidates.map((candidate) => candidate.wanted)));
    const offer = offerTools({
      groups: [
        fromRegistered.flatMap(({ candidates }, index) => (givesWay(index) ? [] : candidates)),
        ...fromRequest.map(({ candidates }) => candidates),
        // What ships for a first try gives way: a request that brings the same functions along need not hold them twice.
        fromRegistered.flatMap(({ candidates }, index) => (givesWay(index) ? candidates.filter(({ wanted }) => !brought.has(wanted)) : [])),
      ],
      callerNames: request.callerFunctions.map((callerFunction) => callerFunction.name),
    });
    const warnings = [...fromRegistered, ...fromRequest].flatMap((supplied) => supplied.warnings);
    return { tools: offer.tools, warnings: [...warnings, ...offer.warnings] };
  }

  async function list(caller: Caller, signal: AbortSignal): Promise<ListedTool[]> {
    const servers = serversInReach(await listRecords(), caller.tools).filter(({ record }) => record.isEnabled);
    const openings = await Promise.all(servers.map(async (server) => ({ server, opening: await registered.open(server.record, signal) })));
    const candidates = openings.flatMap(({ server, opening }) => (opening.type === 'opened' ? candidatesOf(server, opening.server) : []));
    const wishes = candidates.map((candidate) => ({ wanted: candidate.wanted, key: candidate.key, entry: candidate }));
    return uniqueNames(wishes, new Set()).map(({ name, entry }) => toListedTool(entry, name));
  }

  async function servers(): Promise<ToolServerState[]> {
    return (await listRecords()).map((record) => toState(record, registered.stateOf(record)));
  }

  return {
    offerFor,
    list,
    servers,
    inspector: createServerInspector({ servers: registered, send }),
    start() {
      void reviver.reviveDue();
      reviver.start();
    },
    close() {
      reviver.close();
      closing.abort(new Error('The gateway is shutting down.'));
      registered.close();
    },
  };
}

/** As far as the caller's key reaches. */
function candidatesOf({ record, reach }: ChosenServer, server: OpenedServer): Candidate[] {
  const candidates = server.functions.map((operation): Candidate => ({
    wanted: operation.spec.name,
    key: `${record.id} ${operation.method} ${operation.path}`,
    toTool: (offeredName) => server.createTool(operation, offeredName),
  }));
  return reach === undefined ? candidates : candidates.filter(({ wanted }) => reach.has(wanted));
}

function toListedTool(candidate: Candidate, name: string): ListedTool {
  const { spec, label, server, kind } = candidate.toTool(name);
  return { id: label, name: spec.name, description: spec.description, parameters: spec.parameters, server, kind };
}

function toState(record: ToolServerRecord, opening: Opening | undefined): ToolServerState {
  const { id } = record;
  if (opening === undefined || !record.isEnabled) return { id, state: 'not_loaded', functions: 0 };
  if (opening.type === 'opened') return { id, state: 'ok', functions: opening.server.functions.length };
  return { id, state: opening.type === 'unreachable' ? 'unreachable' : 'not_loaded', functions: 0, error: opening.reason };
}

/** Reasons may name addresses of the inside: they are for administrators. */
function failureWarning(record: ToolServerRecord, opening: Exclude<Opening, { type: 'opened' }>, caller: Caller): Warning {
  if (opening.type === 'unsupported') return leftOut(record, 'tool_server_unsupported', opening.reason);
  const mayKnow = caller.role === 'admin' || caller.isOpen;
  return leftOut(record, 'tool_server_unreachable', mayKnow ? opening.reason : 'it cannot be reached');
}

function leftOut(record: ToolServerRecord, code: string, reason: string): Warning {
  return leftOutWarning(code, `The tool server "${record.id}"`, reason);
}
