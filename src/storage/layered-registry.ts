import { GatewayError } from '../core/errors.ts';
import type { Origin, Registry, ToolServerRecord } from '../core/registry.ts';
import { deepFreeze } from '../shared/deep-freeze.ts';

/** A store that is down is reported this often: every chat asks it. */
const faultReportMs = 60_000;

export interface LayeredRegistryOptions {
  /** From the environment and the configuration file. They come first, and shadow stored ones of the same id. */
  fixed: readonly ToolServerRecord[];
  store: Registry;
  /** Told at most once a minute that the store failed and only the fixed tool servers are listed. */
  onFault?: (error: unknown) => void;
  /** Milliseconds since 1970. */
  now?: () => number;
}

/**
 * Fixed tool servers over stored ones. Keys and facts are the store's alone.
 * When the store fails, the fixed tool servers are listed without it, unless all are needed; everything else passes its error on.
 * @throws GatewayError `read_only` for a change to a fixed one, saying where it is changed.
 */
export function createLayeredRegistry({ fixed, store, onFault, now = Date.now }: LayeredRegistryOptions): Registry {
  const fixedById = new Map(fixed.map((record) => [record.id, deepFreeze(structuredClone(record))]));
  let reportedAt: number | undefined;

  function report(error: unknown): void {
    if (reportedAt !== undefined && Math.abs(now() - reportedAt) < faultReportMs) return;
    reportedAt = now();
    onFault?.(error);
  }

  async function listStored(): Promise<ToolServerRecord[]> {
    try {
      const stored = await store.listToolServers();
      reportedAt = undefined;
      return stored;
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'storage_unavailable') throw error;
      report(error);
      return [];
    }
  }

  function requireStored(id: string): void {
    const record = fixedById.get(id);
    if (record !== undefined) throw readOnly(record);
  }

  return {
    ...keysAndFactsOf(store),
    listToolServers: async (need) => {
      const stored = need === 'all' ? await store.listToolServers(need) : await listStored();
      return [...fixedById.values(), ...stored.filter((record) => !fixedById.has(record.id))];
    },
    findToolServer: async (id) => fixedById.get(id) ?? store.findToolServer(id),
    createToolServer: async (record) => {
      const holder = fixedById.get(record.id);
      if (holder !== undefined)
        throw new GatewayError('conflict', `There is a tool server "${record.id}" already: it comes from ${placeOf(holder.origin)}.`);
      await store.createToolServer(record);
    },
    changeToolServer: async (record) => {
      requireStored(record.id);
      await store.changeToolServer(record);
    },
    deleteToolServer: async (id) => {
      requireStored(id);
      await store.deleteToolServer(id);
    },
    replaceToolServers: async (records) => {
      for (const record of records) {
        const holder = fixedById.get(record.id);
        if (holder !== undefined && holder.url !== record.url) throw readOnly(holder);
      }
      // Stored ones behind a fixed one are not in the list that is replaced; they come back when the fixed one goes.
      const shadowed = (await store.listToolServers('all')).filter((record) => fixedById.has(record.id));
      await store.replaceToolServers([...records.filter((record) => !fixedById.has(record.id)), ...shadowed]);
    },
  };
}

/** Written out, so that a store whose methods need their object keeps it. */
function keysAndFactsOf(
  store: Registry,
): Omit<
  Registry,
  'listToolServers' | 'findToolServer' | 'createToolServer' | 'changeToolServer' | 'deleteToolServer' | 'replaceToolServers'
> {
  return {
    listKeys: () => store.listKeys(),
    findKeyByHash: (hash) => store.findKeyByHash(hash),
    createKey: (record) => store.createKey(record),
    changeKey: (record) => store.changeKey(record),
    deleteKey: (id) => store.deleteKey(id),
    readFact: (name) => store.readFact(name),
    writeFact: (name, value) => store.writeFact(name, value),
    close: () => store.close(),
  };
}

function readOnly({ id, origin }: ToolServerRecord): GatewayError {
  return new GatewayError('read_only', `Tool server "${id}" comes from ${placeOf(origin)}; change it there and restart the gateway.`);
}

function placeOf(origin: Origin): string {
  switch (origin) {
    case 'environment':
      return 'the environment (TOOL_SERVER_CONNECTIONS)';
    case 'file':
      return 'the configuration file (tool_servers)';
    case 'bundled':
      return 'the gateway itself (TOOLWHARF_DEMO)';
    case 'database':
      return 'the database';
    default:
      return origin satisfies never;
  }
}
