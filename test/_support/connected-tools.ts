import { connectTools } from '../../src/app/compose/compose-tools.ts';
import type { ToolOptions, Tools } from '../../src/app/compose/compose-tools.ts';
import type { ToolServerRecord } from '../../src/core/stores/registry.ts';
import { memoryRegistry, memoryStores } from './memory-stores.ts';

/** Tools over stores in memory and clocks that stand still, unless given others. */
export function connectedTools({
  records = [],
  ...given
}: Pick<ToolOptions, 'send'> & Partial<ToolOptions> & { records?: ToolServerRecord[] }): Tools {
  const { credentials, oauthClients } = memoryStores();
  return connectTools({
    registry: memoryRegistry(records),
    credentials,
    oauthClients,
    callBrowser: async () => ({ type: 'result', value: null }),
    browserToolTimeoutMs: 60_000,
    now: () => 0,
    elapsed: () => 0,
    ...given,
  });
}
