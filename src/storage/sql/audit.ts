import { setImmediate as nextTick } from 'node:timers/promises';
import { withoutPerson } from '../../core/callers/caller.ts';
import { keyIdOf, personCallerId, personIdOf } from '../../core/callers/people.ts';
import type { AuditAction, AuditEntry, AuditQuery, AuditStore } from '../../core/stores/audit-store.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { execute, mapped, selectAll, type Database, type SqlValue } from './database.ts';
import { deleteInParts } from './delete-in-parts.ts';

interface AuditRow {
  number: number;
  time: number;
  key_id: string;
  person_id: string | null;
  action: string;
  subject: string | null;
  owner_key: string | null;
  owner_person: string | null;
  detail: string | null;
}

const audit = { store: 'audit', table: 'audit', key: ['number'] } as const;
const columns = 'time, key_id, person_id, action, subject, owner_key, owner_person, detail';
/** Changed in one tick of the event loop. */
const rowsPerTick = 1_000;

/** Who changed and decided what. */
export function createAuditStore(database: Database): AuditStore {
  return {
    async add({ time, callerId, action, subject, ownerId, detail }) {
      const who = [keyIdOf(callerId), personIdOf(callerId) ?? null];
      const whose = ownerId === undefined ? [null, null] : [keyIdOf(ownerId), personIdOf(ownerId) ?? null];
      const values = [time, ...who, action, subject ?? null, ...whose, detail === undefined ? null : JSON.stringify(detail)];
      const sql = `INSERT INTO audit (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
      await database.write('audit', () => execute(sql, ...values));
    },

    async list(query) {
      const { condition, values } = conditionOf(query);
      const sql = `SELECT number, ${columns} FROM audit WHERE ${condition} ORDER BY number DESC LIMIT ?`;
      return database.read(() => mapped(selectAll<AuditRow>(sql, ...values, query.limit), (rows) => rows.map(toEntry)));
    },

    async prune({ time, maxOfKey }) {
      await deleteInParts(database, { ...audit, condition: 'time < ?', values: [time] });
      const place = 'SELECT number, row_number() OVER (PARTITION BY key_id ORDER BY number DESC) AS place FROM audit';
      const condition = `number IN (SELECT number FROM (${place}) AS placed WHERE place > ?)`;
      await deleteInParts(database, { ...audit, condition, values: [maxOfKey] });
    },

    async deleteAllOf(ownerId) {
      const [keyId, personId] = [keyIdOf(ownerId), personIdOf(ownerId)];
      const left = withoutPerson({ id: ownerId });
      for (const [key, person] of [
        ['key_id', 'person_id'],
        ['owner_key', 'owner_person'],
      ] as const) {
        const whose = personId === undefined ? `${person} IS NOT NULL` : `${person} = ?`;
        const found = `SELECT number FROM audit WHERE ${key} = ? AND ${whose} LIMIT ${rowsPerTick}`;
        const sql = `UPDATE audit SET ${key} = ?, ${person} = NULL WHERE number IN (${found})`;
        const values = [left, keyId, ...(personId === undefined ? [] : [personId])];
        while ((await database.write('audit', () => execute(sql, ...values))) === rowsPerTick) await nextTick();
      }
    },
  };
}

function conditionOf({ from, to, callerId, action, before }: AuditQuery): { condition: string; values: SqlValue[] } {
  const person = callerId === undefined ? undefined : personIdOf(callerId);
  const conditions: [sql: string, ...values: SqlValue[]][] = [['time BETWEEN ? AND ?', from, to]];
  if (callerId !== undefined) conditions.push(['key_id = ?', keyIdOf(callerId)]);
  if (person !== undefined) conditions.push(['person_id = ?', person]);
  if (action !== undefined) conditions.push(['(action = ? OR substr(action, 1, ?) = ?)', action, action.length + 1, `${action}.`]);
  if (before !== undefined) conditions.push(['number < ?', before]);
  return { condition: conditions.map(([sql]) => sql).join(' AND '), values: conditions.flatMap(([, ...values]) => values) };
}

function toEntry(row: AuditRow): AuditEntry {
  const { number: id, time, action, subject, detail } = row;
  return {
    id,
    time,
    callerId: callerOf(row.key_id, row.person_id),
    action: action as AuditAction,
    ...(subject !== null && { subject }),
    ...(row.owner_key !== null && { ownerId: callerOf(row.owner_key, row.owner_person) }),
    ...(detail !== null && { detail: JSON.parse(detail) as JsonObject }),
  };
}

function callerOf(keyId: string, personId: string | null): string {
  return personId === null ? keyId : personCallerId(keyId, personId);
}
