import type { FastifyInstance, FastifyPluginAsync } from 'fastify';
import { limits } from '../core/limits.ts';
import type { Section } from '../core/finding.ts';
import type { Logins } from '../core/sign-in/login.ts';
import type { RunLog } from '../core/runs/run-log.ts';
import type { SignIns } from '../core/sign-in/sign-in.ts';
import type { OfferChanges } from '../core/tools/offer-changes.ts';
import type { RateLimiter } from '../core/callers/rate-limit.ts';
import { responses } from '../http/dialects/responses/responses.ts';
import { openingCompactions } from '../http/dialects/responses/stored/compactions.ts';
import { createResponseStorage } from '../http/dialects/responses/stored/response-storage.ts';
import { approvalPageRoutes } from '../http/routes/runs/approval-page.ts';
import { approvalRoutes } from '../http/routes/runs/approvals.ts';
import { auditRoutes } from '../http/routes/gateway/audit.ts';
import { chatRoutes, createAnswerRequest, createClientOf } from '../http/routes/chats/chat.ts';
import { compactRoute } from '../http/routes/chats/compact.ts';
import { clientMetadata } from '../tools/credentials/oauth/client-addresses.ts';
import { authorizationServerRoutes } from '../http/routes/access/authorization-server.ts';
import { clientRoutes } from '../http/routes/access/clients.ts';
import { consentRoutes } from '../http/routes/access/consent.ts';
import { oauthCallbackRoutes } from '../http/routes/access/oauth-callback.ts';
import { connectPageRoutes } from '../http/routes/access/connect-page.ts';
import { credentialRoutes, othersCredentialRoutes } from '../http/routes/access/credentials.ts';
import { descriptionRoutes } from '../http/routes/gateway/description.ts';
import { doctorRoute } from '../http/routes/gateway/doctor.ts';
import { gatewayRoutes, type ShownSetting } from '../http/routes/gateway/gateway.ts';
import { loginRoutes } from '../http/routes/access/login.ts';
import { keyRoutes } from '../http/routes/access/keys.ts';
import { mcpRoute } from '../http/routes/tools/mcp.ts';
import { metricsRoute } from '../http/routes/gateway/metrics.ts';
import { consoleRoutes } from '../http/routes/gateway/console.ts';
import { countTokensRoute } from '../http/routes/chats/count-tokens.ts';
import { backendRoutes } from '../http/routes/models/backends.ts';
import { modelRoutes } from '../http/routes/models/models.ts';
import { openApiToolRoutes } from '../http/routes/tools/openapi-tools.ts';
import { ollamaRoutes } from '../http/routes/models/ollama.ts';
import { openWebUiConfigRoutes } from '../http/routes/gateway/open-webui-config.ts';
import { passedRoutes } from '../http/routes/models/passed.ts';
import { presetRoutes } from '../http/routes/models/presets.ts';
import { resumeRoute } from '../http/routes/runs/resume.ts';
import { runRoutes } from '../http/routes/runs/runs.ts';
import type { UpgradeWatch } from '../core/upgrades.ts';
import { originsOf } from '../http/routes/form-pages.ts';
import { socketRoute } from '../http/routes/chats/socket.ts';
import { consoleChatRoutes } from '../http/routes/chats/console-chats.ts';
import { storedChatRoutes } from '../http/routes/chats/stored-chats.ts';
import { storedResponseRoutes } from '../http/routes/chats/stored-responses.ts';
import { usageRoutes } from '../http/routes/gateway/usage.ts';
import { toolServerRoutes } from '../http/routes/tools/tool-servers.ts';
import { toolRoutes } from '../http/routes/tools/tools.ts';
import type { PrometheusMetrics } from '../observability/prometheus-metrics.ts';
import type { UsageCounter } from '../observability/usage-counter.ts';
import type { BrowserRelay } from '../relay/browser-relay.ts';
import { backendShape } from '../storage/backend-schema.ts';
import { connectionSchema } from '../storage/connection-schema.ts';
import { presetSchema, toPresetWire } from '../storage/preset-schema.ts';
import type { AppContext } from './app-context.ts';
import type { Access } from './compose/compose-access.ts';
import type { Authorization } from './compose/compose-authorization.ts';
import type { Admin } from './compose/compose-admin.ts';
import type { Models } from './compose/compose-models.ts';
import type { Runs } from './compose/compose-runs.ts';
import type { Sockets } from './compose/compose-sockets.ts';
import type { Storage } from './compose/compose-storage.ts';
import type { Tools } from './compose/compose-tools.ts';
import { createConsoleFolder } from './console-folder.ts';
import { version } from './version.ts';

