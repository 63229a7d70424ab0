import { randomUUID } from 'node:crypto';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { setImmediate as nextTick } from 'node:timers/promises';
import type { Credential, CredentialStore } from '../../core/sign-in/credentials.ts';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import { keyIdOf } from '../../core/callers/people.ts';
import { createSecretCipher, type SecretCipher } from '../secrets/encrypt-secrets.ts';
import type { DatabaseConnection } from './connection/database-connection.ts';
import { deleteInParts } from './connection/delete-in-parts.ts';
import { ownedBy } from './owned-by.ts';
import { execute, selectAll, selectFirst } from './connection/select.ts';

interface CredentialRow {
  caller_id: string;
  server_id: string;
  value: string;
  revision: string;
}

const columns = 'caller_id, server_id, value, revision';
const saveSql = `INSERT INTO credentials (${columns}) VALUES (?, ?, ?, ?)
  ON CONFLICT (caller_id, server_id) DO UPDATE SET value = excluded.value, revision = excluded.revision, leased_until = NULL`;
const whereCurrent = 'WHERE caller_id = ? AND server_id = ? AND revision = ?';
const replaceSql = `UPDATE credentials SET value = ?, revision = ?, leased_until = NULL ${whereCurrent}`;
const claimSql = `UPDATE credentials SET leased_until = ? ${whereCurrent} AND (leased_until IS NULL OR leased_until <= ?)`;
const releaseSql = `UPDATE credentials SET leased_until = NULL ${whereCurrent} AND leased_until = ?`;
/** Each takes some hundredths of a millisecond to decrypt. */
const decryptedPerTick = 200;

/** Credentials of people, encrypted one by one and bound to caller and server, on the registry's connection (see `createSqliteRuns`). */
export function createSqliteCredentials(connection: DatabaseConnection, secret: string): CredentialStore {
  const cipher = createSecretCipher(secret, 'credential');
  const removal = { connection, cipher };

  return {
    save(callerId, server, credential) {
      const value = encrypt(cipher, credential, { callerId, server });
      return connection.write(
        (database) => {
          execute(database, saveSql, callerId, server, value, randomUUID());
          requireRoom(database, keyIdOf(callerId));
        },
        { callerId, characters: value.length },
      );
    },

    find: (callerId, server) =>
      connection.read((database) => {
        const sql = `SELECT ${columns} FROM credentials WHERE caller_id = ? AND server_id = ?`;
        const row = selectFirst<CredentialRow>(database, sql, callerId, server);
        const credential = row && read(cipher, row);
        return credential && row && { credential, revision: row.revision };
      }),

    listOf: (callerId) =>
      connection.read((database) => {
        const rows = selectAll<CredentialRow>(database, `SELECT ${columns} FROM credentials WHERE caller_id = ?`, callerId);
        const credentials = rows.map((row) => [row.server_id, read(cipher, row)] as const);
        return new Map(credentials.flatMap(([server, credential]) => (credential === undefined ? [] : [[server, credential]])));
      }),

    replace(callerId, server, { revision, credential }) {
      const value = encrypt(cipher, credential, { callerId, server });
      return connection.write((database) => execute(database, replaceSql, value, randomUUID(), callerId, server, revision) > 0, {
        callerId,
        characters: value.length,
      });
    },

    claim: (callerId, server, { revision, now, until }) =>
      connection.write((database) => execute(database, claimSql, until, callerId, server, revision, now) > 0, { callerId }),

    async release(callerId, server, { revision, until }) {
      await connection.write((database) => execute(database, releaseSql, callerId, server, revision, until), { callerId });
    },

    delete: async (callerId, server) => (await remove(removal, 'caller_id = ? AND server_id = ?', [callerId, server]))[0],

    deleteAllOf(callerId) {
      const { condition, values } = ownedBy(callerId);
      return remove(removal, condition, values);
    },

    async deleteOfServers(servers) {
      const deleted: Credential[] = [];
      for (const server of servers) deleted.push(...(await remove(removal, 'server_id = ?', [server])));
      return deleted;
    },
  };
}

/** Undefined if it was encrypted with another secret. */
function read(cipher: SecretCipher, { caller_id: callerId, server_id: server, value }: CredentialRow): Credential | undefined {
  const text = cipher.decrypt(value, { id: callerId, field: fieldOf(server) });
  return text === undefined ? undefined : (JSON.parse(text) as Credential);
}

function encrypt(cipher: SecretCipher, credential: Credential, { callerId, server }: { callerId: string; server: string }): string {
  return cipher.encrypt(JSON.stringify(credential), { id: callerId, field: fieldOf(server) });
}

/** Returns the credentials that were removed, so that the caller can revoke them. */
async function remove(
  { connection, cipher }: { connection: DatabaseConnection; cipher: SecretCipher },
  condition: string,
  values: readonly SQLInputValue[],
): Promise<Credential[]> {
  const rows = await deleteInParts<CredentialRow>(connection, {
    table: 'credentials',
    key: ['caller_id', 'server_id'],
    columns: ['value', 'revision'],
    condition,
    values,
  });
  const removed: Credential[] = [];
  for (let start = 0; start < rows.length; start += decryptedPerTick) {
    removed.push(...rows.slice(start, start + decryptedPerTick).flatMap((row) => read(cipher, row) ?? []));
    await nextTick();
  }
  return removed;
}

/** Counts a key together with all its people, so that inventing people takes no room from other keys. Throws within the transaction, which rolls back. */
function requireRoom(database: DatabaseSync, keyId: string): void {
  const { condition, values } = ownedBy(keyId);
  const row = selectFirst<{ stored: number }>(database, `SELECT count(*) AS stored FROM credentials WHERE ${condition}`, ...values);
  if ((row?.stored ?? 0) <= limits.credentialsPerKey) return;
  throw new GatewayError(
    'conflict',
    `This key and its people have ${limits.credentialsPerKey} credentials already. Delete some of them first (DELETE /api/credentials/{server}).`,
  );
}

function fieldOf(server: string): string {
  return `credential:${server}`;
}
