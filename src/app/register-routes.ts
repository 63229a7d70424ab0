import type { FastifyPluginAsync } from 'fastify';
import { createToolServerAdmin } from '../admin/tool-server-admin.ts';
import { createPresetValidator } from '../admin/validate-preset.ts';
import { limits } from '../core/limits.ts';
import type { Section } from '../core/finding.ts';
import type { Logins } from '../core/callers/login.ts';
import type { RunLog } from '../core/runs/run-log.ts';
import type { SignIns } from '../core/callers/sign-in.ts';
import type { RateLimiter } from '../core/callers/rate-limit.ts';
import { responses } from '../http/dialects/responses/responses.ts';
import { createResponseStorage } from '../http/dialects/responses/stored/response-storage.ts';
import { createDefaultModel } from '../http/dialects/socket/default-model.ts';
import { createKeptConversations } from '../http/dialects/socket/kept-conversations.ts';
import { createSessionAnswers, startSocketChat } from '../http/dialects/socket/start-socket-chat.ts';
import { approvalPageRoutes } from '../http/routes/runs/approval-page.ts';
import { approvalRoutes } from '../http/routes/runs/approvals.ts';
import { chatRoutes } from '../http/routes/chats/chat.ts';
import { clientMetadata } from '../tools/credentials/oauth/client-addresses.ts';
import { oauthCallbackRoutes } from '../http/routes/access/oauth-callback.ts';
import { connectPageRoutes } from '../http/routes/access/connect-page.ts';
import { credentialRoutes, othersCredentialRoutes } from '../http/routes/access/credentials.ts';
import { descriptionRoutes } from '../http/routes/gateway/description.ts';
import { doctorRoute } from '../http/routes/gateway/doctor.ts';
import { gatewayRoutes } from '../http/routes/gateway/gateway.ts';
import type { ShownSetting } from '../http/routes/gateway/gateway.ts';
import { loginRoutes } from '../http/routes/access/login.ts';
import { keyRoutes } from '../http/routes/access/keys.ts';
import { mcpRoute } from '../http/routes/tools/mcp.ts';
import { metricsRoute } from '../http/routes/gateway/metrics.ts';
import { consoleRoutes } from '../http/routes/gateway/console.ts';
import { countTokensRoute } from '../http/routes/chats/count-tokens.ts';
import { modelRoutes } from '../http/routes/models/models.ts';
import { openApiToolRoutes } from '../http/routes/tools/openapi-tools.ts';
import { ollamaRoutes } from '../http/routes/models/ollama.ts';
import { openWebUiConfigRoutes } from '../http/routes/gateway/open-webui-config.ts';
import { passedRoutes } from '../http/routes/models/passed.ts';
import { presetRoutes } from '../http/routes/models/presets.ts';
import { resumeRoute } from '../http/routes/runs/resume.ts';
import { runRoutes } from '../http/routes/runs/runs.ts';
import { socketRoute } from '../http/routes/chats/socket.ts';
import { storedChatRoutes } from '../http/routes/chats/stored-chats.ts';
import { storedResponseRoutes } from '../http/routes/chats/stored-responses.ts';
import { usageRoutes } from '../http/routes/gateway/usage.ts';
import { toolServerRoutes } from '../http/routes/tools/tool-servers.ts';
import { toolRoutes } from '../http/routes/tools/tools.ts';
import type { PrometheusMetrics } from '../observability/prometheus-metrics.ts';
import type { UsageCounter } from '../observability/usage-counter.ts';
import type { BrowserRelay } from '../relay/browser-relay.ts';
import { connectionSchema } from '../storage/connection-schema.ts';
import { presetSchema, toPresetWire } from '../storage/preset-schema.ts';
import { parseToolServerConnection, parseToolServerConnections } from '../storage/tool-server-connection.ts';
import type { ToolCatalog } from '../tools/catalog/tool-catalog.ts';
import type { AppContext } from './app-context.ts';
import type { Access } from './compose/compose-access.ts';
import type { Models } from './compose/compose-models.ts';
import type { Runs } from './compose/compose-runs.ts';
import type { Storage } from './compose/compose-storage.ts';
import { createConsoleFolder } from './console-folder.ts';
import { version } from './version.ts';

interface RouteParts extends Omit<Models, 'lessons'>, Runs, Access {
  context: AppContext;
  storage: Storage;
  tools: ToolCatalog;
  signIns: SignIns;
  logins: Logins | undefined;
  relay: BrowserRelay;
  limiter: RateLimiter;
  metrics: PrometheusMetrics;
  runLog: RunLog;
  keySet: () => Promise<object>;
  settings: readonly ShownSetting[];
  examine: () => Promise<Section[]>;
  gatewayId: string;
  usage: UsageCounter;
  deletePerson: (keyId: string, id: string) => Promise<boolean>;
}

