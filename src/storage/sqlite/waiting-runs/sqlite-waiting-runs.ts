import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { ApprovalAnswer } from '../../../core/user-input/approval.ts';
import {
  failedRunPrefix,
  type DecisionEffect,
  type FailedRun,
  type SaveResult,
  type WaitingBounds,
  type WaitingRun,
  type WaitingRunStore,
} from '../../../core/runs/suspended-run.ts';
import { parseExactly } from '../../../shared/json/parse-exactly.ts';
import { createSecretCipher, type SecretCipher } from '../../secrets/encrypt-secrets.ts';
import type { DatabaseConnection } from '../connection/database-connection.ts';
import { deleteInParts } from '../connection/delete-in-parts.ts';
import { execute, selectAll, selectFirst } from '../connection/select.ts';
import { ownedBy } from '../owned-by.ts';
import { WaitingRunParts, stringifyInTicks } from './waiting-run-parts.ts';
import { chatKeyOf, chooseLossesFor, closeRow, fieldOf, findRow, insertRow, type WaitingRunRow } from './waiting-run-rows.ts';

/**
 * Suspended runs, on the registry's connection (see `createSqliteRuns`). The whole run is encrypted: its request may contain keys of tool servers, and
 * the conversation is private.
 *
 * A large run is written in parts, so that it does not block the event loop. Its row holds the first part and is written last, which commits the run.
 * A process that is killed in between leaves parts without a row; they are removed when the run would have expired.
 */
export function createSqliteWaitingRuns(connection: DatabaseConnection, secret: string): WaitingRunStore {
  const cipher = createSecretCipher(secret, 'waiting_run');
  const database: RunDatabase = { connection, cipher, parts: new WaitingRunParts(connection, cipher) };

  return {
    save: (run, bounds) => save(database, run, bounds),

    async findHead(id) {
      const row = await connection.read((opened) => findRow(opened, id));
      return row && { callerId: row.callerId, waitId: row.waitId, expires: row.expires, isOpen: row.isOpen === 1 };
    },

    async find(id) {
      const { row, run } = await load(database, id);
      if (row === undefined || isFailed(row)) return undefined;
      if (row.isOpen === 0) return { callerId: row.callerId, type: 'closed' };
      if (run === undefined || isFailed(run)) return undefined;
      return { callerId: row.callerId, type: 'open', run, answers: await connection.read((opened) => answersOf(opened, run, cipher)) };
    },

    decide: (call, answer) => decide(database, call, answer),

    async close(id, waitId) {
      const partsId = await connection.write((opened) =>
        waitId === undefined || findRow(opened, id)?.waitId === waitId ? closeRow(opened, id) : undefined,
      );
      if (partsId === undefined) return false;
      await database.parts.remove([partsId]);
      return true;
    },

    claimFailed: (key, time) => claimFailed(database, key, time),

    callersWithFailed: (time) =>
      connection.read((opened) =>
        selectAll<{ callerId: string; expires: number }>(
          opened,
          `SELECT caller_id AS callerId, max(expires) AS expires FROM waiting_runs WHERE is_open = 1 AND expires > ? AND ${isFailedRow} GROUP BY caller_id`,
          time,
        ),
      ),

    openIds: (time) => selectIds(connection, `is_open = 1 AND expires >= ? AND NOT ${isFailedRow}`, time),
    openIdsOf: (callerId, conversation) => selectIds(connection, 'chat = ? AND is_open = 1', chatKeyOf(callerId, conversation)),

    async deleteAllOf(callerId) {
      const { condition, values } = ownedBy(callerId);
      await removeRuns(database, condition, values);
    },

    async prune(time) {
      await removeRuns(database, 'expires < ?', [time]);
      const sql = 'SELECT DISTINCT parts_id AS partsId FROM waiting_run_parts WHERE expires < ?';
      const orphaned = await connection.read((opened) => selectAll<{ partsId: string }>(opened, sql, time));
      await database.parts.remove(orphaned.map(({ partsId }) => partsId));
    },
  };
}

interface RunDatabase {
  connection: DatabaseConnection;
  cipher: SecretCipher;
  parts: WaitingRunParts;
}

const isFailedRow = `id LIKE '${failedRunPrefix}%'`;

function isFailed(run: { id: string }): run is FailedRun {
  return run.id.startsWith(failedRunPrefix);
}

async function claimFailed({ connection, cipher, parts }: RunDatabase, key: string, time: number): Promise<FailedRun | undefined> {
  const sql = `SELECT id FROM waiting_runs WHERE chat = ? AND is_open = 1 AND expires > ? AND ${isFailedRow} ORDER BY expires, id LIMIT 1`;
  for (;;) {
    const found = await connection.read((database) => selectFirst<{ id: string }>(database, sql, key, time));
    if (found === undefined) return undefined;
    const { row, run } = await load({ connection, cipher, parts }, found.id);
    const partsId = await connection.write((database) =>
      findRow(database, found.id)?.encrypted === row?.encrypted ? closeRow(database, found.id) : undefined,
    );
    // Another request may have taken it since it was found.
    if (partsId === undefined) continue;
    await parts.remove([partsId]);
    if (run !== undefined && isFailed(run)) return run;
  }
}

