import { randomUUID } from 'node:crypto';
import cors from '@fastify/cors';
import { fastify, LogController } from 'fastify';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { Config } from './config/config.ts';
import type { ChatMemories } from '../core/chat-memory.ts';
import type { ChatStore } from '../core/chat-store.ts';
import type { WaitingRunStore } from '../core/suspended-run.ts';
import { limits } from '../core/limits.ts';
import type { SendOutbound } from '../core/outbound.ts';
import type { Registry } from '../core/registry.ts';
import type { RunStore } from '../core/run-log.ts';
import { localUrl } from '../cli/healthcheck.ts';
import { createAuthenticator, isLoopbackName } from '../http/auth/authenticate.ts';
import { createActiveInvocations } from '../runs/active-invocations.ts';
import { installErrorHandling } from '../http/error-handler.ts';
import { installGuard } from '../http/auth/guard.ts';
import { installJsonBodies } from '../http/body/json-bodies.ts';
import { storeCompletions } from '../http/dialects/chat-completions/store-completions.ts';
import { createApiKeys } from '../admin/api-keys.ts';
import { createKeyText, derivePepper } from '../admin/derive-key-hash.ts';
import { createDefaultModel } from '../http/dialects/socket/default-model.ts';
import { installCallerLimits } from '../http/auth/limit-callers.ts';
import { refuseMalformedRequest, refuseMalformedUrl } from '../http/body/malformed-requests.ts';
import { approvalRoutes } from '../http/routes/approvals.ts';
import { chatRoute } from '../http/routes/chat.ts';
import { gatewayRoutes } from '../http/routes/gateway.ts';
import type { ShownSetting } from '../http/routes/gateway.ts';
import { createInvokeFunction } from '../runs/invoke-function.ts';
import { keyRoutes } from '../http/routes/keys.ts';
import { presetRoutes } from '../http/routes/presets.ts';
import { mcpRoute } from '../http/routes/mcp.ts';
import { modelRoutes } from '../http/routes/models.ts';
import { openWebUiConfigRoutes } from '../http/routes/open-webui-config.ts';
import { runRoutes } from '../http/routes/runs.ts';
import { storedChatRoutes } from '../http/routes/stored-chats.ts';
import { socketRoute } from '../http/routes/socket.ts';
import { toolServerRoutes } from '../http/routes/tool-servers.ts';
import { toolRoutes } from '../http/routes/tools.ts';
import { createExpiryWatch } from '../http/auth/watch-expiry.ts';
import { createActiveRuns } from '../runs/active-runs.ts';
import { createSessionEvents } from '../http/dialects/socket/session-events.ts';
import { createToolServerAdmin } from '../admin/tool-server-admin.ts';
import { createBackgroundRuns, startSocketChat } from '../http/dialects/socket/start-socket-chat.ts';
import type { CatalogBackend } from '../models/model-catalog.ts';
import { createApprovals } from './create-approvals.ts';
import { composeChat } from './compose-chat.ts';
import { openExtensions } from './open-extensions.ts';
import { createOutbound } from '../policy/outbound-request.ts';
import { toPresetWire } from '../storage/preset-schema.ts';
import { createSessionTokens, withSessionTokens } from '../policy/session-tokens.ts';
import { createRateLimiter } from '../policy/rate-limits.ts';
import { createLayeredRegistry } from '../storage/layered-registry.ts';
import { openStores } from '../storage/open-stores.ts';
import { parseToolServerConnection, parseToolServerConnections } from '../storage/tool-server-connection.ts';
import { createBrowserRelay } from '../relay/browser-relay.ts';
import { createInProcessBus } from '../relay/bus.ts';
import { requireMode } from './require-mode.ts';
import { createPresetValidator } from './validate-preset.ts';
import { logBackends, warnOfUnlistedTaskModels } from './startup-warnings.ts';
import type { ImportModule } from '../tools/functions/load/load-module.ts';
import { version } from './version.ts';

/** What tests replace; everything else follows from the configuration. */
export interface AppParts {
  logger: FastifyBaseLogger;
  backends?: CatalogBackend[];
  registry?: Registry;
  runs?: RunStore;
  waitingRuns?: WaitingRunStore;
  chatMemory?: Partial<ChatMemories>;
  chats?: ChatStore;
  send?: SendOutbound;
  /** What `GET /api/settings` shows. */
  settings?: readonly ShownSetting[];
  /** How modules of functions and hooks are imported. */
  importModule?: ImportModule;
  /** Milliseconds since 1970. */
  now?: () => number;
  /** The last key was deleted while the gateway runs, and nobody needs one any more. */
  onOpened?: () => void;
}

