import { fastify, LogController } from 'fastify';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { Caller } from '../../../src/core/callers/caller.ts';
import type { Registry, ToolServerRecord } from '../../../src/core/stores/registry.ts';
import { installErrorHandling } from '../../../src/http/errors/error-handler.ts';
import { createActiveInvocations } from '../../../src/runs/active-invocations.ts';
import { createInvokeFunction } from '../../../src/runs/invoke-function.ts';
import { openWebUiConfigRoutes } from '../../../src/http/routes/gateway/open-webui-config.ts';
import { toolServerRoutes } from '../../../src/http/routes/tools/tool-servers.ts';
import { toolRoutes } from '../../../src/http/routes/tools/tools.ts';
import { createToolServerAdmin } from '../../../src/admin/tool-server-admin.ts';
import { createLogger } from '../../../src/observability/logger.ts';
import { createLayeredRegistry } from '../../../src/storage/layered-registry.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { parseToolServerConnection, parseToolServerConnections } from '../../../src/storage/tool-server-connection.ts';
import { connectedTools } from '../../_support/connected-tools.ts';
import { documentWith, scriptedSend } from '../../tools/scripted-send.ts';
import type { ScriptedSend } from '../../tools/scripted-send.ts';

/** JSON of any shape: an expectation says what it must be. */
// eslint-disable-next-line typescript/no-explicit-any -- a cast at every step of a path would hide what is expected
export type Json = any;

export interface AdminApp {
  server: FastifyInstance;
  registry: Registry;
  script: ScriptedSend;
  logLines: string[];
  ask(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    url: string,
    body?: unknown,
  ): Promise<{ status: number; body: Json; text: string }>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface AdminAppOptions {
  fixed?: ToolServerRecord[];
  stored?: ToolServerRecord[];
  script?: ScriptedSend;
  caller?: Caller;
  isDraining?: boolean;
  toolTimeoutMs?: number;
}

const administrator: Caller = { id: 'admin', role: 'admin', isOpen: false };

/** Three servers that answer, at addresses that exist nowhere else. */
export function reachableServers(): ScriptedSend {
  return scriptedSend({
    'http://maps.test/openapi.json': documentWith('route', 'place'),
    'http://clock.test/openapi.json': documentWith('now', 'zone'),
    'http://maps.test/route': { way: 'north' },
    'http://clock.test/zone': { zone: 'UTC' },
  });
}

/** The routes of the administration over a registry and a catalogue of tools as the gateway has them; the network is scripted. */
export async function adminApp(options: AdminAppOptions = {}): Promise<AdminApp> {
  const { fixed = [], stored = [], script = reachableServers(), caller = administrator } = options;
  const logLines: string[] = [];
  const registry = createLayeredRegistry({ fixed, store: memoryRegistry(stored) });
  const tools = connectedTools({ registry, send: script.send, browserToolTimeoutMs: 1_000, now: Date.now, elapsed: Date.now });
  const logger: FastifyBaseLogger = createLogger({ level: 'trace', destination: { write: (line) => void logLines.push(line) } });
  const server = fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 1_024 },
  });
  installErrorHandling(server);
  server.decorateRequest('caller');
  server.addHook('onRequest', async (request) => request.setDecorator('caller', caller));
  const { inspector } = tools;
  const admin = createToolServerAdmin({
    registry,
    inspector,
    parseConnection: parseToolServerConnection,
    parseConnections: parseToolServerConnections,
  });
  await server.register(toolServerRoutes, { admin, inspector });
  await server.register(openWebUiConfigRoutes, { admin, inspector });
  const calls = createActiveInvocations();
  if (options.isDraining === true) await calls.drain(0);
  const toolTimeoutMs = options.toolTimeoutMs ?? 5_000;
  const invoke = createInvokeFunction({
    tools: tools.catalog,
    calls,
    newId: () => 'id-1',
    toolTimeoutMs,
    makeConnectLink: async () => undefined,
    now: Date.now,
  });
  await server.register(toolRoutes, { tools: tools.catalog, invoke, publicUrl: undefined });
  return {
    server,
    registry,
    script,
    logLines,
    async ask(method, url, body) {
      const response = await server.inject({
        method,
        url,
        ...(body !== undefined && { headers: { 'content-type': 'application/json' }, payload: JSON.stringify(body) }),
      });
      return { status: response.statusCode, body: response.json(), text: response.body };
    },
    async [Symbol.asyncDispose]() {
      await tools.close();
      await server.close();
    },
  };
}
