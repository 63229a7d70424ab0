import type { Registry } from '../../../core/stores/registry.ts';
import { createSecretCipher } from '../../secrets/encrypt-secrets.ts';
import { execute, mapped, selectFirst, type Database } from '../database.ts';
import { backendsIn } from './registry-backends.ts';
import { keysIn } from './registry-keys.ts';
import { presetsIn } from './registry-presets.ts';
import { RegistryRecords } from './registry-records.ts';
import { toolServersIn } from './registry-tool-servers.ts';

interface RegistryOptions {
  /** Encrypts the keys and header values of tool servers and backends. */
  secret: string;
  /** Milliseconds since 1970. */
  now: () => number;
  /** How long records are cached, in milliseconds, before checking for changes by another process. Changes by this one show at once. */
  cacheMs: number;
  /** How long records are given as they were while the database cannot be read, in milliseconds. Default: 0. */
  staleMs?: number | undefined;
}

/**
 * The registry; closing it closes the database. A tool server whose credentials were encrypted with another secret is listed without them and with
 * `extra.unreadable_secrets`; `findToolServer` throws. Changing such a server keeps the unreadable values unless new ones are given. A backend has them
 * in `unreadableSecrets`.
 */
export function createRegistry(database: Database, { secret, now, cacheMs, staleMs = 0 }: RegistryOptions): Registry {
  const cipher = createSecretCipher(secret);
  const backendCipher = createSecretCipher(secret, 'backend');
  const records = new RegistryRecords(database, { cipher, backendCipher, now, cacheMs, staleMs });
  return {
    ...toolServersIn(records, cipher),
    ...backendsIn(records, backendCipher),
    ...keysIn(records, cipher),
    ...presetsIn(records),

    readFact: (name) =>
      database.read(() => mapped(selectFirst<{ value: string }>('SELECT value FROM facts WHERE name = ?', name), (row) => row?.value)),
    writeFact: async (name, value) => {
      const sql = 'INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value';
      await database.write('facts', () => execute(sql, name, value));
    },
    refresh: () => records.refresh(),
    close: () => database.close(),
  };
}
