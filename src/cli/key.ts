import { createApiKeys } from '../admin/api-keys.ts';
import { derivePepper } from '../admin/derive-key-hash.ts';
import { addEnvFile, readConfig, readTextFile, type Config } from '../app/config/config.ts';
import { newId } from '../app/app-context.ts';
import { localUrl } from '../app/config/local-url.ts';
import { GatewayError } from '../core/errors.ts';
import { isLoopbackName } from '../http/auth/open-mode.ts';
import { isServedByAnother, openDataFolder } from '../storage/data-folder.ts';
import { createStores } from '../storage/open-stores.ts';
import { requireAnsweringDisks } from '../storage/require-answering-disks.ts';
import { findSecret, loadSecret } from '../storage/secrets/secret-file.ts';
import type { Database } from '../storage/sql/database.ts';
import { databaseFile } from '../storage/sqlite/connection/open-database.ts';
import { openSqlite } from '../storage/sqlite/sqlite-database.ts';

/**
 * Stores a new administrator key and prints it, whether a gateway serves from the data folder or not: keys are what a running gateway reads again from its
 * database, because nobody tells it when they change. Whoever can write there could change everything else too.
 * @throws ConfigError; GatewayError for a folder or database that cannot be used
 */
export async function key(environment: NodeJS.ProcessEnv): Promise<void> {
  addEnvFile(environment, readTextFile);
  const config = readConfig(environment, readTextFile);
  const isFile = config.databaseUrl.startsWith('sqlite:');
  if (isFile) await requireAnsweringDisks({ dataDir: config.dataDir, databaseFile: databaseFile(config.databaseUrl) });
  const folder = openUnlessServed(config);
  const isServed = folder === undefined;
  try {
    const mayCreate = isFile && !isServed;
    const secret = mayCreate ? loadSecret(config.dataDir, config.secret) : findSecret(config.dataDir, config.secret);
    if (secret === undefined)
      throw new GatewayError('storage_unavailable', `${config.dataDir} has no file "secret". Set TOOLWHARF_SECRET.`);
    const database = isFile
      ? openSqlite({ file: databaseFile(config.databaseUrl), now: Date.now })
      : await openServer(config.databaseUrl, secret);
    const { registry } = createStores(database, { secret });
    try {
      const closesOpenMode = (await registry.countKeys()) === 0 && isOpen(config);
      const keys = createApiKeys({
        registry,
        pepper: derivePepper(secret),
        hasFixedKey: config.adminKey !== undefined,
        newId,
        now: Date.now,
        forget: () => undefined,
        closeSessionsOf: async () => undefined,
        cancelRunsOf: () => undefined,
        deleteAllOf: async () => undefined,
      });
      const made = await keys.create({ name: 'made by the command "key"', role: 'admin' });
      show(made.key, { config, closesOpenMode });
    } finally {
      await registry.close();
    }
  } finally {
    folder?.release();
  }
}

async function openServer(url: string, secret: string): Promise<Database> {
  const { openPostgres } = await import('../storage/postgres/postgres-database.ts');
  const { requireSameSecret } = await import('../storage/postgres/same-secret.ts');
  const database = openPostgres({ url, now: Date.now });
  await database.migrate();
  await requireSameSecret(database, secret);
  return database;
}

/** Undefined if a gateway serves from it. */
function openUnlessServed({ dataDir }: Config): { release: () => void } | undefined {
  try {
    return openDataFolder(dataDir);
  } catch (error) {
    if (isServedByAnother(error)) return undefined;
    throw error;
  }
}

function isOpen({ host, adminKey, oidc }: Config): boolean {
  return isLoopbackName(host) && adminKey === undefined && oidc === undefined;
}

/** Only the key goes to stdout, so that a script can take it. */
function show(text: string, { config, closesOpenMode }: { config: Config; closesOpenMode: boolean }): void {
  process.stdout.write(`${text}\n`);
  const about = [
    `A new administrator key, which is shown only this once. Open the console with it: ${config.publicUrl ?? localUrl(config)}/#key=${text}`,
    ...(closesOpenMode ? ['The gateway was open to this machine. From now on every request needs a key, until all keys are deleted.'] : []),
  ];
  process.stderr.write(`${about.join('\n')}\n`);
}
