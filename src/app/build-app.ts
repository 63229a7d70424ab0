import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { createSubAgentRunner } from '../chat/loop/run-preset-as-tool.ts';
import { limits } from '../core/limits.ts';
import type { Metrics } from '../core/runs/metrics.ts';
import type { SendOutbound } from '../core/outbound.ts';
import { createServer } from '../http/create-server.ts';
import type { ShownSetting } from '../http/routes/gateway/gateway.ts';
import type { CatalogBackend } from '../models/catalog/catalog-backend.ts';
import { AuditLog } from '../observability/audit-log.ts';
import { createPrometheusMetrics, type PrometheusMetrics } from '../observability/prometheus-metrics.ts';
import { createUsageCounter, type UsageCounter } from '../observability/usage-counter.ts';
import { createRateLimiter } from '../policy/rate-limits.ts';
import { createBrowserRelay, type BrowserRelay } from '../relay/browser-relay.ts';
import type { ActiveRuns } from '../runs/active-runs.ts';
import { createInProcessBus } from '../relay/bus.ts';
import type { ImportModule } from '../tools/functions/load/load-module.ts';
import { newId } from './app-context.ts';
import { composeAccess } from './compose/compose-access.ts';
import { composeAuthorization } from './compose/compose-authorization.ts';
import { composeAdmin } from './compose/compose-admin.ts';
import { composeApprovals } from './compose/compose-approvals.ts';
import { composeChat } from './compose/compose-chat.ts';
import { composeEgress } from './compose/compose-egress.ts';
import { composeExtensions } from './compose/compose-extensions.ts';
import { composeLogins } from './compose/compose-logins.ts';
import { composeDeletions } from './compose/compose-people.ts';
import { composeModels } from './compose/compose-models.ts';
import { composeRuns } from './compose/compose-runs.ts';
import { createSignIns } from '../tools/credentials/sign-ins.ts';
import { composeSockets } from './compose/compose-sockets.ts';
import { composeStorage, type Storage } from './compose/compose-storage.ts';
import type { Stores } from '../storage/open-stores.ts';
import { composeTracing } from './compose/compose-tracing.ts';
import { composeTools } from './compose/compose-tools.ts';
import { createOfferChanges } from '../tools/catalog/offer-changes.ts';
import type { Config } from './config/config.ts';
import { createExaminer } from './doctor/create-examiner.ts';
import { allRoutes } from './register-routes.ts';
import { warnAtStart } from './startup-warnings.ts';

/** Everything else follows from the configuration. */
export interface AppParts {
  /** All stores, opened; their owner closes them after the gateway. */
  stores: Stores;
  logger: FastifyBaseLogger;
  backends?: CatalogBackend[];
  send?: SendOutbound;
  /** The settings that `GET /api/settings` shows. */
  settings?: readonly ShownSetting[];
  /** Variables with the gateway's prefix that are no settings. */
  unknownVariables?: readonly string[];
  /** Imports the modules of functions and hooks. Default: `import()`. */
  importModule?: ImportModule;
  /** Milliseconds since 1970. */
  now?: () => number;
  /** Milliseconds of a monotonic clock. Default: `now`, where that is replaced. */
  elapsed?: () => number;
  /** Called when the last key was deleted at runtime, which puts the gateway into open mode. */
  onOpened?: () => void;
}

export interface App {
  server: FastifyInstance;
  /** Whether the gateway is in open mode at the moment. */
  isOpen(): Promise<boolean>;
  /**
   * The startup key: an administrator key that is valid until the process ends and that changes require in open mode. Undefined if open mode is
   * impossible. Show it on the terminal only, and only in open mode.
   */
  startKey: string | undefined;
  /** Creates the first administrator key and returns it; it cannot be read again. Undefined if there is a key already. */
  createFirstKey(): Promise<string | undefined>;
  /** Lets running answers finish within `DRAIN_TIMEOUT_MS`, then closes everything. */
  close(): Promise<void>;
}

