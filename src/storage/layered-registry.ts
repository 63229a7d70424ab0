import { GatewayError } from '../core/errors.ts';
import type { Origin, Registry, ToolServerRecord } from '../core/stores/registry.ts';
import { keepLast } from '../shared/keep-last.ts';
import { deepFreeze } from '../shared/json/deep-freeze.ts';
import { whenThere, type MaybePromise } from '../shared/async/maybe-promise.ts';
import { copyJson } from '../shared/json/json.ts';

/** Minimum time between two reports that the store is down, which every chat would otherwise repeat. */
const faultReportMs = 60_000;

const nothing: readonly ToolServerRecord[] = [];

interface LayeredRegistryOptions {
  /** From the environment and the configuration file. They are listed first and override stored ones with the same id. */
  fixed: readonly ToolServerRecord[];
  store: Registry;
  /** Called at most once a minute while the store fails and only the fixed tool servers are listed. */
  onFault?: (error: unknown) => void;
  /** Milliseconds since 1970. */
  now?: () => number;
}

/**
 * A registry of fixed tool servers on top of stored ones; keys and facts come from the store only.
 * When the store fails, only the fixed tool servers are listed, unless the caller needs all; every other operation rejects with the store's error.
 * @throws GatewayError `read_only` for a change to a fixed tool server; the message says where to change it.
 */
export function createLayeredRegistry({ fixed, store, onFault, now = Date.now }: LayeredRegistryOptions): Registry {
  const fixedById = new Map(fixed.map((record) => [record.id, deepFreeze(copyJson(record))]));
  let reportedAt: number | undefined;

  function report(error: unknown): void {
    if (reportedAt !== undefined && Math.abs(now() - reportedAt) < faultReportMs) return;
    reportedAt = now();
    onFault?.(error);
  }

  const addFixed = keepLast((stored: readonly ToolServerRecord[]): readonly ToolServerRecord[] =>
    Object.freeze([...fixedById.values(), ...stored.filter((record) => !fixedById.has(record.id))]),
  );

  function listStored(): MaybePromise<readonly ToolServerRecord[]> {
    const listing = store.listToolServers();
    return listing instanceof Promise ? listing.then(noteReadable, nothingInstead) : noteReadable(listing);
  }

  function noteReadable(stored: readonly ToolServerRecord[]): readonly ToolServerRecord[] {
    reportedAt = undefined;
    return stored;
  }

  /** @throws the error, unless the store cannot be read */
  function nothingInstead(error: unknown): readonly ToolServerRecord[] {
    if (!(error instanceof GatewayError) || error.code !== 'storage_unavailable') throw error;
    report(error);
    return nothing;
  }

  function requireStored(id: string): void {
    const record = fixedById.get(id);
    if (record !== undefined) throw readOnly(record);
  }

  return {
    ...store,
    listToolServers: (need) => whenThere(need === 'all' ? store.listToolServers(need) : listStored(), addFixed),
    findToolServer: async (id) => fixedById.get(id) ?? store.findToolServer(id),
    createToolServer: async (record) => {
      const conflicting = fixedById.get(record.id);
      if (conflicting !== undefined)
        throw new GatewayError(
          'conflict',
          `There is already a tool server "${record.id}": it comes from ${origins[conflicting.origin]}. Choose another id.`,
        );
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
        const conflicting = fixedById.get(record.id);
        if (conflicting !== undefined && conflicting.url !== record.url) throw readOnly(conflicting);
      }
      // Keep stored tool servers that a fixed one overrides: they are not in the list being replaced, and reappear once the fixed one is removed.
      const overridden = (await store.listToolServers('all')).filter((record) => fixedById.has(record.id));
      await store.replaceToolServers([...records.filter((record) => !fixedById.has(record.id)), ...overridden]);
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
