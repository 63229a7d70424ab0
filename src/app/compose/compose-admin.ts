import { createBackendAdmin, type BackendAdmin } from '../../admin/backend-admin.ts';
import { createToolServerAdmin, type ToolServerAdmin } from '../../admin/tool-server-admin.ts';
import { createPresetValidator } from '../../admin/validate-preset.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import { verifyBackend } from '../../models/catalog/verify-backend.ts';
import { parseBackend } from '../../storage/backend-schema.ts';
import { parseToolServerConnection, parseToolServerConnections } from '../../storage/tool-server-connection.ts';
import type { ModelCatalog } from '../../models/catalog/model-catalog.ts';
import type { AppContext } from '../app-context.ts';
import type { Storage } from './compose-storage.ts';
import type { Tools } from './compose-tools.ts';
import { createModelLister } from './opened-backends.ts';

export interface Admin {
  toolServers: ToolServerAdmin;
  backends: BackendAdmin;
  /** Names in a preset that lead nowhere. */
  findUnknown: ReturnType<typeof createPresetValidator>;
}

interface AdminParts {
  storage: Storage;
  tools: Tools;
  models: ModelCatalog;
  send: SendOutbound;
}

/** The services that administrators change: tool servers, backends and presets. */
export function composeAdmin({ config }: AppContext, { storage, tools, models, send }: AdminParts): Admin {
  const { registry, presets, backends } = storage;
  const { catalog, inspector } = tools;
  return {
    toolServers: createToolServerAdmin({
      registry,
      inspector,
      parseConnection: parseToolServerConnection,
      parseConnections: parseToolServerConnections,
    }),
    backends: createBackendAdmin({
      entries: backends,
      parse: parseBackend,
      states: () => models.backends(),
      factsOf: (name) => models.factsOf(name),
      verify: (backend, signal) => verifyBackend(backend, createModelLister(config, { send, signal })(backend)),
    }),
    findUnknown: createPresetValidator({ presets, models, tools: catalog }),
  };
}
