import { randomUUID } from 'node:crypto';
import cors from '@fastify/cors';
import { fastify, LogController } from 'fastify';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { parseMode } from './chat/choose-mode.ts';
import { createContinuations } from './chat/continue-run.ts';
import { defaultSelectionTemplate } from './chat/selection-prompt.ts';
import { defaultContextTemplate } from './chat/use-files.ts';
import { ConfigError } from './config.ts';
import type { Config } from './config.ts';
import { limits } from './core/limits.ts';
import type { SendOutbound } from './core/outbound.ts';
import type { Registry } from './core/registry.ts';
import { createAuthenticator, isLoopbackName } from './http/authenticate.ts';
import { createCallerRuns } from './http/caller-runs.ts';
import { installErrorHandling } from './http/error-handler.ts';
import { callerOf, installGuard } from './http/guard.ts';
import { createKeyRing } from './http/key-ring.ts';
import { derivePepper } from './http/keys.ts';
import { chatRoute } from './http/routes/chat.ts';
import { clientRoute } from './http/routes/client.ts';
import { healthRoutes } from './http/routes/health.ts';
import { invokeRoute } from './http/routes/invoke.ts';
import { keyRoutes } from './http/routes/keys.ts';
import { modelRoutes } from './http/routes/models.ts';
import { openWebUiConfigRoutes } from './http/routes/open-webui-config.ts';
import { rootRoute } from './http/routes/root.ts';
import { socketRoute } from './http/routes/socket.ts';
import { toolServerRoutes } from './http/routes/tool-servers.ts';
import { toolRoutes } from './http/routes/tools.ts';
import { createRunStarter } from './http/run-starter.ts';
import { createToolServerDesk } from './http/tool-server-desk.ts';
import { createBackgroundRuns, startSocketChat } from './http/start-socket-chat.ts';
import { createBackends } from './create-backends.ts';
import type { CatalogBackend } from './models/model-catalog.ts';
import { createModelCatalog } from './models/model-catalog.ts';
import { createOutbound } from './policy/outbound-request.ts';
import { createMemoryRegistry } from './registry/memory-registry.ts';
import { parseToolServerConnection, parseToolServerConnections } from './registry/tool-server-connection.ts';
import { createBrowserRelay } from './relay/browser-relay.ts';
import { createInProcessBus } from './relay/bus.ts';
import { createToolCatalog } from './tools/tool-catalog.ts';
import { version } from './version.ts';

/** What tests replace; everything else follows from the configuration. */
export interface AppParts {
  logger: FastifyBaseLogger;
  backends?: CatalogBackend[];
  registry?: Registry;
  send?: SendOutbound;
  /** Milliseconds since 1970. */
  now?: () => number;
}

export interface App {
  server: FastifyInstance;
  /** Whether nobody needs a key just now. */
  isOpen(): Promise<boolean>;
  /** Makes the administrator key without which nobody could come in, and gives it, this once; undefined when there is a key already. */
  createFirstKey(): Promise<string | undefined>;
  /** Lets running answers finish for as long as the configuration allows, then closes everything. */
  close(): Promise<void>;
}

