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
import { execute, hasChanged, mapped, selectAll, selectFirst, type Database, type Script, type SqlValue } from './database.ts';
import { deleteInParts } from './delete-in-parts.ts';
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

/** What the authorization server stores, encrypted one by one and bound to its ids. */
export function createGrantStore(database: Database, { secret, now }: { secret: string; now: () => number }): GrantStore {
  const cipher = createSecretCipher(secret, 'grant');
  const change = (sql: string, ...values: SqlValue[]): Promise<number> => database.write('grants', () => execute(sql, ...values));

  async function remove(condition: string, values: readonly SqlValue[]): Promise<void> {
    const deleted = await deleteInParts(database, { store: 'grants', table: 'grant_records', key: ['position'], condition, values });
    if (deleted.length === 0) return;
    const end = now() + unusedClientMs;
    await change(`UPDATE grant_records SET expires = ? WHERE kind = 'client' AND expires > ? AND ${unusedClient}`, end, end);
  }

  function read(row: GrantRow): GrantRecord | undefined {
    const { kind, id, client_id: clientId, caller_id: ownerId, grant_id: grantId, expires, used, value } = row;
    const record = { kind, id, clientId, ownerId, expires, ...(grantId !== null && { grantId }) };
    const text = cipher.decrypt(value, fieldOf(record));
    return text === undefined ? undefined : { ...record, ...(used !== null && { used }), value: JSON.parse(text) as JsonObject };
  }

  return {
    save(record, bounds) {
      const value = cipher.encrypt(JSON.stringify(record.value), fieldOf(record));
      return database.write('grants', () => save(record, value, bounds), { callerId: record.ownerId, characters: value.length });
    },

    find: (kind, id, time) =>
      database.read(() =>
        mapped(
          selectFirst<GrantRow>(`SELECT ${columns} FROM grant_records WHERE kind = ? AND id = ? AND expires > ?`, kind, id, time),
          (row) => row && read(row),
        ),
      ),

    use(kind, id, { time, keepUntil }) {
      const sql = `UPDATE grant_records SET used = ?, expires = CASE WHEN expires < ? THEN expires ELSE ? END
        WHERE kind = ? AND id = ? AND expires > ? AND used IS NULL`;
      return database.write('grants', () => hasChanged(sql, time, keepUntil, keepUntil, kind, id, time));
    },

    async noteUse(grantId, time) {
      await change(`UPDATE grant_records SET used = ? WHERE kind = 'authorization' AND grant_id = ?`, time, grantId);
    },

    async keepClient(clientId, expires) {
      await change(
        `UPDATE grant_records SET expires = ? WHERE kind = 'client' AND client_id = ? AND expires < ?`,
        expires,
        clientId,
        expires,
      );
    },

    list(kind, filter, time) {
      const { condition, values } = conditionOf(filter);
      const sql = `SELECT ${columns} FROM grant_records WHERE kind = ? AND expires > ? AND ${condition} ORDER BY position DESC`;
      return database.read(() => mapped(selectAll<GrantRow>(sql, kind, time, ...values), (rows) => rows.flatMap((row) => read(row) ?? [])));
    },

    async delete(kind, id) {
      await change('DELETE FROM grant_records WHERE kind = ? AND id = ?', kind, id);
    },

    async deleteGrant(grantId) {
      await remove(`(grant_id = ? OR (kind = 'grant' AND id = ?))`, [grantId, grantId]);
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

function conditionOf({ ownerId, clientId }: GrantFilter): { condition: string; values: SqlValue[] } {
  const owned = ownerId === undefined ? { condition: 'true', values: [] } : ownedBy(ownerId);
  if (clientId === undefined) return owned;
  return { condition: `${owned.condition} AND client_id = ?`, values: [...owned.values, clientId] };
}

/** A client to which nobody has granted anything, and all that is no client. */
const unusedClient = `(kind <> 'client' OR NOT EXISTS
  (SELECT 1 FROM grant_records AS given WHERE given.kind = 'grant' AND given.client_id = grant_records.client_id))`;

/** `value`: encrypted. */
function* save(record: GrantRecord, value: string, bounds: GrantBounds): Script<boolean> {
  const { kind, id, clientId, ownerId, grantId, expires, used } = record;
  yield* execute('DELETE FROM grant_records WHERE expires <= ? OR (kind = ? AND id = ?)', bounds.time, kind, id);
  if (!(yield* makeRoom(record, bounds))) return false;
  const sql = `INSERT INTO grant_records (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
  yield* execute(sql, kind, id, clientId, ownerId, grantId ?? null, expires, used ?? null, value);
  return true;
}

/** False if nothing may go to make room. */
function* makeRoom({ kind, ownerId, grantId }: GrantRecord, { max, maxOfOwner }: GrantBounds): Script<boolean> {
  const [owner, value] = grantId === undefined ? ['caller_id', ownerId] : ['grant_id', grantId];
  const ofOwner = `kind = ? AND ${owner} = ? AND ${unusedClient}`;
  const newest = `SELECT position FROM grant_records WHERE ${ofOwner} ORDER BY position DESC LIMIT 1 OFFSET ?`;
  const last = yield* selectFirst<{ position: number }>(newest, kind, value, maxOfOwner - 1);
  if (last !== undefined) yield* execute(`DELETE FROM grant_records WHERE ${ofOwner} AND position <= ?`, kind, value, last.position);
  if (max === undefined) return true;
  const all = yield* selectFirst<{ entries: number }>('SELECT count(*) AS entries FROM grant_records WHERE kind = ?', kind);
  if ((all?.entries ?? 0) < max) return true;
  const holders = `SELECT caller_id, count(*) AS entries FROM grant_records WHERE kind = ? AND ${unusedClient}
    GROUP BY caller_id ORDER BY entries DESC LIMIT 1`;
  const most = yield* selectFirst<{ caller_id: string }>(holders, kind);
  if (most === undefined) return false;
  const oldest = `SELECT position FROM grant_records WHERE kind = ? AND caller_id = ? AND ${unusedClient} ORDER BY position LIMIT 1`;
  return (yield* execute(`DELETE FROM grant_records WHERE position = (${oldest})`, kind, most.caller_id)) === 1;
}

/** Bound to all ids, so that a row cannot be made another caller's, client's or grant's. */
function fieldOf({ kind, id, clientId, ownerId, grantId }: Omit<GrantRecord, 'value' | 'expires'>): { id: string; field: string } {
  return { id, field: JSON.stringify([kind, clientId, ownerId, grantId ?? null]) };
}