/** The composition root: creates the parts of the gateway, connects them, and closes them in order. */
export async function buildApp(config: Config, parts: AppParts): Promise<App> {
  const { logger, now = Date.now, elapsed = parts.now ?? (() => performance.now()) } = parts;
  const context = { config, logger, now, elapsed, newId };
  const gatewayId = newId();

  // Outgoing connections, to the network and to browsers, and storage.
  const metrics = createPrometheusMetrics();
  const egress = composeEgress(context, { send: parts.send, boundPort: () => boundPortOf(server), metrics });
  const { send, keySet } = egress;
  const tracing = await composeTracing(context, send);
  const changes = createOfferChanges();
  const storage = composeStorage(context, { stores: parts.stores, send, changes });
  const { registry, presets } = storage;
  const audit = new AuditLog({ store: storage.audit, now, logger });
  const bus = createInProcessBus();
  const relay = createBrowserRelay({ bus, replicaId: newId(), newId, now, graceMs: limits.sessionGraceMs });

  // The parts of a chat: models, tools, approvals. A preset is a model, and also a tool that runs a chat itself: hence the lazy `services`.
  const extensions = await composeExtensions(context, {
    store: storage.noteStores.state,
    load: parts.importModule,
    onChanged: () => changes.publish({ lists: ['tools'] }),
  });
  const { models, lessons, passOn } = composeModels(context, {
    presets,
    entries: storage.backends,
    send,
    backends: parts.backends,
    metrics,
  });
  const runSubAgent = createSubAgentRunner(() => services);
  const tools = composeTools(context, {
    storage,
    extensions,
    runSubAgent,
    send,
    lessons,
    callBrowser: relay.callBrowser,
    gatewayId,
    changes,
    audit,
  });
  storage.owners.onDeleted(tools.forgetAllOf);
  storage.owners.onDeleted((ownerId) => lessons.forgetAllOf(ownerId));
  const signIns = createSignIns({ store: storage.signIns, credentials: tools.credentials, oauth: tools.oauth, now });
  const connections = { credentials: tools.credentials, signIns };
  const approvals = await composeApprovals(context, {
    storage,
    audit,
    sendElicitation: relay.sendElicitation,
    connections: () => connections,
  });
  const services = composeChat(context, { storage, models, tools: tools.catalog, approvals, extensions });

  // Runs, who may start them, and HTTP.
  const usage = createUsageCounter({ store: storage.usage, now, logger });
  const runs = composeRuns(context, {
    services,
    storage,
    approvals,
    relay,
    credentials: tools.credentials,
    metrics: countingBoth(metrics, usage),
    tracing,
    audit,
  });
  const { endAllOf } = runs;
  const { runLog } = approvals;
  const { onOpened } = parts;
  const closeSessionsOf = createSessionCloser(relay, logger);
  const { deleteAllOfKey, deletePerson } = composeDeletions({ storage, usage, closeSessionsOf, endAllOf, runLog });
  const access = composeAccess(context, {
    registry,
    endAllOf,
    closeSessionsOf,
    deleteAllOfKey,
    send,
    onPerson: usage.notePerson,
    onOpened,
  });
  const logins = composeLogins(context, { storage, callers: access.tokenCallers, send });
  const authorization = composeAuthorization(context, { ...access, storage, send, onPerson: usage.notePerson });
  const { clientTokens } = authorization;
  const limiter = createRateLimiter({ now, elapsed, tokensToday: usage.tokensToday });
  const { bodyLimitBytes, corsOrigins, clientStallTimeoutMs: stallMs } = config;
  const { authenticator } = access;
  const server = await createServer({
    logger,
    authenticator,
    clientTokens,
    limiter,
    metrics,
    audit,
    tracing,
    bodyLimitBytes,
    corsOrigins,
    stallMs,
    now,
    newId,
  });
  observeState(metrics, { runs: runs.runs, relay, storage, now });
  const { settings = [], unknownVariables = [] } = parts;
  const examine = createExaminer({
    config,
    registry,
    send,
    backends: parts.backends,
    unknownVariables,
    servers: tools.servers.states,
    lessons,
    loaded: () => extensions.loaded(),
    boundPort: () => boundPortOf(server),
  });
  await server.register(allRoutes, {
    ...runs,
    ...access,
    ...composeSockets({ storage, startRun: runs.startOrContinue, relay, models, log: logger, now }),
    admin: composeAdmin(context, { storage, tools, models, send }),
    context,
    storage,
    models,
    passOn,
    tools,
    signIns,
    logins,
    authorization,
    relay,
    limiter,
    metrics,
    runLog,
    keySet,
    settings,
    examine,
    gatewayId,
    changes,
    usage,
    deletePerson,
  });
  // Only now, because slow or broken tool servers and backends must not delay the start.
  server.addHook('onListen', async () => {
    tools.start();
    extensions.start();
    warnAtStart({ config, unknownVariables, registry, models, backends: storage.backends }, logger);
    // Also deletes what became too old while the gateway did not run.
    void runLog.flush();
    void audit.prune().catch(() => undefined);
    void usage.load();
  });

  return {
    server,
    isOpen: authenticator.isOpen,
    startKey: access.startKey,
    createFirstKey: () => access.keys.createFirst(),
    async close() {
      await runs.drain();
      access.close();
      authorization.close();
      await tools.close();
      await extensions.close();
      await relay.close();
      await server.close();
      await tracing?.close();
      await runLog.close();
      await usage.close();
      await bus.close();
      await egress.close();
      await storage.close();
    },
  };
}

/** Closes the sockets of a key that has ended. If that fails, the sockets of other replicas close later, when they check their keys again. */
function createSessionCloser(relay: BrowserRelay, logger: FastifyBaseLogger): (callerId: string) => Promise<void> {
  return (callerId) =>
    relay.closeSessionsOf(callerId).catch((error: unknown) => {
      logger.warn(
        { err: error, caller_id: callerId },
        'the other replicas could not be notified to close the sockets of a key that has ended',
      );
    });
}

interface ObservedState {
  runs: ActiveRuns;
  relay: BrowserRelay;
  storage: Storage;
  now: () => number;
}

function observeState(metrics: PrometheusMetrics, { runs, relay, storage, now }: ObservedState): void {
  metrics.observe({
    activeRuns: () => runs.countRunning(),
    approvalsWaiting: () =>
      storage.waitingRuns.openIds(now()).then(
        (ids) => ids.length,
        () => undefined,
      ),
    sessions: () => relay.counts().sessions,
    sockets: () => relay.counts().connected,
  });
}

/** Runs and calls are counted for the operator's metrics, and for the caller who used them. */
function countingBoth(metrics: Metrics, usage: UsageCounter): Metrics {
  return {
    countRun(run) {
      metrics.countRun(run);
      usage.countRun(run);
    },
    countCall(call) {
      metrics.countCall(call);
      usage.countCall(call);
    },
    countToolUse(use) {
      metrics.countToolUse(use);
      usage.countToolUse(use);
    },
    countRequest: (request) => metrics.countRequest(request),
  };
}

/** The actual port, because the configured one may be 0. */
function boundPortOf(server: FastifyInstance): number | undefined {
  const address = server.server.address();
  return typeof address === 'object' ? address?.port : undefined;
}
