import type { Config } from './config/config.ts';
import { ConfigError } from './config/config-error.ts';
import { checkDatabase } from './check-database.ts';
import { requireComplete } from '../storage/copy-database.ts';
import { lockDatabase } from '../storage/data-folder.ts';
import { createStores, type Stores } from '../storage/open-stores.ts';
import { requireAnsweringDisks } from '../storage/require-answering-disks.ts';
import { loadSecret } from '../storage/secrets/secret-file.ts';
import { databaseFile } from '../storage/sqlite/connection/open-database.ts';
import { openSqlite } from '../storage/sqlite/sqlite-database.ts';

/** Every chat reads the registry. Changes of the file by another process become visible after this delay. */
const fileCacheMs = 200;
/** The same for another gateway on the same server. */
const serverPollMs = 1_000;
/** How long keys, tool servers, backends and presets go on as they were while PostgreSQL cannot be read. */
const staleMs = 15 * 60 * 1000;

interface DatabaseLog {
  error: (fields: object, message: string) => void;
  fatal: (fields: object, message: string) => void;
}

/** The stores of the gateway, usable and taken by this process. */
export interface OpenedDatabase {
  stores: Stores;
  secret: string;
  /** What would hold up the start: never rejects. */
  checkLater(): void;
  /** After the stores are closed. */
  release(): Promise<void>;
}

interface OpeningParts {
  log: DatabaseLog;
  /** Opens the data folder, after the disks have answered. */
  openFolder: () => void;
  /** The database belongs to another gateway now, so that this one must end. */
  onLost: () => void;
}

/** @throws ConfigError, GatewayError `storage_unavailable` for a database that cannot be used, or that another gateway uses */
export function openDatabase(config: Config, parts: OpeningParts): Promise<OpenedDatabase> {
  return config.databaseUrl.startsWith('sqlite:') ? openFile(config, parts) : openServer(config, parts);
}

async function openFile(config: Config, { log, openFolder }: OpeningParts): Promise<OpenedDatabase> {
  const file = databaseFile(config.databaseUrl);
  // Before anything is read or created there.
  await requireAnsweringDisks({ dataDir: config.dataDir, databaseFile: file });
  openFolder();
  const secret = loadSecret(config.dataDir, config.secret);
  const database = openSqlite({ file, now: Date.now });
  await database.requireUsable();
  await requireComplete(database);
  await database.requireWritable().catch((error: unknown) => log.error({ err: error }, 'not ready: the database cannot be written'));
  const release = lockDatabase(file);
  return {
    stores: createStores(database, { secret, cacheMs: fileCacheMs }),
    secret,
    checkLater: () =>
      void database
        .checkAfterKill(checkDatabase)
        .catch((error: unknown) => log.error({ err: error }, 'not ready: the database cannot be used')),
    release: async () => release(),
  };
}

async function openServer(config: Config, { openFolder, onLost, log }: OpeningParts): Promise<OpenedDatabase> {
  const { secret } = config;
  if (secret === undefined) {
    throw new ConfigError(
      'TOOLWHARF_SECRET: is required with PostgreSQL, because the database is encrypted with it. Set it to the output of `openssl rand -hex 32`, and keep it.',
    );
  }
  openFolder();
  const { openPostgres } = await import('../storage/postgres/postgres-database.ts');
  const { requireSameSecret } = await import('../storage/postgres/same-secret.ts');
  const database = openPostgres({ url: config.databaseUrl, now: Date.now });
  const release = await database.lockForOne(() => {
    log.fatal({}, 'another gateway has taken the database of DATABASE_URL while the connection to it was lost: this one ends');
    onLost();
  });
  await database.migrate();
  await requireSameSecret(database, secret);
  await requireComplete(database);
  const stores = createStores(database, { secret, cacheMs: Infinity, staleMs });
  const poll = setInterval(() => void stores.registry.refresh().catch(() => undefined), serverPollMs).unref();
  return {
    stores,
    secret,
    checkLater: () => undefined,
    async release() {
      clearInterval(poll);
      await release();
    },
  };
}
