import type { ToolServerRecord } from '../../core/stores/registry.ts';
import { keepLast } from '../../shared/keep-last.ts';
import { forbiddenToolId, unknownToolId } from '../definitions/tool-ids.ts';

/** A registered server that a request has selected. */
export interface ChosenServer {
  record: ToolServerRecord;
  /** The selected functions; undefined: all of them. */
  functions: Set<string> | undefined;
  /** The functions that the caller's key permits; undefined: all of them. */
  permitted: Set<string> | undefined;
}

/**
 * Reads `tool_ids`. Absent: every enabled server that is a default. Servers are in the order of their first mention; disabled ones are included, for
 * the caller of this function to omit them with a warning. `allowed`: the entries that the caller's key is restricted to; undefined: unrestricted.
 * @throws GatewayError `unknown_tool_id`, naming the known ids; `forbidden` for what the key does not allow
 */
export function chooseServers(
  toolIds: readonly string[] | undefined,
  records: readonly ToolServerRecord[],
  allowed?: readonly string[],
): ChosenServer[] {
  if (toolIds === undefined) return permittedServers(records, allowed).filter(({ record }) => record.isEnabled && record.isDefault);
  const permissions = permissionsIn(records, allowed);
  const chosen = new Map<string, ChosenServer>();
  for (const toolId of toolIds) {
    const { record, functionName } = findById(toolId, records);
    const server = permittedServer(record, permissions);
    const isPermitted =
      server !== undefined && (server.permitted === undefined || (functionName !== undefined && server.permitted.has(functionName)));
    // Do not reveal to a restricted key whether such a server exists.
    if (!isPermitted && allowed !== undefined && !allowed.includes(toolId)) throw forbiddenToolId(toolId, allowed);
    if (server === undefined) {
      const known = permittedServers(records, allowed).map(({ record: { type, id } }) =>
        type === 'mcp' ? `server:mcp:${id}` : `server:${id}`,
      );
      throw unknownToolId(toolId, 'Known', known);
    }
    add(chosen, server, functionName);
  }
  return [...chosen.values()];
}

/** Every server of which the key permits at least one function. */
export function permittedServers(records: readonly ToolServerRecord[], allowed?: readonly string[]): ChosenServer[] {
  const permissions = permissionsIn(records, allowed);
  return records.flatMap((record) => permittedServer(record, permissions) ?? []);
}

/** By the id of a server what the key permits of it; undefined: everything of every server. */
type Permissions = ReadonlyMap<string, ChosenServer> | undefined;

function permissionsIn(records: readonly ToolServerRecord[], allowed: readonly string[] | undefined): Permissions {
  if (allowed === undefined) return undefined;
  const named = new Map<string, ChosenServer>();
  for (const toolId of allowed) {
    const { record, functionName } = findById(toolId, records);
    if (record !== undefined) add(named, { record, functions: undefined, permitted: undefined }, functionName);
  }
  return named;
}

function permittedServer(record: ToolServerRecord | undefined, permissions: Permissions): ChosenServer | undefined {
  if (record === undefined) return undefined;
  if (permissions === undefined) return { record, functions: undefined, permitted: undefined };
  const server = permissions.get(record.id);
  return server && { record, functions: undefined, permitted: server.functions };
}

function add(chosen: Map<string, ChosenServer>, server: ChosenServer, functionName: string | undefined): void {
  const earlier = chosen.get(server.record.id);
  if (functionName === undefined) chosen.set(server.record.id, { ...server, functions: undefined });
  else if (earlier === undefined) chosen.set(server.record.id, { ...server, functions: new Set([functionName]) });
  else earlier.functions?.add(functionName);
}

/** Kept for a list, of which there is one until a server changes: a chat that names one of a thousand servers need not look at the others. */
const byId = keepLast((records: readonly ToolServerRecord[]) => new Map(records.map((record) => [record.id, record])));

/** `server:<id>`, `server:<id>/<function>`, and Open WebUI's `server:<type>:<id>`. */
function findById(
  toolId: string,
  records: readonly ToolServerRecord[],
): { record: ToolServerRecord | undefined; functionName: string | undefined } {
  const match = /^server:(?:(?<type>mcp|openapi):)?(?<id>[a-z0-9_-]+)(?:\/(?<functionName>.+))?$/.exec(toolId);
  const { type, id = '', functionName } = match?.groups ?? {};
  const record = byId(records).get(id);
  return { record: type === undefined || record?.type === type ? record : undefined, functionName };
}

/** @throws GatewayError `unknown_tool_id` if the request names a function that the server does not have */
export function requireFunctions({ record, functions }: ChosenServer, names: ReadonlySet<string>): void {
  const missing = [...(functions ?? [])].find((name) => !names.has(name));
  if (missing === undefined) return;
  throw unknownToolId(
    `server:${record.id}/${missing}`,
    'Known',
    Array.from(names, (name) => `server:${record.id}/${name}`),
  );
}