export interface App {
  server: FastifyInstance;
  /** Whether nobody needs a key just now. */
  isOpen(): Promise<boolean>;
  /**
   * The administrator key of this start, good until the process ends. Where the gateway may become open, changes need it. Undefined where a
   * key of the operator is needed in any case. To be shown on the terminal, and only while the gateway is open.
   */
  startKey: string | undefined;
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
  const sessionTokens = createSessionTokens({
    secret: config.secret ?? newId(),
    issuer: () => config.publicUrl ?? localUrl({ host: config.host, port: boundPortOf(server) ?? config.port }),
    now,
  });
  const send = withSessionTokens(parts.send ?? outbound.send, sessionTokens);
  const bus = createInProcessBus();
  const relay = createBrowserRelay({ bus, replicaId: newId(), newId, now, graceMs: limits.sessionGraceMs });
  // For what is not given: gone with the process.
  const inProcess = openStores({ file: ':memory:', secret: newId(), now });
  const registry = parts.registry ?? createLayeredRegistry({ fixed: config.toolServers, store: inProcess.registry });
  const stores = { ...inProcess, ...parts, chatMemory: { ...inProcess.chatMemory, ...parts.chatMemory } };
  const { runLog, ...approvals } = createApprovals(config, { ...stores, askBrowser: relay.askBrowser, now, newId });
  const extensions = await openExtensions(config, { ...stores, newId });
  const { models, tools, presets, chats, services, embed, gatewayId } = composeChat(config, {
    ...stores,
    spareMemory: inProcess.chatMemory.continuation,
    extensions,
    registry,
    send,
    callBrowser: relay.callBrowser,
    runtime: approvals.runtime,
    now,
    newId,
  });
  const starter = createActiveRuns({
    services,
    newRunId: newId,
    log: runLog,
    waits: approvals.waits,
    sessionEvents: createSessionEvents(relay),
  });
  const runs = storeCompletions(starter, { store: chats, isStoring: config.storeChats, now, logger: parts.logger });
  const approvalDesk = approvals.deskFor(runs);
  const calls = createActiveInvocations();
  const limiter = createRateLimiter({ now });
  // Keys of a registry that forgets need no secret that lasts.
  const pepper = derivePepper(config.secret ?? newId());
  const hasFixedKey = config.adminKey !== undefined;
  const isLoopback = isLoopbackName(config.host);
  const closeSessionsOf = (callerId: string): Promise<void> =>
    // Sockets of other replicas look after their keys themselves, only later.
    relay.closeSessionsOf(callerId).catch((error: unknown) => {
      parts.logger.warn({ err: error, caller_id: callerId }, 'other replicas could not be told to close the sockets of a key');
    });
  const expiry = createExpiryWatch({
    now,
    findKey: async (id) => (await registry.listKeys()).find((record) => record.id === id),
    onExpired(callerId) {
      runs.cancelEvery(callerId, 'The run was cancelled, because the key it was started with has expired.');
      calls.cancelAllOf(callerId, 'expired');
      void closeSessionsOf(callerId);
    },
  });
  const startKey = isLoopback && !hasFixedKey ? createKeyText() : undefined;
  const authenticator = createAuthenticator({
    registry,
    adminKey: config.adminKey,
    startKey,
    isLoopback,
    pepper,
    now,
    allowedOrigins: config.corsOrigins,
    onExpiring: expiry.watch,
  });
  const keys = createApiKeys({
    registry,
    pepper,
    hasFixedKey,
    newId,
    now,
    forget: authenticator.forget,
    onLastDeleted() {
      if (startKey !== undefined) parts.onOpened?.();
    },
    cancelRunsOf(callerId, cause) {
      if (cause === 'deleted') runs.cancelAllOf(callerId);
      else runs.cancelEvery(callerId, 'The run was cancelled, because the key it was started with was changed.');
      calls.cancelAllOf(callerId, cause);
    },
    closeSessionsOf,
  });

