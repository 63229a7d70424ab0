import { randomUUID } from 'node:crypto';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Credential, CredentialStore } from '../../core/callers/credentials.ts';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import { keyIdOf } from '../../core/callers/people.ts';
import { createSecretCipher } from '../secrets/encrypt-secrets.ts';
import type { DatabaseConnection } from './connection/database-connection.ts';
import { deleteInParts } from './connection/delete-in-parts.ts';
import { ownedBy } from './owned-by.ts';
import { selectAll, selectFirst } from './connection/select.ts';

interface CredentialRow {
  caller_id: string;
  server_id: string;
  value: string;
  revision: string;
}

const columns = 'caller_id, server_id, value, revision';
/** Each takes some hundredths of a millisecond to decrypt. */
const decryptedAtOnce = 200;

/** Credentials of people, encrypted one by one and bound to caller and server, on the registry's connection (see `createSqliteRuns`). */
export function createSqliteCredentials(connection: DatabaseConnection, secret: string): CredentialStore {
  const cipher = createSecretCipher(secret, 'credential');

  function read({ caller_id: callerId, server_id: server, value }: CredentialRow): Credential | undefined {
    const text = cipher.decrypt(value, { id: callerId, field: fieldOf(server) });
    return text === undefined ? undefined : (JSON.parse(text) as Credential);
  }

  const encrypt = (callerId: string, server: string, credential: Credential): string =>
    cipher.encrypt(JSON.stringify(credential), { id: callerId, field: fieldOf(server) });

  async function remove(condition: string, values: readonly SQLInputValue[]): Promise<Credential[]> {
    const rows = await deleteInParts<CredentialRow>(connection, {
      table: 'credentials',
      key: ['caller_id', 'server_id'],
      columns: ['value', 'revision'],
      condition,
      values,
    });
    const removed: Credential[] = [];
    for (let start = 0; start < rows.length; start += decryptedAtOnce) {
      removed.push(...rows.slice(start, start + decryptedAtOnce).flatMap((row) => read(row) ?? []));
      await nextTurn();
    }
    return removed;
  }

  return {
    save(callerId, server, credential) {
      const value = encrypt(callerId, server, credential);
      return connection.write(
        (database) => {
          database
            .prepare(
              `INSERT INTO credentials (${columns}) VALUES (?, ?, ?, ?) ON CONFLICT (caller_id, server_id) DO UPDATE SET value = excluded.value, revision = excluded.revision, leased_until = NULL`,
            )
            .run(callerId, server, value, randomUUID());
          requireRoom(database, keyIdOf(callerId));
        },
        { callerId, characters: value.length },
      );
    },

    find: (callerId, server) =>
      connection.read((database) => {
        const sql = `SELECT ${columns} FROM credentials WHERE caller_id = ? AND server_id = ?`;
        const row = selectFirst<CredentialRow>(database, sql, callerId, server);
        const credential = row && read(row);
        return credential && row && { credential, revision: row.revision };
      }),

    listOf: (callerId) =>
      connection.read((database) => {
        const rows = selectAll<CredentialRow>(database, `SELECT ${columns} FROM credentials WHERE caller_id = ?`, callerId);
        const credentials = rows.map((row) => [row.server_id, read(row)] as const);
        return new Map(credentials.flatMap(([server, credential]) => (credential === undefined ? [] : [[server, credential]])));
      }),

    replace(callerId, server, { revision, credential }) {
      const value = encrypt(callerId, server, credential);
      return connection.write(
        (database) => {
          const sql =
            'UPDATE credentials SET value = ?, revision = ?, leased_until = NULL WHERE caller_id = ? AND server_id = ? AND revision = ?';
          return database.prepare(sql).run(value, randomUUID(), callerId, server, revision).changes > 0;
        },
        { callerId, characters: value.length },
      );
    },

    claim: (callerId, server, { revision, now, until }) =>
      connection.write(
        (database) => {
          const sql =
            'UPDATE credentials SET leased_until = ? WHERE caller_id = ? AND server_id = ? AND revision = ? AND (leased_until IS NULL OR leased_until <= ?)';
          return database.prepare(sql).run(until, callerId, server, revision, now).changes > 0;
        },
        { callerId },
      ),

    async release(callerId, server, { revision, until }) {
      const sql = 'UPDATE credentials SET leased_until = NULL WHERE caller_id = ? AND server_id = ? AND revision = ? AND leased_until = ?';
      await connection.write((database) => database.prepare(sql).run(callerId, server, revision, until), { callerId });
    },

    delete: async (callerId, server) => (await remove('caller_id = ? AND server_id = ?', [callerId, server]))[0],

    deleteAllOf(callerId) {
      const { condition, values } = ownedBy(callerId);
      return remove(condition, values);
    },

    async deleteOfServers(servers) {
      const deleted: Credential[] = [];
      for (const server of servers) deleted.push(...(await remove('server_id = ?', [server])));
      return deleted;
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
