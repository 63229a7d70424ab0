import type { Caller } from '../../core/callers/caller.ts';
import type { ToolServerRecord } from '../../core/stores/registry.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { OfferedTo, Tool } from '../../core/tools/tool.ts';
import type { Operation } from '../definitions/operation.ts';
import { asksForCredential } from '../credentials/own-credentials.ts';
import { requireFunctions, type ChosenServer } from '../servers/choose-servers.ts';
import type { CallerServers } from '../servers/caller-servers.ts';
import type { OpenedServer, Opening } from '../definitions/opened-server.ts';
import { withServerRules } from '../definitions/server-rules.ts';
import { whenThere, type MaybePromise } from '../../shared/async/maybe-promise.ts';
import { connectCandidate, connectFunctionName, needsCredential } from './connect-function.ts';
import { possibleNames } from '../definitions/name-functions.ts';
import { listNames, withNames } from './named-functions.ts';
import { leftOutWarning, type Candidate, type SuppliedFunctions, type Warning } from '../definitions/tool-source.ts';

/**
 * Supplies the functions of a registered server to a run; a server that cannot be used becomes a warning. Where the request names functions, its promise
 * rejects with GatewayError `unknown_tool_id`.
 */
export function supplyFromServer(
  chosen: ChosenServer,
  run: RunContext,
  { servers, to }: { servers: CallerServers; to: OfferedTo },
): MaybePromise<SuppliedFunctions> {
  const { record, functions } = chosen;
  if (!record.isEnabled) return { candidates: [], warnings: [leftOut(record, 'tool_server_disabled', 'it is disabled')] };
  // A run that continues, perhaps right after a restart, may have calls to take up.
  const isContinued = run.suspension?.resumed !== undefined || run.repeat?.isBehind === true;
  const isNeeded = functions !== undefined || isContinued;
  const opening = servers.open(record, run, isNeeded);
  if (functions !== undefined) return supplyNamed(chosen, functions, { opening, servers, run, to });
  return whenThere(opening, (opened) => {
    if (needsCredential(opened)) return { candidates: [connectCandidate(record, servers.open, false)], warnings: [] };
    if (opened.type !== 'opened') return { candidates: [], warnings: [failureWarning(record, opened, run.caller)] };
    const candidates = offeredTo(to, candidatesOf(chosen, opened.server, servers));
    const warnings = heldWarnings(record, heldNames(chosen, opened.server));
    if (!isForPeople(record)) return { candidates, warnings, isForEverybody: true };
    return {
      candidates: mayHaveWaited(record, run) ? [...candidates, connectCandidate(record, servers.open, true)] : candidates,
      warnings,
    };
  });
}

async function supplyNamed(
  chosen: ChosenServer,
  functions: ReadonlySet<string>,
  { opening: opens, servers, run, to }: { opening: MaybePromise<Opening>; servers: CallerServers; run: RunContext; to: OfferedTo },
): Promise<SuppliedFunctions> {
  const { record } = chosen;
  const opening = await opens;
  if (needsCredential(opening)) return { candidates: [{ ...connectCandidate(record, servers.open, false), isNamed: true }], warnings: [] };
  if (opening.type !== 'opened') return { candidates: [], warnings: [failureWarning(record, opening, run.caller)] };
  const known = offeredTo(to, candidatesOf(chosen, opening.server, servers));
  const isConnectNamed = isForPeople(record) && functions.has(connectFunctionName(record));
  const isFormer = !isConnectNamed && mayHaveWaited(record, run);
  const candidates = isConnectNamed || isFormer ? [...known, connectCandidate(record, servers.open, isFormer)] : known;
  const held = heldNames(chosen, opening.server);
  requireFunctions(chosen, new Set([...candidates.map(({ wanted }) => wanted), ...held]));
  const isMeant = ({ wanted }: Candidate): boolean => functions.has(wanted) || (isFormer && wanted === connectFunctionName(record));
  const named = candidates.filter(isMeant).map((candidate) => ({ ...candidate, isNamed: true }));
  const heldNamed = held.filter((name) => functions.has(name));
  return { candidates: named, warnings: heldWarnings(record, heldNamed), ...(!isForPeople(record) && { isForEverybody: true as const }) };
}

