import type { ToolServerRecord } from '../../core/stores/registry.ts';
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
  const servers = permittedServers(records, allowed);
  if (toolIds === undefined) return servers.filter(({ record }) => record.isEnabled && record.isDefault);
  const chosen = new Map<string, ChosenServer>();
  for (const toolId of toolIds) {
    const { server, functionName } = findById(toolId, servers);
    const isPermitted =
      server !== undefined && (server.permitted === undefined || (functionName !== undefined && server.permitted.has(functionName)));
    // Do not reveal to a restricted key whether such a server exists.
    if (!isPermitted && allowed !== undefined && !allowed.includes(toolId)) throw forbiddenToolId(toolId, allowed);
    if (server === undefined) {
      const ids = servers.map(({ record }) => (record.type === 'mcp' ? `server:mcp:${record.id}` : `server:${record.id}`));
      throw unknownToolId(toolId, 'Known', ids);
    }
    add(chosen, server, functionName);
  }
  return [...chosen.values()];
}

/** Every server of which the key permits at least one function. */
export function permittedServers(records: readonly ToolServerRecord[], allowed?: readonly string[]): ChosenServer[] {
  const servers = records.map((record): ChosenServer => ({ record, functions: undefined, permitted: undefined }));
  if (allowed === undefined) return servers;
  const named = new Map<string, ChosenServer>();
  for (const toolId of allowed) {
    const { server, functionName } = findById(toolId, servers);
    if (server !== undefined) add(named, server, functionName);
  }
  return records.flatMap((record) => {
    const server = named.get(record.id);
    return server === undefined ? [] : [{ record, functions: undefined, permitted: server.functions }];
  });
}

function add(chosen: Map<string, ChosenServer>, server: ChosenServer, functionName: string | undefined): void {
  const earlier = chosen.get(server.record.id);
  if (functionName === undefined) chosen.set(server.record.id, { ...server, functions: undefined });
  else if (earlier === undefined) chosen.set(server.record.id, { ...server, functions: new Set([functionName]) });
  else earlier.functions?.add(functionName);
}

/** `server:<id>`, `server:<id>/<function>`, and Open WebUI's `server:<type>:<id>`. */
function findById(
  toolId: string,
  servers: readonly ChosenServer[],
): { server: ChosenServer | undefined; functionName: string | undefined } {
  const match = /^server:(?:(?<type>mcp|openapi):)?(?<id>[a-z0-9_-]+)(?:\/(?<functionName>.+))?$/.exec(toolId);
  const { type, id, functionName } = match?.groups ?? {};
  const server = servers.find(({ record }) => record.id === id && (type === undefined || record.type === type));
  return { server, functionName };
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
