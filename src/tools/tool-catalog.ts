import type { Caller } from '../core/caller.ts';
import type { ChatRequest } from '../core/chat.ts';
import type { SendOutbound } from '../core/outbound.ts';
import type { Registry, ToolServerRecord } from '../core/registry.ts';
import type { RunContext } from '../core/run.ts';
import type { CallBrowser, ListedTool, ToolFinder, ToolOffer } from '../core/tool.ts';
import { chooseServers, requireFunctions } from './choose-servers.ts';
import type { ChosenServer } from './choose-servers.ts';
import { uniqueNames } from './name-functions.ts';
import { leftOutWarning, offerTools } from './offer-tools.ts';
import type { Candidate, Warning } from './offer-tools.ts';
import type { OpenedServer, Opening } from './open-registered-server.ts';
import { createRegisteredServers } from './registered-servers.ts';
import { openRequestServers } from './request-servers.ts';
import type { SuppliedFunctions } from './request-servers.ts';

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
  /** Begins to open every enabled server, so that the first chat does not wait for it. */
  start(): void;
  close(): void;
}

/** Everything that can be offered to a model, from whatever source. */
export function createToolCatalog({ registry, send, callBrowser, browserToolTimeoutMs, now }: ToolCatalogOptions): ToolCatalog {
  const registered = createRegisteredServers({ send, now });
  const closing = new AbortController();

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
    const candidates = toCandidates(record, opening.server);
    const { functions } = chosen;
    if (functions === undefined) return { candidates, warnings: [] };
    requireFunctions(chosen, new Set(candidates.map((candidate) => candidate.wanted)));
    return { candidates: candidates.filter((candidate) => functions.has(candidate.wanted)), warnings: [] };
  }

  async function offerFor(request: ChatRequest, run: RunContext): Promise<ToolOffer> {
    if (request.isTask) return { tools: new Map(), warnings: [] };
    const chosen = chooseServers(request.toolIds, await listRecords());
    const [fromRegistered, fromRequest] = await Promise.all([
      Promise.all(chosen.map((server) => openChosen(server, run))),
      openRequestServers(request, run, { send, callBrowser, browserToolTimeoutMs }),
    ]);
    const registeredCandidates = (isBundled: boolean): Candidate[] =>
      fromRegistered.flatMap(({ candidates }, index) => ((chosen[index]?.record.origin === 'bundled') === isBundled ? candidates : []));
    const offer = offerTools({
      // What ships for a first try gives way: a frontend that brings the same server along gets its own functions by their names.
      groups: [registeredCandidates(false), ...fromRequest.map(({ candidates }) => candidates), registeredCandidates(true)],
      callerNames: request.callerFunctions.map((callerFunction) => callerFunction.name),
    });
    const warnings = [...fromRegistered, ...fromRequest].flatMap((supplied) => supplied.warnings);
    return { tools: offer.tools, warnings: [...warnings, ...offer.warnings] };
  }

  async function list(_caller: Caller, signal: AbortSignal): Promise<ListedTool[]> {
    const records = (await listRecords()).filter((record) => record.isEnabled);
    const openings = await Promise.all(records.map(async (record) => ({ record, opening: await registered.open(record, signal) })));
    const candidates = openings.flatMap(({ record, opening }) => (opening.type === 'opened' ? toCandidates(record, opening.server) : []));
    const wishes = candidates.map((candidate) => ({ wanted: candidate.wanted, key: candidate.key, entry: candidate }));
    return uniqueNames(wishes, new Set()).map(({ name, entry }) => toListedTool(entry, name));
  }

  async function servers(): Promise<ToolServerState[]> {
    return (await listRecords()).map((record) => toState(record, registered.stateOf(record)));
  }

  async function warmUp(): Promise<void> {
    const records = (await listRecords()).filter((record) => record.isEnabled);
    await Promise.all(records.map((record) => registered.open(record, closing.signal)));
  }

  return {
    offerFor,
    list,
    servers,
    start() {
      // A failure is kept as the server's state, and the next chat tries again.
      warmUp().catch(() => undefined);
    },
    close() {
      closing.abort(new Error('The gateway is shutting down.'));
      registered.close();
    },
  };
}

function toCandidates(record: ToolServerRecord, server: OpenedServer): Candidate[] {
  return server.functions.map((operation) => ({
    wanted: operation.spec.name,
    key: `${record.id} ${operation.method} ${operation.path}`,
    toTool: (offeredName) => server.createTool(operation, offeredName),
  }));
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
