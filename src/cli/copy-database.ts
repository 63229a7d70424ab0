import { existsSync } from 'node:fs';
import { keysOfAnotherSecret } from '../admin/derive-key-hash.ts';
import { addEnvFile, ConfigError, readConfig, readTextFile } from '../app/config/config.ts';
import { copyDatabase } from '../storage/copy-database.ts';
import { lockDatabase } from '../storage/data-folder.ts';
import { createStores } from '../storage/open-stores.ts';
import { findSecret } from '../storage/secrets/secret-file.ts';
import type { Database } from '../storage/sql/database.ts';
import { databaseFile } from '../storage/sqlite/connection/open-database.ts';
import { openSqlite } from '../storage/sqlite/sqlite-database.ts';

interface Opened {
  database: Database;
  close(): Promise<void>;
}

/**
 * `copy-database <from> <to>`: moves an installation to another database. No gateway may use either of them meanwhile.
 * @throws ConfigError for arguments that name no databases; GatewayError for a database that is in use, cannot be used, or has data already
 */
export async function runCopy(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<void> {
  const [from, to] = args;
  if (from === undefined || to === undefined || args.length > 2)
    throw new ConfigError(
      'copy-database needs two databases: copy-database sqlite:./data/toolwharf.db postgres://user:password@host/database',
    );
  addEnvFile(environment, readTextFile);
  const config = readConfig({ ...environment, DATABASE_URL: '' }, readTextFile);
  const secret = findSecret(config.dataDir, config.secret);
  if (secret === undefined)
    throw new ConfigError(
      'TOOLWHARF_SECRET: is not set, and the data folder has none. Set the one that the first database is encrypted with.',
    );
  if (from.startsWith('sqlite:') && !existsSync(databaseFile(from))) throw new ConfigError(`There is no file ${databaseFile(from)}.`);
  const source = await open(from, secret);
  try {
    const keys = await createStores(source.database, { secret }).registry.listKeys();
    if (keysOfAnotherSecret(keys, secret).length > 0)
      throw new ConfigError(
        'TOOLWHARF_SECRET: the first database is encrypted with another one. Set that, or TOOLWHARF_DATA_DIR to its folder.',
      );
    const target = await open(to, secret);
    try {
      await copyDatabase(source.database, target.database, (table, rows) => {
        if (rows > 0) process.stdout.write(`  ${table.padEnd(18)} ${rows}\n`);
      });
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
  process.stdout.write('Copied. Start the gateway with DATABASE_URL set to the second database, and the same TOOLWHARF_SECRET.\n');
}

async function open(url: string, secret: string): Promise<Opened> {
  if (url.startsWith('sqlite:')) {
    const file = databaseFile(url);
    const database = openSqlite({ file, now: Date.now });
    await database.requireUsable();
    const release = lockDatabase(file);
    return {
      database,
      async close() {
        await database.close();
        release();
      },
    };
  }
  const { openPostgres } = await import('../storage/postgres/postgres-database.ts');
  const { requireSameSecret } = await import('../storage/postgres/same-secret.ts');
  const database = openPostgres({ url, now: Date.now });
  const release = await database.lockForOne(() => process.exit(1));
  await database.migrate();
  await requireSameSecret(database, secret);
  return {
    database,
    async close() {
      await database.close();
      await release();
    },
  };
}
