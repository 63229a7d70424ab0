import type { DatabaseSync } from 'node:sqlite';
import type { ApprovalAnswer, WaitingBounds, WaitingRun, WaitingRunStore } from '../core/approval.ts';
import { chooseLossesOfOthers } from '../shared/fair-shares.ts';
import type { Loss } from '../shared/fair-shares.ts';
import type { DatabaseConnection } from './database-connection.ts';
import { effectOf } from './decision-effect.ts';
import { createSecretCipher } from './encrypt-secrets.ts';
import type { SecretCipher } from './encrypt-secrets.ts';
import { sharesIn } from './sqlite-shares.ts';

/**
 * Runs that wait for approvals, in the gateway's SQLite file. The whole run is sealed: its request may hold keys of tool servers, and a
 * conversation is nobody else's business. To be given the connection of the registry.
 */
export function createSqliteWaitingRuns(connection: DatabaseConnection, secret: string): WaitingRunStore {
  const cipher = createSecretCipher(secret, 'waiting_run');
  return {
    keep(run, bounds) {
      const sealed = cipher.encrypt(JSON.stringify(run), runPlace(run));
      return connection.write((database) => {
        const losses = chooseLossesFor(database, run, { ...bounds, characters: sealed.length });
        if (losses === undefined) return { type: 'refused' };
        const givenUp = losses.map((loss) => String(loss.id));
        for (const other of givenUp) shut(database, other);
        database.prepare('DELETE FROM waiting_answers WHERE run_id = ?').run(run.id);
        const { id, callerId, waitId, expires } = run;
        database.prepare(insert).run(id, callerId, waitId, expires, sealed.length, sealed);
        return { type: 'kept', givenUp };
      });
    },

    find: (id) =>
      connection.read((database) => {
        const row = findRow(database, id);
        if (row === undefined) return undefined;
        if (!row.isOpen) return { callerId: row.callerId, type: 'closed' };
        const run = openRun(row, cipher);
        return run && { callerId: row.callerId, type: 'open', run };
      }),

    decide: ({ id, waitId, callId }, answer) =>
      connection.write((database) => {
        const row = findRow(database, id);
        const run = row?.isOpen === true && row.waitId === waitId ? openRun(row, cipher) : undefined;
        if (run === undefined) return { type: 'closed' };
        const effect = effectOf(run, answersOf(database, run, cipher), { callId, answer });
        if (effect.type === 'complete') shut(database, id);
        if (effect.type === 'noted') {
          const sealed = cipher.encrypt(JSON.stringify(answer), answerPlace(run, callId));
          database.prepare('INSERT INTO waiting_answers (run_id, call_id, answer) VALUES (?, ?, ?)').run(id, callId, sealed);
        }
        return effect;
      }),

    close: (id) => connection.write((database) => shut(database, id)),

    openIds: (time) =>
      connection.read((database) =>
        database
          .prepare('SELECT id FROM waiting_runs WHERE is_open = 1 AND expires >= ?')
          .all(time)
          .map((row) => String(row['id'])),
      ),

    async prune(time) {
      // Most times there is nothing, and a write would wait for locks.
      const isAny = await connection.read((database) => database.prepare('SELECT 1 FROM waiting_runs WHERE expires < ? LIMIT 1').get(time));
      if (isAny === undefined) return;
      await connection.write((database) => {
        database.prepare('DELETE FROM waiting_answers WHERE run_id IN (SELECT id FROM waiting_runs WHERE expires < ?)').run(time);
        database.prepare('DELETE FROM waiting_runs WHERE expires < ?').run(time);
      });
    },
  };
}

const insert = `INSERT INTO waiting_runs (id, caller_id, wait_id, expires, is_open, characters, run) VALUES (?, ?, ?, ?, 1, ?, ?)
  ON CONFLICT (id) DO UPDATE SET caller_id = excluded.caller_id, wait_id = excluded.wait_id, expires = excluded.expires, is_open = 1,
  characters = excluded.characters, run = excluded.run`;

interface Row {
  id: string;
  callerId: string;
  waitId: string;
  isOpen: boolean;
  run: string;
}

function findRow(database: DatabaseSync, id: string): Row | undefined {
  const row = database.prepare('SELECT caller_id, wait_id, is_open, run FROM waiting_runs WHERE id = ?').get(id);
  if (row === undefined) return undefined;
  return { id, callerId: String(row['caller_id']), waitId: String(row['wait_id']), isOpen: row['is_open'] === 1, run: String(row['run']) };
}

function openRun(row: Row, cipher: SecretCipher): WaitingRun | undefined {
  const text = cipher.decrypt(row.run, runPlace(row));
  return text === undefined ? undefined : (JSON.parse(text) as WaitingRun);
}

function answersOf(database: DatabaseSync, run: WaitingRun, cipher: SecretCipher): Map<string, ApprovalAnswer> {
  const answers = new Map<string, ApprovalAnswer>();
  for (const row of database.prepare('SELECT call_id, answer FROM waiting_answers WHERE run_id = ?').all(run.id)) {
    const callId = String(row['call_id']);
    const text = cipher.decrypt(String(row['answer']), answerPlace(run, callId));
    if (text !== undefined) answers.set(callId, JSON.parse(text) as ApprovalAnswer);
  }
  return answers;
}

function shut(database: DatabaseSync, id: string): boolean {
  const { changes } = database
    .prepare(`UPDATE waiting_runs SET is_open = 0, run = '', characters = 0 WHERE id = ? AND is_open = 1`)
    .run(id);
  database.prepare('DELETE FROM waiting_answers WHERE run_id = ?').run(id);
  return Number(changes) > 0;
}

/** Undefined where the run's own caller has too many, or the most. */
function chooseLossesFor(
  database: DatabaseSync,
  { id, callerId }: WaitingRun,
  { characters, maxOfCaller, maxCharacters }: WaitingBounds & { characters: number },
): Loss<string | number>[] | undefined {
  const where = 'is_open = 1 AND id <> ?';
  const shares = sharesIn(database, { table: 'waiting_runs', id: 'id', where, values: [id], order: 'expires, id' });
  const own = shares.find(({ owner }) => owner === callerId);
  if (own !== undefined && own.entries >= maxOfCaller) return undefined;
  return chooseLossesOfOthers({ owner: callerId, characters }, shares, { entries: Infinity, characters: maxCharacters });
}

function runPlace({ id, waitId }: { id: string; waitId: string }): { id: string; field: string } {
  return { id, field: `run:${waitId}` };
}

function answerPlace({ id, waitId }: WaitingRun, callId: string): { id: string; field: string } {
  return { id, field: `answer:${waitId}:${callId}` };
}
