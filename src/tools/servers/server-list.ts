import type { Caller } from '../../core/callers/caller.ts';
import type { Registry, ToolServerRecord } from '../../core/stores/registry.ts';
import { keepLast } from '../../shared/keep-last.ts';
import { whenThere, type MaybePromise } from '../../shared/async/maybe-promise.ts';
import type { Opening } from '../definitions/opened-server.ts';
import { sourceOf, type ToolSource } from '../definitions/tool-source.ts';
import { chooseServers, permittedServers, type ChosenServer } from './choose-servers.ts';
import type { RegisteredServers } from './registered-servers.ts';

/** `not_loaded`: not needed yet, disabled, or not supported by this version (then `error` says why). */
export interface ToolServerState {
  id: string;
  state: 'ok' | 'unreachable' | 'not_loaded';
  functions: number;
  /** Functions that are held until an administrator accepts their changed definition; absent if there are none. */
  held?: number;
  error?: string;
  /** Opening it has ended the gateway several times. */
  skipped?: true;
}

/** The registered servers, and which of them a caller may use. */
export interface ServerList {
  /** Every server, as the registry has it now. */
  all: () => MaybePromise<readonly ToolServerRecord[]>;
  /** Those of which the caller may use at least one function. */
  permittedTo: (caller: Caller) => Promise<ChosenServer[]>;
  /** Those that `tool_ids` selects. @throws GatewayError `unknown_tool_id`, `forbidden` */
  choose: (toolIds: readonly string[] | undefined, records: readonly ToolServerRecord[], caller: Caller) => ChosenServer[];
  /** MCP servers of which the caller may use everything; a key that names single functions of a server has nothing else of it. */
  wholeMcpServersOf: (caller: Caller) => Promise<ToolServerRecord[]>;
  /** The last known states; contacts no server. */
  states: () => Promise<ToolServerState[]>;
}

interface ServerListOptions {
  registry: Pick<Registry, 'listToolServers'>;
  servers: Pick<RegisteredServers, 'stateOf'>;
  /** They have the other entries of `tool_ids`. */
  sources: readonly ToolSource[];
  /** Called with every new list, to forget servers that were deleted or changed. */
  onListed: (records: readonly ToolServerRecord[]) => void;
}

export function createServerList({ registry, servers, sources, onListed }: ServerListOptions): ServerList {
  const serverIdsIn = (toolIds: readonly string[] | undefined): string[] | undefined =>
    toolIds?.filter((toolId) => sourceOf(toolId, sources) === undefined);

  const noteListed = keepLast((records: readonly ToolServerRecord[]) => {
    onListed(records);
    return records;
  });

  function all(): MaybePromise<readonly ToolServerRecord[]> {
    return whenThere(registry.listToolServers(), noteListed);
  }

  const permittedTo = async ({ tools }: Caller): Promise<ChosenServer[]> => permittedServers(await all(), serverIdsIn(tools));

  return {
    all,
    permittedTo,
    wholeMcpServersOf: async (caller) =>
      (await permittedTo(caller)).flatMap(({ record, permitted }) =>
        record.type === 'mcp' && record.isEnabled && permitted === undefined ? [record] : [],
      ),
    choose: (toolIds, records, { tools }) => chooseServers(serverIdsIn(toolIds), records, serverIdsIn(tools)),
    states: async () => (await all()).map((record) => toState(record, servers.stateOf(record))),
  };
}

function toState(record: ToolServerRecord, opening: Opening | undefined): ToolServerState {
  const { id } = record;
  if (opening === undefined || !record.isEnabled) return { id, state: 'not_loaded', functions: 0 };
  if (opening.type === 'opened') {
    const held = opening.server.held?.length ?? 0;
    return { id, state: 'ok', functions: opening.server.functions.length, ...(held > 0 && { held }) };
  }
  const isSkipped = opening.type === 'unreachable' && opening.cause === 'skipped';
  const state = opening.type === 'unreachable' ? 'unreachable' : 'not_loaded';
  return { id, state, functions: 0, error: opening.reason, ...(isSkipped && { skipped: true }) };
}