function offeredTo(to: OfferedTo, candidates: Candidate[]): Candidate[] {
  return to === 'client' ? candidates : candidates.filter(({ isForApps }) => isForApps !== true);
}

/** Whether it may list its functions only to people who have connected. */
function isForPeople(record: ToolServerRecord): boolean {
  return asksForCredential(record);
}

/** Whether the run may have been suspended in a call that had its caller connect. */
function mayHaveWaited(record: ToolServerRecord, { suspension }: RunContext): boolean {
  return suspension?.resumed !== undefined && isForPeople(record);
}

/** Cached per opened server, because chats are offered the same functions repeatedly. A changed record is opened anew. */
const candidatesOfServers = new WeakMap<OpenedServer, Candidate[]>();

/** The candidates of a server that the caller's key permits. */
export function candidatesOf({ record, permitted }: ChosenServer, server: OpenedServer, servers: CallerServers): Candidate[] {
  const known = candidatesOfServers.get(server);
  const candidates =
    known ??
    server.functions.map((operation) =>
      toCandidate(record, operation, (name) => servers.createTool(record, server, { operation, offeredName: name })),
    );
  if (known === undefined) candidatesOfServers.set(server, candidates);
  return permitted === undefined ? candidates : candidates.filter(({ wanted }) => permitted.has(wanted));
}

function toCandidate(record: ToolServerRecord, operation: Operation, createTool: (offeredName: string) => Tool): Candidate {
  const { spec, method, path, operationId, isForApps } = operation;
  const candidate = {
    wanted: spec.name,
    key: `${record.id} ${method} ${path}`,
    ...(record.type === 'mcp' && { whenTaken: `${record.id}_${spec.name}` }),
    spec,
    ...(isForApps && { isForApps }),
    otherNames: [operationId],
  };
  // The request of an MCP call goes to the server's address; the tool's name is in its body.
  const endpoint = `${method} ${record.url}${record.type === 'mcp' ? '' : path}`;
  const ruleNames = [operationId, ...possibleNames(candidate)];
  // Most offers use the same name, so the last tool is reused.
  let last: Tool | undefined;
  const toTool = (offeredName: string): Tool => {
    if (last?.spec.name !== offeredName)
      last = withNames(withServerRules({ ...createTool(offeredName), endpoint }, ruleNames, record), candidate);
    return last;
  };
  return { ...candidate, toTool };
}

/** The names of functions that are held because their definition has changed, as far as the caller's key permits them. */
function heldNames({ permitted }: ChosenServer, { held = [] }: OpenedServer): string[] {
  return held.map(({ operation }) => operation.spec.name).filter((name) => permitted === undefined || permitted.has(name));
}

/** One warning per server. */
function heldWarnings(record: ToolServerRecord, names: readonly string[]): Warning[] {
  if (names.length === 0) return [];
  const message =
    names.length === 1
      ? `The function ${listNames(names)} of "${record.id}" is left out, because its definition has changed since it was first seen. An administrator can accept the new definition.`
      : `${names.length} functions of "${record.id}" are left out, because their definitions have changed since they were first seen: ${listNames(names)}. An administrator can accept the new definitions.`;
  return [{ code: 'definition_changed', message }];
}

/** Reasons may contain internal addresses, so only administrators see them. */
function failureWarning(record: ToolServerRecord, opening: Exclude<Opening, { type: 'opened' }>, caller: Caller): Warning {
  if (opening.type === 'unsupported') return leftOut(record, 'tool_server_unsupported', opening.reason);
  const maySeeReason = caller.role === 'admin' || caller.isOpen;
  const publicReason = opening.cause === 'opening' ? 'it is still being opened' : 'it cannot be reached';
  return leftOut(
    record,
    record.type === 'mcp' ? 'mcp_unavailable' : 'tool_server_unreachable',
    maySeeReason ? opening.reason : publicReason,
  );
}

function leftOut(record: ToolServerRecord, code: string, reason: string): Warning {
  return leftOutWarning(code, `The tool server "${record.id}"`, reason);
}
