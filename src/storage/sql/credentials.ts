import { randomUUID } from 'node:crypto';
import { setImmediate as nextTick } from 'node:timers/promises';
import type { Credential, CredentialStore } from '../../core/sign-in/credentials.ts';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import { keyIdOf } from '../../core/callers/people.ts';
import { createSecretCipher, type SecretCipher } from '../secrets/encrypt-secrets.ts';
import { deleteInParts } from './delete-in-parts.ts';
import { ownedBy } from './owned-by.ts';
import { execute, hasChanged, mapped, selectAll, selectFirst, type Database, type Script, type SqlValue } from './database.ts';

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
const findSql = `SELECT ${columns} FROM credentials WHERE caller_id = ? AND server_id = ?`;
const replaceSql = `UPDATE credentials SET value = ?, revision = ?, leased_until = NULL ${whereCurrent}`;
const claimSql = `UPDATE credentials SET leased_until = ? ${whereCurrent} AND (leased_until IS NULL OR leased_until <= ?)`;
const releaseSql = `UPDATE credentials SET leased_until = NULL ${whereCurrent} AND leased_until = ?`;
/** Each takes some hundredths of a millisecond to decrypt. */
const decryptedPerTick = 200;

/** Credentials of people, encrypted one by one and bound to caller and server. */
export function createCredentialStore(database: Database, secret: string): CredentialStore {
  const cipher = createSecretCipher(secret, 'credential');
  const removal = { database, cipher };

  return {
    save(callerId, server, credential) {
      const value = encrypt(cipher, credential, { callerId, server });
      return database.write('credentials', () => save(callerId, server, value), { callerId, characters: value.length });
    },

    find: (callerId, server) =>
      database.read(() =>
        mapped(selectFirst<CredentialRow>(findSql, callerId, server), (row) => {
          const credential = row && read(cipher, row);
          return credential && row && { credential, revision: row.revision };
        }),
      ),

    listOf: (callerId) =>
      database.read(() =>
        mapped(selectAll<CredentialRow>(`SELECT ${columns} FROM credentials WHERE caller_id = ?`, callerId), (rows) => {
          const credentials = rows.map((row) => [row.server_id, read(cipher, row)] as const);
          return new Map(credentials.flatMap(([server, credential]) => (credential === undefined ? [] : [[server, credential]])));
        }),
      ),

    replace(callerId, server, { revision, credential }) {
      const value = encrypt(cipher, credential, { callerId, server });
      return database.write('credentials', () => hasChanged(replaceSql, value, randomUUID(), callerId, server, revision), {
        callerId,
        characters: value.length,
      });
    },

    claim: (callerId, server, { revision, now, until }) =>
      database.write('credentials', () => hasChanged(claimSql, until, callerId, server, revision, now), { callerId }),

    async release(callerId, server, { revision, until }) {
      await database.write('credentials', () => execute(releaseSql, callerId, server, revision, until), { callerId });
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

function* save(callerId: string, server: string, value: string): Script<void> {
  yield* execute(saveSql, callerId, server, value, randomUUID());
  yield* requireRoom(keyIdOf(callerId));
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
  { database, cipher }: { database: Database; cipher: SecretCipher },
  condition: string,
  values: readonly SqlValue[],
): Promise<Credential[]> {
  const rows = await deleteInParts<CredentialRow>(database, {
    store: 'credentials',
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
function* requireRoom(keyId: string): Script<void> {
  const { condition, values } = ownedBy(keyId);
  const row = yield* selectFirst<{ stored: number }>(`SELECT count(*) AS stored FROM credentials WHERE ${condition}`, ...values);
  if ((row?.stored ?? 0) <= limits.credentialsPerKey) return;
  throw new GatewayError(
    'conflict',
    `This key and its people have ${limits.credentialsPerKey} credentials already. Delete some of them first (DELETE /api/credentials/{server}).`,
  );
}

function fieldOf(server: string): string {
  return `credential:${server}`;
}
