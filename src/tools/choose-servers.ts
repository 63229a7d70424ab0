import { GatewayError } from '../core/errors.ts';
import type { ToolServerRecord } from '../core/registry.ts';

/** A registered server that a request wants. */
export interface ChosenServer {
  record: ToolServerRecord;
  /** Names of single functions; undefined: all of them. */
  functions: Set<string> | undefined;
}

/** Ids that an error message lists; more would bury its point. */
const maxListedIds = 20;

/**
 * Reads `tool_ids`. Absent: every enabled server that is a default. Servers come in the order of their first mention.
 * A disabled server is known: the caller of this function leaves it out with a warning.
 * @throws GatewayError `unknown_tool_id`, naming the known ids.
 */
export function chooseServers(toolIds: readonly string[] | undefined, records: readonly ToolServerRecord[]): ChosenServer[] {
  if (toolIds === undefined) {
    return records.filter((record) => record.isEnabled && record.isDefault).map((record) => ({ record, functions: undefined }));
  }
  const chosen = new Map<string, ChosenServer>();
  for (const toolId of toolIds) {
    const { record, functionName } = findById(toolId, records);
    const earlier = chosen.get(record.id);
    if (functionName === undefined) chosen.set(record.id, { record, functions: undefined });
    else if (earlier === undefined) chosen.set(record.id, { record, functions: new Set([functionName]) });
    else earlier.functions?.add(functionName);
  }
  return [...chosen.values()];
}

/** `server:<id>`, `server:<id>/<function>`, and Open WebUI's `server:<type>:<id>`. */
function findById(toolId: string, records: readonly ToolServerRecord[]): { record: ToolServerRecord; functionName: string | undefined } {
  const match = /^server:(?:(?<type>mcp|openapi):)?(?<id>[a-z0-9_-]+)(?:\/(?<functionName>.+))?$/.exec(toolId);
  const { type, id, functionName } = match?.groups ?? {};
  const record = records.find((candidate) => candidate.id === id && (type === undefined || candidate.type === type));
  if (record === undefined) throw unknownToolId(toolId, records);
  return { record, functionName };
}

function unknownToolId(toolId: string, records: readonly ToolServerRecord[]): GatewayError {
  const ids = records.map((record) => (record.type === 'mcp' ? `server:mcp:${record.id}` : `server:${record.id}`));
  return new GatewayError('unknown_tool_id', `tool_ids: "${toolId.slice(0, 100)}" is not known. Known are: ${listed(ids)}.`, {
    param: 'tool_ids',
  });
}

/** @throws GatewayError `unknown_tool_id` when one of the functions that were asked for is not there. */
export function requireFunctions({ record, functions }: ChosenServer, names: ReadonlySet<string>): void {
  const missing = [...(functions ?? [])].find((name) => !names.has(name));
  if (missing === undefined) return;
  const known = listed([...names].map((name) => `server:${record.id}/${name}`));
  throw new GatewayError('unknown_tool_id', `tool_ids: "server:${record.id}/${missing.slice(0, 100)}" is not known. Known are: ${known}.`, {
    param: 'tool_ids',
  });
}

function listed(ids: readonly string[]): string {
  if (ids.length === 0) return 'none';
  const rest = ids.length - maxListedIds;
  return rest > 0 ? `${ids.slice(0, maxListedIds).join(', ')} and ${rest} more` : ids.join(', ');
}
