import closeWithGrace from 'close-with-grace';
import { buildApp } from '../app/build-app.ts';
import { addEnvFile, ConfigError, readConfig, readConfigFile, readTextFile, type Config } from '../app/config/config.ts';
import { listSettings } from '../app/config/read-settings.ts';
import { findUnknownVariables } from '../app/config/unknown-variables.ts';
import { openDatabase } from '../app/open-database.ts';
import { openBundledTimeServer } from '../app/bundled-time-server.ts';
import { createLayeredRegistry } from '../storage/layered-registry.ts';
import { openDataFolder } from '../storage/data-folder.ts';
import { startTimeServer } from '../demo/time-server.ts';
import { isLoopbackName } from '../http/auth/open-mode.ts';
import { openLogger, type Logger } from '../observability/logger.ts';
import type { Registry } from '../core/stores/registry.ts';
import { guardProcess } from './guard-process.ts';
import { shrinkAtRest } from './shrink-at-rest.ts';
import { version } from '../app/version.ts';

/**
 * Connections that the system may hold until they are accepted, up to its own limit (net.core.somaxconn on Linux), which is above Node's 511: after a
 * restart all clients connect at once.
 */
const listenBacklog = 65_535;
/** Time limit for closing everything after the drain. */
const closingMs = 5_000;

/** Reads the configuration, starts the gateway with its bundled time tool server, and ends both on SIGTERM or SIGINT. */
export async function serve(environment: NodeJS.ProcessEnv): Promise<void> {
  const envFile = addEnvFile(environment, readTextFile);
  const config = readConfig(environment, readTextFile, process.stdout.isTTY);
  const logger = await openLogger({ level: config.logLevel, format: config.logFormat });
  if (envFile !== undefined) logger.info({ file: envFile }, `settings of ${envFile} apply unless the environment sets them`);
  let dataFolder: ReturnType<typeof openDataFolder> | undefined;
  const { stores, secret, ...database } = await openDatabase(config, {
    log: logger,
    openFolder() {
      dataFolder = openDataFolder(config.dataDir);
      if (dataFolder.warning !== undefined) logger.warn(dataFolder.warning);
    },
    onLost: () => process.exit(1),
  });
  const registry = await openRegistry(config, stores.registry, logger);
  const settings = listSettings(environment, readConfigFile(environment, readTextFile));
  let address = '';
  const app = await buildApp(
    { ...config, secret },
    {
      logger,
      settings,
      unknownVariables: findUnknownVariables(environment),
      stores: { ...stores, registry },
      onOpened: () => showStartKey(app.startKey, address),
    },
  );
  const isOpen = await app.isOpen().catch(() => false);
  if (isOpen && config.corsOrigins.includes('*')) {
    throw new ConfigError(
      'CORS_ALLOW_ORIGIN: "*" would let any web page use this gateway while it needs no key; name the origins, or set TOOLWHARF_ADMIN_KEY.',
    );
  }
  // Tool servers are opened as soon as the gateway listens.
  const skip = guardProcess(config, logger);
  address = await app.server.listen({
    host: config.host,
    port: config.port,
    backlog: listenBacklog,
    listenTextResolver: (text) => announcement(text, isOpen),
  });
  if (isOpen) showStartKey(app.startKey, address);
  // Only after `listen`: if that fails, no key must exist that is shown only once. Until then nobody can use the gateway.
  if (!isLoopbackName(config.host)) showFirstKey(await app.createFirstKey(), `${config.host} can be reached from elsewhere`);
  else if (config.oidc !== undefined) showFirstKey(await app.createFirstKey(), 'a gateway with auth.oidc is never open');

  database.checkLater();
  shrinkAtRest();
  closeWithGrace({ delay: config.drainTimeoutMs + closingMs, skip }, async ({ err, signal }) => {
    if (err !== undefined) logger.fatal({ err }, 'uncaught error: the gateway exits');
    else logger.info({ signal }, 'shutting down: running answers may finish');
    await app.close();
    await registry.close();
    await database.release();
    dataFolder?.release();
  });
}

/** The stored tool servers, those of the configuration, and the bundled time server, which ends with the registry. */
async function openRegistry(config: Config, store: Registry, logger: Logger): Promise<Registry> {
  const time = await openBundledTimeServer({
    store,
    fixed: config.toolServers,
    demo: config.demo,
    start: () => startTimeServer({ host: '127.0.0.1', port: 0 }),
  });
  const registry = createLayeredRegistry({
    fixed: config.toolServers,
    store: time.store,
    onFault: (error) => logger.error({ err: error }, 'stored tool servers cannot be read; only configured ones are offered'),
  });
  return {
    ...registry,
    async close() {
      await time.close();
      await registry.close();
    },
  };
}

/** A gateway that is never open needs a key. Printed to the terminal instead of the log, which is stored and read by others. */
function showFirstKey(key: string | undefined, why: string): void {
  if (key === undefined) return;
  process.stdout.write(
    `Administrator key, because ${why}; it is shown this once: ${key}\n` +
      'Create others with it (POST /api/keys), or set TOOLWHARF_ADMIN_KEY to use one of your own.\n',
  );
}

/** The key is in the URL's fragment, which browsers send to no proxy and no server. Printed to the terminal, not to the log. */
function showStartKey(key: string | undefined, address: string): void {
  if (key === undefined) return;
  process.stdout.write(
    `Chats need no key. Changes (tool servers, keys, presets) need the administrator key of this start, at the end of this link:\n  ${address}/#key=${key}\n`,
  );
}

function announcement(address: string, isOpen: boolean): string {
  const authentication = isOpen ? 'open to this machine, no key needed for chats' : 'send your key as "Authorization: Bearer <key>"';
  return `toolwharf ${version} listens on ${address} (${authentication})`;
}
