import type { DatabaseSync } from 'node:sqlite';
import type { Credential, CredentialStore } from '../../core/credentials.ts';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import { keyIdOf } from '../../core/people.ts';
import { createSecretCipher } from '../secrets/encrypt-secrets.ts';
import type { DatabaseConnection } from './database-connection.ts';
import { ownedBy } from './owned-by.ts';
import { selectAll, selectFirst } from './select.ts';

interface CredentialRow {
  server_id: string;
  value: string;
}

/** Credentials of people, encrypted one by one and bound to caller and server, on the registry's connection (see `createSqliteRuns`). */
export function createSqliteCredentials(connection: DatabaseConnection, secret: string): CredentialStore {
  const cipher = createSecretCipher(secret, 'credential');

  function read(callerId: string, { server_id: server, value }: CredentialRow): Credential | undefined {
    const text = cipher.decrypt(value, { id: callerId, field: fieldOf(server) });
    return text === undefined ? undefined : (JSON.parse(text) as Credential);
  }

  return {
    keep(callerId, server, credential) {
      const value = cipher.encrypt(JSON.stringify(credential), { id: callerId, field: fieldOf(server) });
      return connection.write((database) => {
        database
          .prepare(
            'INSERT INTO credentials (caller_id, server_id, value) VALUES (?, ?, ?) ON CONFLICT (caller_id, server_id) DO UPDATE SET value = excluded.value',
          )
          .run(callerId, server, value);
        requireRoom(database, keyIdOf(callerId));
      });
    },

    find: (callerId, server) =>
      connection.read((database) => {
        const sql = 'SELECT server_id, value FROM credentials WHERE caller_id = ? AND server_id = ?';
        const row = selectFirst<CredentialRow>(database, sql, callerId, server);
        return row && read(callerId, row);
      }),

    listOf: (callerId) =>
      connection.read((database) => {
        const rows = selectAll<CredentialRow>(database, 'SELECT server_id, value FROM credentials WHERE caller_id = ?', callerId);
        const credentials = rows.map((row) => [row.server_id, read(callerId, row)] as const);
        return new Map(credentials.flatMap(([server, credential]) => (credential === undefined ? [] : [[server, credential]])));
      }),

    forget: (callerId, server) =>
      connection.write((database) => {
        const sql = 'DELETE FROM credentials WHERE caller_id = ? AND server_id = ?';
        return database.prepare(sql).run(callerId, server).changes > 0;
      }),

    async forgetAllOf(callerId) {
      const { condition, values } = ownedBy(callerId);
      // Read first: most keys have none, and a write would have to wait for locks.
      const find = `SELECT 1 FROM credentials WHERE ${condition} LIMIT 1`;
      if ((await connection.read((database) => database.prepare(find).get(...values))) === undefined) return;
      await connection.write((database) => database.prepare(`DELETE FROM credentials WHERE ${condition}`).run(...values));
    },

    async forgetServers(servers) {
      if (servers.length === 0) return;
      await connection.write((database) => {
        const remove = database.prepare('DELETE FROM credentials WHERE server_id = ?');
        for (const server of servers) remove.run(server);
      });
    },
  };
}

/** Of a key with all its people, so that inventing people takes nothing from other keys. Thrown within the transaction, which it undoes. */
function requireRoom(database: DatabaseSync, keyId: string): void {
  const { condition, values } = ownedBy(keyId);
  const row = selectFirst<{ stored: number }>(database, `SELECT count(*) AS stored FROM credentials WHERE ${condition}`, ...values);
  if ((row?.stored ?? 0) <= limits.credentialsPerKey) return;
  throw new GatewayError(
    'conflict',
    `This key and its people have ${limits.credentialsPerKey} credentials already; some of them have to be deleted first (DELETE /api/credentials/{server}).`,
  );
}

function fieldOf(server: string): string {
  return `credential:${server}`;
}
