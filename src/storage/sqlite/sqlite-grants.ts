import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import {
  unusedClientMs,
  type GrantBounds,
  type GrantFilter,
  type GrantRecord,
  type GrantRecordKind,
  type GrantStore,
} from '../../core/stores/grant-store.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { createSecretCipher } from '../secrets/encrypt-secrets.ts';
import type { DatabaseConnection } from './connection/database-connection.ts';
import { deleteInParts } from './connection/delete-in-parts.ts';
import { execute, selectAll, selectFirst } from './connection/select.ts';
import { ownedBy } from './owned-by.ts';

interface GrantRow {
  kind: GrantRecordKind;
  id: string;
  client_id: string;
  caller_id: string;
  grant_id: string | null;
  expires: number;
  used: number | null;
  value: string;
}

const columns = 'kind, id, client_id, caller_id, grant_id, expires, used, value';

/** What the authorization server stores, encrypted one by one and bound to its ids, on the registry's connection. */
export function createSqliteGrants(connection: DatabaseConnection, { secret, now }: { secret: string; now: () => number }): GrantStore {
  const cipher = createSecretCipher(secret, 'grant');
  async function remove(condition: string, values: readonly SQLInputValue[]): Promise<void> {
    const deleted = await deleteInParts(connection, { table: 'grant_records', key: ['position'], condition, values });
    if (deleted.length === 0) return;
    const end = now() + unusedClientMs;
    const sql = `UPDATE grant_records SET expires = ? WHERE kind = 'client' AND expires > ? AND ${unusedClient}`;
    await connection.write((database) => execute(database, sql, end, end));
  }

  function read(row: GrantRow): GrantRecord | undefined {
    const { kind, id, client_id: clientId, caller_id: ownerId, grant_id: grantId, expires, used, value } = row;
    const record = { kind, id, clientId, ownerId, expires, ...(grantId !== null && { grantId }) };
    const text = cipher.decrypt(value, fieldOf(record));
    return text === undefined ? undefined : { ...record, ...(used !== null && { used }), value: JSON.parse(text) as JsonObject };
  }

  return {
    save(record, bounds) {
      const { kind, id, clientId, ownerId, grantId, expires, used } = record;
      const value = cipher.encrypt(JSON.stringify(record.value), fieldOf(record));
      return connection.write(
        (database) => {
          execute(database, 'DELETE FROM grant_records WHERE expires <= ? OR (kind = ? AND id = ?)', bounds.time, kind, id);
          if (!makeRoom(database, record, bounds)) return false;
          const sql = `INSERT INTO grant_records (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
          execute(database, sql, kind, id, clientId, ownerId, grantId ?? null, expires, used ?? null, value);
          return true;
        },
        { callerId: ownerId, characters: value.length },
      );
    },

    find: (kind, id, time) =>
      connection.read((database) => {
        const sql = `SELECT ${columns} FROM grant_records WHERE kind = ? AND id = ? AND expires > ?`;
        const row = selectFirst<GrantRow>(database, sql, kind, id, time);
        return row && read(row);
      }),

    use(kind, id, { time, keepUntil }) {
      const sql = 'UPDATE grant_records SET used = ?, expires = min(expires, ?) WHERE kind = ? AND id = ? AND expires > ? AND used IS NULL';
      return connection.write((database) => execute(database, sql, time, keepUntil, kind, id, time) === 1);
    },

    async noteUse(grantId, time) {
      const sql = `UPDATE grant_records SET used = ? WHERE kind = 'authorization' AND grant_id = ?`;
      await connection.write((database) => execute(database, sql, time, grantId));
    },

    async keepClient(clientId, expires) {
      const sql = `UPDATE grant_records SET expires = ? WHERE kind = 'client' AND client_id = ? AND expires < ?`;
      await connection.write((database) => execute(database, sql, expires, clientId, expires));
    },

    list: (kind, filter, time) =>
      connection.read((database) => {
        const { condition, values } = conditionOf(filter);
        const sql = `SELECT ${columns} FROM grant_records WHERE kind = ? AND expires > ? AND ${condition} ORDER BY position DESC`;
        return selectAll<GrantRow>(database, sql, kind, time, ...values).flatMap((row) => read(row) ?? []);
      }),

    async delete(kind, id) {
      await connection.write((database) => execute(database, 'DELETE FROM grant_records WHERE kind = ? AND id = ?', kind, id));
    },

    async deleteGrant(grantId) {
      await remove(`grant_id = ? OR (kind = 'grant' AND id = ?)`, [grantId, grantId]);
    },

    async deleteClient(clientId, ownerId) {
      const { condition, values } = conditionOf({ clientId, ...(ownerId !== undefined && { ownerId }) });
      await remove(condition, values);
    },

    async deleteAllOf(ownerId) {
      const { condition, values } = ownedBy(ownerId);
      await remove(condition, values);
    },
  };
}

function conditionOf({ ownerId, clientId }: GrantFilter): { condition: string; values: SQLInputValue[] } {
  const owned = ownerId === undefined ? { condition: 'true', values: [] } : ownedBy(ownerId);
  if (clientId === undefined) return owned;
  return { condition: `${owned.condition} AND client_id = ?`, values: [...owned.values, clientId] };
}

/** A client to which nobody has granted anything. */
const unusedClient = `(kind <> 'client' OR NOT EXISTS (SELECT 1 FROM grant_records given WHERE given.kind = 'grant' AND given.client_id = grant_records.client_id))`;

function makeRoom(database: DatabaseSync, record: GrantRecord, { max, maxOfOwner }: GrantBounds): boolean {
  const { kind, ownerId, grantId } = record;
  const [owner, value] = grantId === undefined ? ['caller_id', ownerId] : ['grant_id', grantId];
  const ofOwner = `SELECT position FROM grant_records WHERE kind = ? AND ${owner} = ? AND ${unusedClient} ORDER BY position DESC LIMIT 1 OFFSET ?`;
  const last = selectFirst<{ position: number }>(database, ofOwner, kind, value, maxOfOwner - 1);
  if (last !== undefined)
    execute(
      database,
      `DELETE FROM grant_records WHERE kind = ? AND ${owner} = ? AND position <= ? AND ${unusedClient}`,
      kind,
      value,
      last.position,
    );
  if (max === undefined) return true;
  const count = selectFirst<{ entries: number }>(database, 'SELECT count(*) AS entries FROM grant_records WHERE kind = ?', kind);
  if ((count?.entries ?? 0) < max) return true;
  const loser = `SELECT caller_id, count(*) AS entries FROM grant_records WHERE kind = ? AND ${unusedClient} GROUP BY caller_id ORDER BY entries DESC LIMIT 1`;
  const most = selectFirst<{ caller_id: string }>(database, loser, kind);
  if (most === undefined) return false;
  const oldest = `SELECT min(position) FROM grant_records WHERE kind = ? AND caller_id = ? AND ${unusedClient}`;
  return execute(database, `DELETE FROM grant_records WHERE position = (${oldest})`, kind, most.caller_id) === 1;
}

/** Bound to all ids, so that a row cannot be made another caller's, client's or grant's. */
function fieldOf({ kind, id, clientId, ownerId, grantId }: Omit<GrantRecord, 'value' | 'expires'>): { id: string; field: string } {
  return { id, field: JSON.stringify([kind, clientId, ownerId, grantId ?? null]) };
}
