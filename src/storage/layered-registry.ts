import { GatewayError } from '../core/errors.ts';
import type { Origin, Registry, ToolServerRecord } from '../core/registry.ts';
import { deepFreeze } from '../shared/deep-freeze.ts';

/** How often a store that is down is reported: every chat reads it. */
const faultReportMs = 60_000;

export interface LayeredRegistryOptions {
  /** From the environment and the configuration file. They come first, and hide stored ones of the same id. */
  fixed: readonly ToolServerRecord[];
  store: Registry;
  /** Called at most once a minute while the store fails and only the fixed tool servers are listed. */
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
    ...store,
    listToolServers: async (need) => {
      const stored = need === 'all' ? await store.listToolServers(need) : await listStored();
      return [...fixedById.values(), ...stored.filter((record) => !fixedById.has(record.id))];
    },
    findToolServer: async (id) => fixedById.get(id) ?? store.findToolServer(id),
    createToolServer: async (record) => {
      const fixedOne = fixedById.get(record.id);
      if (fixedOne !== undefined)
        throw new GatewayError('conflict', `There is a tool server "${record.id}" already: it comes from ${origins[fixedOne.origin]}.`);
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
        const fixedOne = fixedById.get(record.id);
        if (fixedOne !== undefined && fixedOne.url !== record.url) throw readOnly(fixedOne);
      }
      // Stored ones that a fixed one hides are not in the list that is replaced; they come back when the fixed one is removed.
      const hidden = (await store.listToolServers('all')).filter((record) => fixedById.has(record.id));
      await store.replaceToolServers([...records.filter((record) => !fixedById.has(record.id)), ...hidden]);
    },
  };
}

function readOnly({ id, origin }: ToolServerRecord): GatewayError {
  return new GatewayError('read_only', `Tool server "${id}" comes from ${origins[origin]}; change it there and restart the gateway.`);
}

const origins: Record<Origin, string> = {
  environment: 'the environment (TOOL_SERVER_CONNECTIONS)',
  file: 'the configuration file (tool_servers)',
  bundled: 'the gateway itself (TOOLWHARF_DEMO)',
  database: 'the database',
};