  const server = fastify({
    loggerInstance: parts.logger,
    bodyLimit: config.bodyLimitBytes,
    // Behind the pace that bodies have to keep: the largest one at six kilobytes a second. It does not cut answers.
    requestTimeout: 30 * 60_000,
    // Model ids hold slashes and digests; the default of 100 characters would turn a long one into a 414.
    // Base URLs with a slash too many are the most common mistake; roles and limits go by the route that was found, whatever its spelling.
    routerOptions: { maxParamLength: 1_024, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true },
    genReqId: () => newId(),
    childLoggerFactory: (...[log, bindings, options, { method, url = '' }]) =>
      log.child({ ...bindings, method, path: url.split('?', 1)[0]?.slice(0, 200) }, options),
    // The start and end of every request would be two lines each; the run says it in one.
    logController: new LogController({ disableRequestLogging: true }),
    forceCloseConnections: true,
    frameworkErrors: refuseMalformedUrl,
    clientErrorHandler: refuseMalformedRequest,
  });
  server.server.headersTimeout = 30_000;
  installJsonBodies(server, { ownerOf: (request) => request.caller.id });
  installErrorHandling(server);
  if (config.corsOrigins.length > 0)
    await server.register(cors, {
      origin: config.corsOrigins.includes('*') ? '*' : [...config.corsOrigins],
      methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      exposedHeaders: ['x-toolwharf-run-id', 'x-request-id', 'retry-after'],
    });

  installGuard(server, { authenticator, now });
  installCallerLimits(server, limiter);
  await server.register(gatewayRoutes, {
    version,
    settings: parts.settings ?? [],
    isDraining: () => runs.isDraining(),
    registry,
    models,
    tools,
    keySet: () => sessionTokens.keySet(),
  });
  await server.register(socketRoute, {
    relay,
    authenticateToken: (token) => authenticator.findByToken(token),
    openCaller: (request) => authenticator.findOpenCaller(request),
    allowedOrigins: config.corsOrigins,
    pingIntervalMs: config.wsPingIntervalMs,
    startChat: startSocketChat(runs),
    cancelRun: runs.cancel,
    limiter,
    defaultModel: createDefaultModel(models),
  });
  await server.register(chatRoute, {
    startRun: runs.start,
    runInBackground: createBackgroundRuns({ runs, relay, log: parts.logger }),
    stallMs: config.clientStallTimeoutMs,
    now,
  });
  await server.register(modelRoutes, { models, embed: (body, signal) => embed(models, body, signal) });
  await server.register(storedChatRoutes, { store: chats, isStoring: config.storeChats });
  await server.register(runRoutes, { log: runLog, runs, cancelWaiting: approvalDesk.cancel });
  await server.register(approvalRoutes, { decisions: approvalDesk, runs, stallMs: config.clientStallTimeoutMs, now });
  await server.register(keyRoutes, { keys, hasFixedKey, now });
  await server.register(presetRoutes, { presets, toWire: toPresetWire, findUnknown: createPresetValidator({ presets, models, tools }) });
  const { inspector } = tools;
  const admin = createToolServerAdmin({
    registry,
    inspector,
    parseConnection: parseToolServerConnection,
    parseConnections: parseToolServerConnections,
  });
  await server.register(toolServerRoutes, { admin, inspector });
  await server.register(openWebUiConfigRoutes, { admin, inspector });
  const { runtime } = services;
  const invoke = createInvokeFunction({ tools, calls, newId, toolTimeoutMs: config.toolTimeoutMs, runtime, now });
  await server.register(toolRoutes, { tools, invoke });
  await server.register(mcpRoute, { tools, invoke, version, gatewayId, allowedOrigins: config.corsOrigins });
  // Not earlier: what is slow or broken must not hold up the start.
  server.addHook('onListen', async () => {
    tools.start();
    extensions.start();
    void logBackends(config, models, parts.logger);
    void warnOfUnlistedTaskModels(config, models, parts.logger);
  });

  return {
    server,
    isOpen: authenticator.isOpen,
    startKey,
    createFirstKey: keys.createFirst,
    async close() {
      await Promise.all([runs.drain(config.drainTimeoutMs), calls.drain(config.drainTimeoutMs)]);
      expiry.close();
      await tools.close();
      await extensions.close();
      await relay.close();
      await server.close();
      await runLog.close();
      await bus.close();
      await outbound.close();
      await inProcess.connection.close();
    },
  };
}

/** The port that was asked for may be 0. */
function boundPortOf(server: FastifyInstance): number | undefined {
  const address = server.server.address();
  return typeof address === 'object' ? address?.port : undefined;
}

/** 122 random bits: ids of runs, sessions and calls cannot be guessed. Node draws them in advance, which `randomBytes` does not. */
function newId(): string {
  return randomUUID().replaceAll('-', '');
}