interface RouteParts extends Omit<Models, 'lessons'>, Runs, Access, Sockets {
  context: AppContext;
  storage: Storage;
  tools: Tools;
  admin: Admin;
  signIns: SignIns;
  logins: Logins | undefined;
  authorization: Authorization;
  relay: BrowserRelay;
  limiter: RateLimiter;
  metrics: PrometheusMetrics;
  runLog: RunLog;
  keySet: () => Promise<object>;
  settings: readonly ShownSetting[];
  examine: () => Promise<Section[]>;
  gatewayId: string;
  upgrades: UpgradeWatch;
  changes: OfferChanges;
  usage: UsageCounter;
  deletePerson: (keyId: string, id: string) => Promise<boolean>;
}

/** Every route of the gateway, with the services that it needs. */
export const allRoutes: FastifyPluginAsync<RouteParts> = async (app, parts) => {
  await registerGateway(app, parts);
  await registerChats(app, parts);
  await registerModels(app, parts);
  await registerRuns(app, parts);
  await registerTools(app, parts);
  await registerAccess(app, parts);
};

/** The gateway itself: health, the console, descriptions, metrics, and usage. */
async function registerGateway(app: FastifyInstance, parts: RouteParts): Promise<void> {
  const { context, storage, runs, logins, usage } = parts;
  const { registry } = storage;
  const listed = { servers: parts.tools.servers.states };
  await gatewayRoutes(app, { ...parts, tools: listed, version, isDraining: () => runs.isDraining(), registry });
  await consoleRoutes(app, { version, findConsole: createConsoleFolder(context.logger), hasSignIn: logins !== undefined });
  await descriptionRoutes(app, { version, schemas: { backend: backendShape, connection: connectionSchema, preset: presetSchema } });
  await doctorRoute(app, { examine: parts.examine });
  await metricsRoute(app, { metrics: parts.metrics });
  await auditRoutes(app, { audit: storage.audit, now: context.now });
  await usageRoutes(app, { usage: storage.usage, flush: usage.flush, deletePerson: parts.deletePerson, now: context.now });
}

async function registerChats(app: FastifyInstance, parts: RouteParts): Promise<void> {
  const { context, storage, runs, relay, limiter, authenticator } = parts;
  const { config, now } = context;
  const { publicUrl, clientStallTimeoutMs: stallMs } = config;
  const answerRequest = createAnswerRequest({
    publicUrl,
    startRun: parts.startOrContinue,
    follow: parts.follow,
    approvalTimeoutMs: config.approvalTimeoutMs,
    decidedRuns: parts.decidedRuns,
    interruptChat: parts.interruptChat,
    answerToSession: parts.answerToSession,
    now,
  });
  const seals = storage.thoughtSeals;
  const responseStorage = openingCompactions(createResponseStorage(parts.storedResponses), seals);
  const clientOf = createClientOf({ limiter, stallMs, now });
  await app.register(socketRoute, {
    relay,
    authenticateToken: authenticator.findByToken,
    openCaller: authenticator.findOpenCaller,
    allowedOrigins: [...config.corsOrigins, ...originsOf(publicUrl)],
    upgrades: parts.upgrades,
    publicUrl,
    pingIntervalMs: config.wsPingIntervalMs,
    now,
    startChat: parts.startChat,
    cancelRun: runs.cancel,
    cancelSession: runs.cancelSession,
    interruptChat: parts.interruptChat,
    holdWaiting: runs.holdWaiting,
    limiter,
    defaultModel: parts.defaultModel,
    responses: {
      answerRequest,
      storage: responseStorage,
      requireCaller: authenticator.requireCaller,
      newId: context.newId,
      stallMs,
    },
  });
  await chatRoutes(app, { answerRequest, storages: { [responses.name]: responseStorage }, clientOf });
  await compactRoute(app, { answerRequest, storage: responseStorage, clientOf, seals, newId: context.newId });
  await consoleChatRoutes(app, { store: storage.noteStores['console-chat'], isStoring: config.consoleChats, now });
  await storedChatRoutes(app, { store: storage.chats, isStoring: config.storeChats });
  await storedResponseRoutes(app, { stored: parts.storedResponses, stallMs });
}

