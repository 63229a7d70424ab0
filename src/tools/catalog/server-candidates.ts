import type { Caller } from '../../core/caller.ts';
import type { ToolServerRecord } from '../../core/registry.ts';
import type { RunContext } from '../../core/run.ts';
import type { Tool } from '../../core/tool.ts';
import type { Operation } from '../openapi/operation.ts';
import { requireFunctions } from '../servers/choose-servers.ts';
import type { ChosenServer } from '../servers/choose-servers.ts';
import type { OpenedServer, Opening } from '../servers/open-registered-server.ts';
import type { RegisteredServers } from '../servers/registered-servers.ts';
import { withServerRules } from '../servers/server-rules.ts';
import { possibleNames } from './name-functions.ts';
import { listNames, withNames } from './offer-tools.ts';
import { leftOutWarning } from './tool-source.ts';
import type { Candidate, SuppliedFunctions, Warning } from './tool-source.ts';

/** What a registered server supplies to a run; a server that cannot be used is a warning. @throws GatewayError `unknown_tool_id` */
export async function supplyFromServer(chosen: ChosenServer, run: RunContext, servers: RegisteredServers): Promise<SuppliedFunctions> {
  const { record, functions } = chosen;
  if (!record.isEnabled) return { candidates: [], warnings: [leftOut(record, 'tool_server_disabled', 'it is disabled')] };
  const opening = await servers.open(record, run.signal, functions !== undefined);
  if (opening.type !== 'opened') return { candidates: [], warnings: [failureWarning(record, opening, run.caller)] };
  const candidates = candidatesOf(chosen, opening.server);
  const held = heldNames(chosen, opening.server);
  if (functions === undefined) return { candidates, warnings: heldWarnings(record, held) };
  requireFunctions(chosen, new Set([...candidates.map(({ wanted }) => wanted), ...held]));
  const named = candidates.filter(({ wanted }) => functions.has(wanted)).map((candidate) => ({ ...candidate, isNamed: true }));
  const heldNamed = held.filter((name) => functions.has(name));
  return { candidates: named, warnings: heldWarnings(record, heldNamed) };
}

/** What a server can offer, for as long as it stays opened: chats are offered the same functions again and again. A changed record opens anew. */
const candidatesOfServers = new WeakMap<OpenedServer, Candidate[]>();

/** As far as the caller's key reaches. */
export function candidatesOf({ record, reach }: ChosenServer, server: OpenedServer): Candidate[] {
  const known = candidatesOfServers.get(server);
  const candidates = known ?? server.functions.map((operation) => toCandidate(record, server, operation));
  if (known === undefined) candidatesOfServers.set(server, candidates);
  return reach === undefined ? candidates : candidates.filter(({ wanted }) => reach.has(wanted));
}

function toCandidate(record: ToolServerRecord, server: OpenedServer, operation: Operation): Candidate {
  const { spec, method, path, operationId } = operation;
  const candidate = {
    wanted: spec.name,
    key: `${record.id} ${method} ${path}`,
    ...(record.type === 'mcp' && { whenTaken: `${record.id}_${spec.name}` }),
    spec,
    otherNames: [operationId],
  };
  const endpoint = `${method} ${record.url}${path}`;
  const ruleNames = [operationId, ...possibleNames(candidate)];
  // Mostly each offer shows it under the same name.
  let last: Tool | undefined;
  const toTool = (offeredName: string): Tool => {
    if (last?.spec.name !== offeredName)
      last = withNames(withServerRules({ ...server.createTool(operation, offeredName), endpoint }, ruleNames, record), candidate);
    return last;
  };
  return { ...candidate, toTool };
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
      ? `The function ${listNames(names)} of "${record.id}" is left out, because its definition has changed since it was first seen. An administrator can accept it.`
      : `${names.length} functions of "${record.id}" are left out, because their definitions have changed since they were first seen: ${listNames(names)}. An administrator can accept them.`;
  return [{ code: 'definition_changed', message }];
}

/** Reasons may name addresses of the inside: they are for administrators. */
function failureWarning(record: ToolServerRecord, opening: Exclude<Opening, { type: 'opened' }>, caller: Caller): Warning {
  if (opening.type === 'unsupported') return leftOut(record, 'tool_server_unsupported', opening.reason);
  const mayKnow = caller.role === 'admin' || caller.isOpen;
  const publicReason = opening.isOpening === true ? 'it is still being opened' : 'it cannot be reached';
  return leftOut(record, record.type === 'mcp' ? 'mcp_unavailable' : 'tool_server_unreachable', mayKnow ? opening.reason : publicReason);
}

function leftOut(record: ToolServerRecord, code: string, reason: string): Warning {
  return leftOutWarning(code, `The tool server "${record.id}"`, reason);
}
