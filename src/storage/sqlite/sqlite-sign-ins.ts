import type { DatabaseSync } from 'node:sqlite';
import type { BegunSignIn, SignInBounds, SignInStore, StoredSignIn } from '../../core/stores/sign-in-store.ts';
import { createSecretCipher } from '../secrets/encrypt-secrets.ts';
import type { DatabaseConnection } from './connection/database-connection.ts';
import { deleteInParts } from './connection/delete-in-parts.ts';
import { ownedBy } from './owned-by.ts';
import { execute, selectFirst } from './connection/select.ts';
import { lossesIn } from './sqlite-shares.ts';

interface SignInRow {
  id: string;
  caller_id: string;
  server_id: string;
  expires: number;
  is_used: number;
  value: string;
  begun: string | null;
}

const columns = 'id, caller_id, server_id, expires, is_used, value, begun';

/** Links and sign-ins, encrypted one by one, on the registry's connection (see `createSqliteRuns`). */
export function createSqliteSignIns(connection: DatabaseConnection, secret: string): SignInStore {
  const cipher = createSecretCipher(secret, 'sign_in');

  function read({ id, caller_id: callerId, server_id: server, expires, is_used: used, value }: SignInRow): StoredSignIn | undefined {
    const text = cipher.decrypt(value, { id, field: fieldOf(callerId, server) });
    return text === undefined ? undefined : { ...(JSON.parse(text) as object), id, callerId, server, expires, isUsed: used === 1 };
  }

  return {
    add({ id, callerId, server, expires, person }, bounds) {
      const value = cipher.encrypt(JSON.stringify({ person }), { id, field: fieldOf(callerId, server) });
      return connection.write(
        (database) => {
          execute(database, 'DELETE FROM sign_ins WHERE expires <= ?', bounds.time);
          const sql = 'INSERT INTO sign_ins (id, caller_id, server_id, expires, is_used, characters, value) VALUES (?, ?, ?, ?, 0, ?, ?)';
          execute(database, sql, id, callerId, server, expires, value.length, value);
          enforceBounds(database, callerId, bounds);
        },
        { callerId, characters: value.length },
      );
    },

    find: (id, time) =>
      connection.read((database) => {
        const row = selectFirst<SignInRow>(database, `SELECT ${columns} FROM sign_ins WHERE id = ? AND expires > ?`, id, time);
        return row && read(row);
      }),

    use(id, time, begun) {
      const sealed = begun && cipher.encrypt(JSON.stringify(begun), { id, field: 'begun' });
      const sql = `UPDATE sign_ins SET is_used = 1, state = ?, state_expires = ?, begun = ?, characters = characters + ?
        WHERE id = ? AND is_used = 0 AND expires > ?`;
      const values = [begun?.state ?? null, begun?.expires ?? null, sealed ?? null, sealed?.length ?? 0, id, time] as const;
      return connection.write((database) => execute(database, sql, ...values) === 1);
    },

    findBegun: (state, time) =>
      connection.read((database) => {
        const sql = `SELECT ${columns} FROM sign_ins WHERE state = ? AND state_expires > ?`;
        const row = selectFirst<SignInRow>(database, sql, state, time);
        const signIn = row && read(row);
        const begun = row?.begun == null ? undefined : cipher.decrypt(row.begun, { id: row.id, field: 'begun' });
        return signIn && begun !== undefined ? { ...signIn, begun: JSON.parse(begun) as BegunSignIn } : undefined;
      }),

    finish(state, time) {
      const sql = `UPDATE sign_ins SET state = NULL, state_expires = NULL, begun = NULL, characters = length(value)
        WHERE state = ? AND state_expires > ?`;
      return connection.write((database) => execute(database, sql, state, time) === 1);
    },

    async deleteAllOf(callerId) {
      const { condition, values } = ownedBy(callerId);
      await deleteInParts(connection, { table: 'sign_ins', key: ['position'], condition, values });
    },

    async deleteOfServers(servers) {
      const condition = 'server_id = ?';
      for (const server of servers) await deleteInParts(connection, { table: 'sign_ins', key: ['position'], condition, values: [server] });
    },
  };
}

function enforceBounds(database: DatabaseSync, callerId: string, { maxOfCaller, max, maxCharacters }: SignInBounds): void {
  const newest = 'SELECT position FROM sign_ins WHERE caller_id = ? ORDER BY position DESC LIMIT -1 OFFSET ?';
  execute(database, `DELETE FROM sign_ins WHERE position IN (${newest})`, callerId, maxOfCaller);
  const shared = { table: 'sign_ins', id: 'position', where: 'true', order: 'position' } as const;
  for (const { id } of lossesIn(database, shared, { entries: max, characters: maxCharacters }))
    execute(database, 'DELETE FROM sign_ins WHERE position = ?', id);
}

/** Bound to both, so that a row cannot be made another caller's. */
function fieldOf(callerId: string, server: string): string {
  return JSON.stringify([callerId, server]);
}