async function save({ connection, parts }: RunDatabase, run: WaitingRun | FailedRun, bounds: WaitingBounds): Promise<SaveResult> {
  const text = await stringifyInTicks(run);
  if (text.length > bounds.maxRunCharacters) return { type: 'too_large' };
  // Check before writing anything. The encrypted text is longer, so the transaction checks again.
  const earlyLosses = await connection.read((database) => chooseLossesFor(database, run, { ...bounds, characters: text.length }));
  if (earlyLosses === undefined) return { type: 'refused' };
  const written = await parts.write(run, text);
  let obsolete = [written.partsId];
  try {
    const saved = await connection.write(
      (database) => {
        const losses = chooseLossesFor(database, run, { ...bounds, characters: written.characters });
        if (losses === undefined) return undefined;
        const closedIds = losses.map((loss) => String(loss.id));
        const partsIds = [run.id, ...closedIds].flatMap((id) => closeRow(database, id) ?? []);
        insertRow(database, run, written);
        return { closedIds, partsIds };
      },
      { callerId: run.callerId, characters: written.encrypted.length },
    );
    if (saved === undefined) return { type: 'refused' };
    obsolete = saved.partsIds;
    return { type: 'saved', givenUp: saved.closedIds };
  } finally {
    await parts.remove(obsolete);
  }
}

async function decide(
  runs: RunDatabase,
  { id, waitId, callId }: Parameters<WaitingRunStore['decide']>[0],
  answer: ApprovalAnswer,
): Promise<DecisionEffect> {
  const { connection, cipher, parts } = runs;
  for (;;) {
    const { row, run } = await load(runs, id);
    if (row === undefined || run === undefined || isFailed(run) || row.waitId !== waitId) return { type: 'closed' };
    const effect = await connection.write(
      (database): DecisionEffect | undefined => {
        // The run may have been closed, or stored anew, since it was read.
        if (findRow(database, id)?.encrypted !== row.encrypted) return undefined;
        const decided = effectOf(run, answersOf(database, run, cipher), { callId, answer });
        if (decided.type === 'complete') closeRow(database, id);
        if (decided.type === 'recorded') {
          const encrypted = cipher.encrypt(JSON.stringify(answer), fieldOf(run, 'answer', callId));
          execute(database, 'INSERT INTO waiting_answers (run_id, call_id, answer) VALUES (?, ?, ?)', id, callId, encrypted);
        }
        return decided;
      },
      { callerId: row.callerId, characters: row.encrypted.length },
    );
    if (effect === undefined) continue;
    if (effect.type === 'complete') await parts.remove([row.partsId]);
    return effect;
  }
}

/** With their decisions and parts. */
async function removeRuns({ connection, parts }: RunDatabase, condition: string, values: readonly SQLInputValue[]): Promise<void> {
  const rows = await deleteInParts<{ id: string; parts_id: string }>(connection, {
    table: 'waiting_runs',
    key: ['id'],
    columns: ['parts_id', 'characters'],
    condition,
    values,
    forEach:
      (database) =>
      ({ id }) =>
        void execute(database, 'DELETE FROM waiting_answers WHERE run_id = ?', id),
  });
  await parts.remove(rows.map(({ parts_id: partsId }) => partsId));
}

/** `condition` becomes part of the SQL, so it must never come from a request. */
async function selectIds(connection: DatabaseConnection, condition: string, value: SQLInputValue): Promise<string[]> {
  const rows = await connection.read((database) =>
    selectAll<{ id: string }>(database, `SELECT id FROM waiting_runs WHERE ${condition}`, value),
  );
  return rows.map(({ id }) => id);
}

/** The run is undefined if it is closed, a part is missing, or it cannot be decrypted with this secret. */
async function load({ connection, parts }: RunDatabase, id: string): Promise<{ row?: WaitingRunRow; run?: WaitingRun | FailedRun }> {
  for (;;) {
    const row = await connection.read((database) => findRow(database, id));
    if (row === undefined) return {};
    if (row.isOpen === 0) return { row };
    const text = await parts.read(row);
    const now = await connection.read((database) => findRow(database, id));
    // Parts may have been removed while they were read, so start again if the row has changed.
    if (now?.encrypted !== row.encrypted) continue;
    try {
      return { row, run: parseExactly(text) as WaitingRun | FailedRun };
    } catch {
      return { row };
    }
  }
}

/** What one more decision means for a run, given the decisions stored so far. */
function effectOf(
  run: WaitingRun,
  answers: ReadonlyMap<string, ApprovalAnswer>,
  { callId, answer }: { callId: string; answer: ApprovalAnswer },
): DecisionEffect {
  if (answers.has(callId) || !run.calls.some(({ id }) => id === callId)) return { type: 'closed' };
  if (run.again !== undefined) return { type: 'complete', decided: run.again.left };
  const all = new Map([...answers, [callId, answer]]);
  const waiting = run.calls.flatMap(({ id }) => (all.has(id) ? [] : [id]));
  if (waiting.length > 0) return { type: 'recorded', waiting };
  return {
    type: 'complete',
    decided: run.calls.flatMap((call) => {
      const given = all.get(call.id);
      return given === undefined ? [] : [{ call, answer: given }];
    }),
  };
}

function answersOf(database: DatabaseSync, run: WaitingRun, cipher: SecretCipher): Map<string, ApprovalAnswer> {
  const answers = new Map<string, ApprovalAnswer>();
  const sql = 'SELECT call_id AS callId, answer FROM waiting_answers WHERE run_id = ?';
  for (const { callId, answer } of selectAll<{ callId: string; answer: string }>(database, sql, run.id)) {
    const text = cipher.decrypt(answer, fieldOf(run, 'answer', callId));
    if (text !== undefined) answers.set(callId, parseExactly(text) as ApprovalAnswer);
  }
  return answers;
}
