import { createToolServerAdmin, type ToolServerAdmin } from '../../admin/tool-server-admin.ts';
import { createPresetValidator } from '../../admin/validate-preset.ts';
import { parseToolServerConnection, parseToolServerConnections } from '../../storage/tool-server-connection.ts';
import type { ModelCatalog } from '../../models/catalog/model-catalog.ts';
import type { Storage } from './compose-storage.ts';
import type { Tools } from './compose-tools.ts';

export interface Admin {
  toolServers: ToolServerAdmin;
  /** Names in a preset that lead nowhere. */
  findUnknown: ReturnType<typeof createPresetValidator>;
}

/** The services that administrators change: tool servers and presets. */
export function composeAdmin({ registry, presets }: Storage, { catalog, inspector }: Tools, models: ModelCatalog): Admin {
  return {
    toolServers: createToolServerAdmin({
      registry,
      inspector,
      parseConnection: parseToolServerConnection,
      parseConnections: parseToolServerConnections,
    }),
    findUnknown: createPresetValidator({ presets, models, tools: catalog }),
  };
}
