import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import closeWithGrace from 'close-with-grace';
import { buildApp } from './app.ts';
import { readConfig } from './config.ts';
import type { Config } from './config.ts';
import type { ToolServerRecord } from './core/registry.ts';
import { startTimeServer } from './demo/time-server.ts';
import { isLoopbackName } from './http/authenticate.ts';
import { createLogger } from './observability/logger.ts';
import { version } from './version.ts';

/** Closing what is left after the drain takes no longer. */
const closingMs = 5_000;

/** Reads the configuration, starts the gateway with its bundled time tool server, and ends both on SIGTERM or SIGINT. */
export async function serve(environment: NodeJS.ProcessEnv): Promise<void> {
  const config = withKey(readConfig(environment, readTextFile, process.stdout.isTTY));
  const logger = createLogger({ level: config.logLevel, format: config.logFormat });
  warnOfUnused(config, logger);
  const time = config.toolServers.length === 0 ? await startTimeServer({ host: '127.0.0.1', port: 0 }) : undefined;
  const toolServers = time === undefined ? config.toolServers : [bundledServer('time', time.url)];
  const app = await buildApp({ ...config, toolServers }, { logger });
  await app.server.listen({ host: config.host, port: config.port, listenTextResolver: (address) => announcement(address, config) });

  closeWithGrace({ delay: config.drainTimeoutMs + closingMs }, async ({ err, signal }) => {
    if (err !== undefined) logger.fatal({ err }, 'an error that nothing caught ends the gateway');
    else logger.info({ signal }, 'shutting down: running answers may finish');
    await app.close();
    await time?.close();
  });
}

function readTextFile(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

/** A server that ships with the gateway, registered under a fixed id. */
export function bundledServer(id: string, url: string): ToolServerRecord {
  return {
    id,
    origin: 'bundled',
    url,
    path: 'openapi.json',
    type: 'openapi',
    authType: 'none',
    headers: {},
    isEnabled: true,
    isDefault: true,
    functionFilter: [],
    tags: [],
    extra: {},
  };
}

/** Reachable from elsewhere without a key would be open to everybody: one is made, and shown this once. */
function withKey(config: Config): Config {
  if (config.adminKey !== undefined || isLoopbackName(config.host)) return config;
  const adminKey = `sk-tw-${randomBytes(24).toString('base64url')}`;
  process.stdout.write(
    `Administrator key for this run, because ${config.host} can be reached from elsewhere: ${adminKey}\nSet TOOLWHARF_ADMIN_KEY to keep one.\n`,
  );
  return { ...config, adminKey };
}

function announcement(address: string, config: Config): string {
  const authentication =
    config.adminKey === undefined ? 'open to this machine, no key needed' : 'send your key as "Authorization: Bearer <key>"';
  return `toolwharf ${version} listens on ${address} (${authentication})`;
}

/** Settings that are read and checked, and have no effect yet: whoever sets one should know. */
function warnOfUnused(config: Config, logger: ReturnType<typeof createLogger>): void {
  if (config.redisUrl !== undefined)
    logger.warn({ setting: 'REDIS_URL' }, 'REDIS_URL has no effect in this version, which runs as one replica');
  if (!config.databaseUrl.startsWith('sqlite:'))
    logger.warn({ setting: 'DATABASE_URL' }, 'DATABASE_URL has no effect in this version, which stores nothing');
}
