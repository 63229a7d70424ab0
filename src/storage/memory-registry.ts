import { GatewayError } from '../core/errors.ts';
import type { KeyRecord, Registry, ToolServerRecord } from '../core/registry.ts';
import { deepFreeze } from './deep-freeze.ts';

/**
 * A registry that forgets: for tests, and for a gateway that stores nothing. Records are frozen copies of what was given.
 * @throws Error when two of the first records have one id.
 */
export function createMemoryRegistry(records: readonly ToolServerRecord[] = []): Registry {
  const toolServers = createTable<ToolServerRecord>('tool server', (record) => [record.id]);
  const keys = createTable<KeyRecord>('key', (record) => [record.id, record.hash]);
  const facts = new Map<string, string>();
  for (const record of records) toolServers.create(record);

  return {
    listToolServers: async () => toolServers.list(),
    findToolServer: async (id) => toolServers.find(id),
    createToolServer: async (record) => toolServers.create(record),
    changeToolServer: async (record) => toolServers.change(record),
    deleteToolServer: async (id) => toolServers.delete(id),
    replaceToolServers: async (next) => toolServers.replace(next),
    listKeys: async () => keys.list(),
    findKeyByHash: async (hash) => keys.list().find((record) => record.hash === hash),
    createKey: async (record) => keys.create(record),
    changeKey: async (record) => keys.change(record),
    deleteKey: async (id) => keys.delete(id),
    readFact: async (name) => facts.get(name),
    writeFact: async (name, value) => void facts.set(name, value),
    close: async () => undefined,
  };
}

/** Rows by id, in the order of their creation. `uniquesOf` gives what no two rows may share, the id first. */
function createTable<Row extends { id: string }>(kind: string, uniquesOf: (row: Row) => string[]) {
  let rows = new Map<string, Row>();

  function requireFree(row: Row, others: Iterable<Row>): void {
    const wanted = uniquesOf(row);
    for (const other of others) {
      if (uniquesOf(other).some((value) => wanted.includes(value)))
        throw new GatewayError('conflict', `There is a ${kind} "${other.id}" already.`);
    }
  }
  function requireThere(id: string): void {
    if (!rows.has(id)) throw new GatewayError('not_found', `There is no ${kind} "${id}".`);
  }

  return {
    list: (): Row[] => [...rows.values()],
    find: (id: string): Row | undefined => rows.get(id),
    create(row: Row): void {
      requireFree(row, rows.values());
      rows.set(row.id, deepFreeze(structuredClone(row)));
    },
    change(row: Row): void {
      requireThere(row.id);
      requireFree(
        row,
        [...rows.values()].filter((other) => other.id !== row.id),
      );
      rows.set(row.id, deepFreeze(structuredClone(row)));
    },
    delete(id: string): void {
      requireThere(id);
      rows.delete(id);
    },
    replace(next: readonly Row[]): void {
      const fresh = new Map<string, Row>();
      for (const row of next) {
        requireFree(row, fresh.values());
        fresh.set(row.id, deepFreeze(structuredClone(row)));
      }
      rows = fresh;
    },
  };
}