/** The composition root: the only place that knows which implementation stands behind which port. */
export async function buildApp(config: Config, parts: AppParts): Promise<App> {
  requireMode(config.functionCalling);
  const now = parts.now ?? Date.now;
  const outbound = createOutbound({ egress: config.egress });
  const send = parts.send ?? outbound.send;
  const { backends, embed } = createBackends(config, send);
  const models = createModelCatalog({ backends: parts.backends ?? backends, now });
  const bus = createInProcessBus();
  const relay = createBrowserRelay({ bus, replicaId: newId(), newId, now, graceMs: limits.sessionGraceMs });
  const registry = parts.registry ?? createMemoryRegistry(config.toolServers);
  const tools = createToolCatalog({
    registry,
    send,
    callBrowser: relay.callBrowser,
    browserToolTimeoutMs: config.browserToolTimeoutMs,
    now,
  });
  const startedRuns = createRunStarter(
    {
      models,
      tools,
      continuations: createContinuations(now),
      settings: {
        taskModel: config.taskModel,
        taskModelExternal: config.taskModelExternal,
        selectionTemplate: config.selectionTemplate ?? defaultSelectionTemplate,
        contextTemplate: config.ragTemplate ?? defaultContextTemplate,
        functionCalling: config.functionCalling,
        maxToolRounds: config.maxToolRounds,
        toolTimeoutMs: config.toolTimeoutMs,
      },
      newCallId: () => `call_${newId()}`,
      now,
    },
    newId,
  );
  const runs = createCallerRuns(startedRuns);
  // Keys of a registry that forgets need no secret that lasts.
  const pepper = derivePepper(config.secret ?? newId());
  const hasFixedKey = config.adminKey !== undefined;
  const isLoopback = isLoopbackName(config.host);
  const authenticator = createAuthenticator({
    registry,
    adminKey: config.adminKey,
    isLoopback,
    pepper,
    now,
    allowedOrigins: config.corsOrigins,
  });
  const keys = createKeyRing({
    registry,
    pepper,
    hasFixedKey,
    newId,
    now,
    forget: authenticator.forget,
    cancelRunsOf: runs.cancelAllOf,
    // Sockets of other replicas look after their keys themselves, only later.
    closeSessionsOf: (callerId) =>
      relay.closeSessionsOf(callerId).catch((error: unknown) => {
        parts.logger.warn({ err: error, caller_id: callerId }, 'other replicas could not be told to close the sockets of a key');
      }),
  });

  const server = fastify({
    loggerInstance: parts.logger,
    bodyLimit: config.bodyLimitBytes,
    // Node's own guard against bodies that never end, which Fastify switches off; it does not cut answers.
    requestTimeout: 120_000,
    // Model ids hold slashes and digests; the default of 100 characters would turn a long one into a 414.
    routerOptions: { maxParamLength: 1_024 },
    genReqId: () => newId(),
    // The start and end of every request would be two lines each; the run says it in one.
    logController: new LogController({ disableRequestLogging: true }),
    forceCloseConnections: true,
  });
  server.server.headersTimeout = 30_000;
  // Bodies are JSON or nothing: a form or a text that a foreign page may send without asking is refused.
  server.removeContentTypeParser('text/plain');
  installErrorHandling(server);
  if (config.corsOrigins.length > 0)
    await server.register(cors, {
      origin: config.corsOrigins.includes('*') ? '*' : [...config.corsOrigins],
      methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      exposedHeaders: ['x-toolwharf-run-id', 'retry-after'],
    });

  installGuard(server, { authenticator });
  const isDraining = (): boolean => runs.isDraining();
  await server.register(healthRoutes, {
    isDraining,
    // Names and states alone: reasons hold addresses of the inside, and this answer needs no key.
    report: async () => ({
      backends: (await models.backends()).map(({ name, state, models: count }) => ({ name, state, models: count })),
      tool_servers: (await tools.servers()).map(({ id, state, functions }) => ({ id, state, functions })),
    }),
  });
  await server.register(rootRoute, { version });
  await server.register(clientRoute);
  await server.register(socketRoute, {
    relay,
    authenticateToken: (token) => authenticator.findByToken(token),
    openCaller: (request) => authenticator.findOpenCaller(request),
    allowedOrigins: config.corsOrigins,
    pingIntervalMs: config.wsPingIntervalMs,
    startChat: startSocketChat(runs),
    cancelRun: runs.cancel,
    // A flat `{type: "message", content}` names no model: the first one listed answers it.
    defaultModel: async () => (await models.list(AbortSignal.timeout(2 * limits.modelListTimeoutMs)))[0]?.id,
  });
  await server.register(chatRoute, {
    callerOf,
    startRun: runs.start,
    runInBackground: createBackgroundRuns({ runs, relay, log: parts.logger }),
    stallMs: config.clientStallTimeoutMs,
    now,
  });
  await server.register(modelRoutes, { models, callerOf, embed: (body, signal) => embed(models, body, signal), version });
  await server.register(toolRoutes, { tools, callerOf });
  await server.register(keyRoutes, { keys, hasFixedKey, now });
  const desk = createToolServerDesk(registry, {
    parseConnection: (value) => parseToolServerConnection(value, 'database'),
    parseConnections: (values) => parseToolServerConnections(values, 'database'),
  });
  await server.register(toolServerRoutes, { desk, inspector: tools.inspector });
  await server.register(openWebUiConfigRoutes, { desk, inspector: tools.inspector });
  await server.register(invokeRoute, { tools, callerOf, isDraining, newId, toolTimeoutMs: config.toolTimeoutMs, now });
  tools.start();

  return {
    server,
    isOpen: authenticator.isOpen,
    createFirstKey: keys.createFirst,
    async close() {
      await runs.drain(config.drainTimeoutMs);
      tools.close();
      await relay.close();
      await server.close();
      await bus.close();
      await outbound.close();
    },
  };
}

/** A default that every chat would be refused for must not start. */
function requireMode(name: string): void {
  try {
    parseMode(name);
  } catch (error) {
    throw new ConfigError(`FUNCTION_CALLING: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** 122 random bits: ids of runs, sessions and calls cannot be guessed. Node draws them in advance, which `randomBytes` does not. */
function newId(): string {
  return randomUUID().replaceAll('-', '');
}
