import { join } from 'node:path';
import type { Config } from '../../../src/app/config/config.ts';
import { importNatively, toolsFolder } from '../../_support/tools-folder.ts';
import type { ToolsFolder } from '../../_support/tools-folder.ts';
import { gatewayOf } from '../gateway.ts';
import type { Gateway, GatewayOptions } from '../gateway.ts';

export interface FunctionGateway extends Gateway {
  folder: ToolsFolder;
  /** Calls a function without a model. */
  invoke(id: string, args?: object): Promise<{ status: number; body: Record<string, unknown> }>;
}

/** The gateway with a folder of functions, and with hooks from the same folder by file name. */
export async function functionGateway(
  files: Record<string, string>,
  { hooks = [], toolsets = [], ...options }: GatewayOptions & { hooks?: string[]; toolsets?: Config['modules']['toolsets'] } = {},
): Promise<FunctionGateway> {
  const folder = toolsFolder(files);
  const modules: Config['modules'] = {
    toolsDir: folder.path,
    toolsets,
    hooks: hooks.map((name) => ({ path: join(folder.path, name), name, timeoutMs: 1_000, onFailure: undefined })),
  };
  const gateway = await gatewayOf({ servers: [], ...options, config: { ...options.config, modules }, importModule: importNatively }).catch(
    (error: unknown) => {
      folder[Symbol.dispose]();
      throw error;
    },
  );
  return {
    ...gateway,
    folder,
    async invoke(id, args = {}) {
      const headers = { host: '127.0.0.1:8080' };
      const answer = await gateway.app.server.inject({
        method: 'POST',
        url: `/api/tools/${id}/invoke`,
        headers,
        payload: { arguments: args },
      });
      return { status: answer.statusCode, body: answer.json() };
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

/** What modules of a test say to it: they are loaded by another loader, so that only globals are shared. */
export function listen(): { heard: unknown[]; [Symbol.dispose](): void } {
  const heard: unknown[] = [];
  Object.assign(globalThis, { tell: (value: unknown) => void heard.push(value) });
  return { heard, [Symbol.dispose]: () => void Reflect.deleteProperty(globalThis, 'tell') };
}
