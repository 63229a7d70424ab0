import type { Registry } from '../../../core/stores/registry.ts';
import { createSecretCipher } from '../../secrets/encrypt-secrets.ts';
import type { DatabaseConnection } from '../connection/database-connection.ts';
import { execute, selectFirst } from '../connection/select.ts';
import { backendsIn } from './registry-backends.ts';
import { keysIn } from './registry-keys.ts';
import { RegistryRecords } from './registry-records.ts';
import { toolServersIn } from './registry-tool-servers.ts';

interface SqliteRegistryOptions {
  /** Encrypts the keys and header values of tool servers and backends. */
  secret: string;
  /** Milliseconds since 1970. */
  now: () => number;
  /** How long records are cached, in milliseconds, before checking for changes by another process. Changes by this one show at once. */
  cacheMs: number;
}

/**
 * The registry; closing it closes the connection. A tool server whose credentials were encrypted with another secret is listed without them and with
 * `extra.unreadable_secrets`; `findToolServer` throws. Changing such a server keeps the unreadable values unless new ones are given. A backend has them
 * in `unreadableSecrets`.
 */
export function createSqliteRegistry(connection: DatabaseConnection, { secret, now, cacheMs }: SqliteRegistryOptions): Registry {
  const cipher = createSecretCipher(secret);
  const backendCipher = createSecretCipher(secret, 'backend');
  const records = new RegistryRecords(connection, { cipher, backendCipher, now, cacheMs });
  return {
    ...toolServersIn(records, cipher),
    ...backendsIn(records, backendCipher),
    ...keysIn(records, cipher),

    readFact: (name) =>
      connection.read((database) => selectFirst<{ value: string }>(database, 'SELECT value FROM facts WHERE name = ?', name)?.value),
    writeFact: (name, value) =>
      connection.write((database) => {
        const sql = 'INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value';
        execute(database, sql, name, value);
      }),
    close: () => connection.close(),
  };
}