async function registerModels(app: FastifyInstance, parts: RouteParts): Promise<void> {
  const { context, storage, models, passOn, admin } = parts;
  const { bodyLimitBytes, clientStallTimeoutMs: stallMs, taskModel, taskModelExternal, modelPrices } = context.config;
  const { countPassed } = parts.usage;
  await modelRoutes(app, { models, taskModels: { local: taskModel, external: taskModelExternal }, prices: modelPrices });
  await backendRoutes(app, { admin: admin.backends });
  await passedRoutes(app, { passOn, countPassed, formBytes: Math.max(bodyLimitBytes, limits.formBytes), stallMs });
  await countTokensRoute(app, { models });
  await ollamaRoutes(app, { models, version, countPassed });
  await presetRoutes(app, { presets: storage.presets, toWire: toPresetWire, findUnknown: admin.findUnknown });
}

async function registerRuns(app: FastifyInstance, parts: RouteParts): Promise<void> {
  const { context, runs, decisions, decidedRuns, connected, linked, authenticator: callers, limiter } = parts;
  const { config, now } = context;
  const { publicUrl, clientStallTimeoutMs: stallMs } = config;
  await runRoutes(app, { log: parts.runLog, runs, cancelWaiting: parts.suspended.cancel });
  await approvalRoutes(app, { decisions, runs, decidedRuns, stallMs, now });
  await resumeRoute(app, { connected, runs, decidedRuns, stallMs, now });
  await app.register(approvalPageRoutes, { linked, callers, limiter, publicUrl });
}

async function registerTools(app: FastifyInstance, parts: RouteParts): Promise<void> {
  const { context, storage, tools, invoke, gatewayId, changes, admin } = parts;
  const { publicUrl, corsOrigins } = context.config;
  const allowedOrigins = [...corsOrigins, ...originsOf(publicUrl)];
  const { catalog, inspector } = tools;
  await toolRoutes(app, { tools: catalog, invoke, publicUrl });
  await openApiToolRoutes(app, { tools: catalog, invoke, publicUrl, version, gatewayId });
  await mcpRoute(app, {
    tools: catalog,
    contents: tools.contents,
    invoke,
    changes,
    version,
    gatewayId,
    newId: context.newId,
    draining: parts.draining,
    now: context.now,
    allowedOrigins,
    publicUrl,
    challenge: parts.authorization.challenge,
    openAnswers: parts.authorization.openAnswers,
    onDeleted: storage.owners.onDeleted,
  });
  await toolServerRoutes(app, { admin: admin.toolServers, inspector });
  await app.register(openWebUiConfigRoutes, { admin: admin.toolServers, inspector });
}

/** Keys, people's credentials, and signing in. */
async function registerAccess(app: FastifyInstance, parts: RouteParts): Promise<void> {
  const { context, tools, authenticator: callers, keys, signIns, logins } = parts;
  const { config, now } = context;
  const { publicUrl } = config;
  const { credentials } = tools;
  await loginRoutes(app, { logins, publicUrl, now });
  await othersCredentialRoutes(app, { credentials });
  await credentialRoutes(app, { credentials, signIns, publicUrl });
  await oauthCallbackRoutes(app, {
    signIns,
    callers,
    clientMetadata: (issuerMark) => (publicUrl?.startsWith('https:') === true ? clientMetadata(publicUrl, issuerMark) : undefined),
  });
  await app.register(connectPageRoutes, { signIns, callers, logins, publicUrl });
  await registerAuthorization(app, parts);
  await keyRoutes(app, { keys, hasFixedKey: config.adminKey !== undefined, now });
}

/** OAuth at `/mcp`. */
async function registerAuthorization(app: FastifyInstance, parts: RouteParts): Promise<void> {
  const { context, storage, authenticator: callers, authorization, logins } = parts;
  const { now, config } = context;
  const { publicUrl, mcpOauthIssuer: foreignIssuer } = config;
  const shared = { ...authorization, publicUrl, foreignIssuer, store: storage.grants, now };
  await app.register(authorizationServerRoutes, shared);
  await app.register(consentRoutes, { ...shared, callers, logins });
  await clientRoutes(app, shared);
}