/** Every route of the gateway, with the services that it needs. */
export const allRoutes: FastifyPluginAsync<RouteParts> = async (app, parts) => {
  const {
    context,
    storage,
    models,
    passOn,
    tools,
    runs,
    invoke,
    decisions,
    linked,
    relay,
    limiter,
    authenticator,
    keys,
    gatewayId,
    signIns,
    logins,
  } = parts;
  const { config, now } = context;
  const { registry, presets, chats } = storage;
  const { corsOrigins: allowedOrigins, clientStallTimeoutMs: stallMs, storeChats: isStoring } = config;
  const { inspector } = tools;

  await gatewayRoutes(app, { ...parts, version, isDraining: () => runs.isDraining(), registry });
  await consoleRoutes(app, { version, findConsole: createConsoleFolder(context.logger), hasSignIn: logins !== undefined });
  await loginRoutes(app, { logins, publicUrl: config.publicUrl, now });
  await descriptionRoutes(app, { version, schemas: { connection: connectionSchema, preset: presetSchema } });
  await doctorRoute(app, { examine: parts.examine });
  await metricsRoute(app, { metrics: parts.metrics });
  const conversations = createKeptConversations({
    store: storage.noteStores.conversation,
    fallback: storage.fallbackNotes,
    now,
    onFault: (error) => app.log.error({ err: error }, 'conversations over sockets cannot be stored at the moment; a restart loses them'),
  });
  await app.register(socketRoute, {
    relay,
    authenticateToken: authenticator.findByToken,
    openCaller: authenticator.findOpenCaller,
    allowedOrigins,
    publicUrl: config.publicUrl,
    pingIntervalMs: config.wsPingIntervalMs,
    now,
    startChat: startSocketChat({ runs, conversations }),
    cancelRun: runs.cancel,
    cancelSession: runs.cancelSession,
    interruptChat: parts.interruptChat,
    limiter,
    defaultModel: createDefaultModel(models),
  });
  const answerToSession = createSessionAnswers({ runs, relay, log: app.log });
  await chatRoutes(app, {
    publicUrl: config.publicUrl,
    startRun: runs.start,
    follow: parts.follow,
    approvalTimeoutMs: config.approvalTimeoutMs,
    decidedRuns: parts.decidedRuns,
    storages: { [responses.name]: createResponseStorage(parts.storedResponses) },
    interruptChat: parts.interruptChat,
    limiter,
    answerToSession,
    stallMs,
    now,
  });
  await modelRoutes(app, { models });
  const { countPassed } = parts.usage;
  await passedRoutes(app, { passOn, countPassed, formBytes: Math.max(config.bodyLimitBytes, limits.formBytes), stallMs });
  await countTokensRoute(app, { models });
  await ollamaRoutes(app, { models, version, countPassed });
  await storedChatRoutes(app, { store: chats, isStoring });
  await storedResponseRoutes(app, { stored: parts.storedResponses, stallMs });
  await runRoutes(app, { log: parts.runLog, runs, cancelWaiting: parts.suspended.cancel });
  await approvalRoutes(app, { decisions, runs, decidedRuns: parts.decidedRuns, stallMs, now });
  await resumeRoute(app, { connected: parts.connected, runs, decidedRuns: parts.decidedRuns, stallMs, now });
  await app.register(approvalPageRoutes, { linked, callers: authenticator, limiter, publicUrl: config.publicUrl });
  await toolRoutes(app, { tools, invoke, publicUrl: config.publicUrl });
  await openApiToolRoutes(app, { tools, invoke, publicUrl: config.publicUrl, version, gatewayId });
  await othersCredentialRoutes(app, { credentials: tools.credentials });
  await credentialRoutes(app, { credentials: tools.credentials, signIns, publicUrl: config.publicUrl });
  await oauthCallbackRoutes(app, {
    signIns,
    callers: authenticator,
    clientMetadata: (issuerMark) =>
      config.publicUrl?.startsWith('https:') === true ? clientMetadata(config.publicUrl, issuerMark) : undefined,
  });
  await app.register(connectPageRoutes, { signIns, callers: authenticator, logins, publicUrl: config.publicUrl });
  await mcpRoute(app, {
    tools,
    contents: tools.contents,
    invoke,
    version,
    gatewayId,
    newId: context.newId,
    draining: parts.draining,
    now,
    allowedOrigins,
    publicUrl: config.publicUrl,
    onDeleted: storage.owners.onDeleted,
  });

  await usageRoutes(app, { usage: storage.usage, flush: parts.usage.flush, deletePerson: parts.deletePerson, now });
  await keyRoutes(app, { keys, hasFixedKey: config.adminKey !== undefined, now });
  await presetRoutes(app, { presets, toWire: toPresetWire, findUnknown: createPresetValidator({ presets, models, tools }) });
  const admin = createToolServerAdmin({
    registry,
    inspector,
    parseConnection: parseToolServerConnection,
    parseConnections: parseToolServerConnections,
  });
  await toolServerRoutes(app, { admin, inspector });
  await app.register(openWebUiConfigRoutes, { admin, inspector });
};
