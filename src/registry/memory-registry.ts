import type { Registry, ToolServerRecord } from '../core/registry.ts';
import { deepFreeze } from './deep-freeze.ts';

/**
 * A registry of what the environment and the file name: fixed for the life of the process. Gives the same frozen records every time, so that
 * a caller may keep what it derived from one as long as it is given the same one.
 * @throws Error when two records have one id.
 */
export function createMemoryRegistry(records: readonly ToolServerRecord[]): Registry {
  const kept: readonly ToolServerRecord[] = deepFreeze(structuredClone([...records]));
  const byId = new Map(kept.map((record) => [record.id, record]));
  if (byId.size < kept.length) throw new Error('Two tool servers have the same id.');
  return {
    listToolServers: () => Promise.resolve([...kept]),
    findToolServer: (id) => Promise.resolve(byId.get(id)),
  };
}
