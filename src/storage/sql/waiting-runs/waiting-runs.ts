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
import { deleteInParts } from '../delete-in-parts.ts';
import { execute, selectAll, selectFirst, type Database, type Script, type SqlValue } from '../database.ts';
import { ownedBy } from '../owned-by.ts';
import { WaitingRunParts, stringifyInTicks, type WrittenText } from './waiting-run-parts.ts';
import { chatKeyOf, chooseLossesFor, closeRow, fieldOf, findRow, insertRow, type WaitingRunRow } from './waiting-run-rows.ts';

/**
 * Suspended runs. The whole run is encrypted: its request may contain keys of tool servers, and
 * the conversation is private.
 *
 * A large run is written in parts, so that it does not block the event loop. Its row holds the first part and is written last, which commits the run.
 * A process that is killed in between leaves parts without a row; they are removed when the run would have expired.
 */
export function createWaitingRunStore(database: Database, secret: string): WaitingRunStore {
  const cipher = createSecretCipher(secret, 'waiting_run');
  const tables: RunTables = { database, cipher, parts: new WaitingRunParts(database, cipher) };

  return {
    save: (run, bounds) => save(tables, run, bounds),

    async findHead(id) {
      const row = await database.read(() => findRow(id));
      return row && { callerId: row.callerId, waitId: row.waitId, expires: row.expires, isOpen: row.isOpen === 1 };
    },

    async find(id) {
      const { row, run } = await load(tables, id);
      if (row === undefined || isFailed(row)) return undefined;
      if (row.isOpen === 0) return { callerId: row.callerId, type: 'closed' };
      if (run === undefined || isFailed(run)) return undefined;
      return { callerId: row.callerId, type: 'open', run, answers: await database.read(() => answersOf(run, cipher)) };
    },

    decide: (call, answer) => decide(tables, call, answer),

    async close(id, waitId) {
      const partsId = await database.write('waiting_runs', () => closeIf(id, (row) => waitId === undefined || row?.waitId === waitId));
      if (partsId === undefined) return false;
      await tables.parts.remove([partsId]);
      return true;
    },

    claimFailed: (key, time) => claimFailed(tables, key, time),

    callersWithFailed: (time) =>
      database.read(() =>
        selectAll<{ callerId: string; expires: number }>(
          `SELECT caller_id AS "callerId", max(expires) AS expires FROM waiting_runs WHERE is_open = 1 AND expires > ? AND ${isFailedRow} GROUP BY caller_id`,
          time,
        ),
      ),

    openIds: (time) => selectIds(database, `is_open = 1 AND expires >= ? AND NOT ${isFailedRow}`, time),
    openIdsOf: (callerId, conversation) => selectIds(database, 'chat = ? AND is_open = 1', chatKeyOf(callerId, conversation)),

    async deleteAllOf(callerId) {
      const { condition, values } = ownedBy(callerId);
      await removeRuns(tables, condition, values);
    },

    async prune(time) {
      await removeRuns(tables, 'expires < ?', [time]);
      const sql = 'SELECT DISTINCT parts_id AS "partsId" FROM waiting_run_parts WHERE expires < ?';
      const orphaned = await database.read(() => selectAll<{ partsId: string }>(sql, time));
      await tables.parts.remove(orphaned.map(({ partsId }) => partsId));
    },
  };
}

interface RunTables {
  database: Database;
  cipher: SecretCipher;
  parts: WaitingRunParts;
}

const isFailedRow = `id LIKE '${failedRunPrefix}%'`;

function isFailed(run: { id: string }): run is FailedRun {
  return run.id.startsWith(failedRunPrefix);
}

async function claimFailed({ database, cipher, parts }: RunTables, key: string, time: number): Promise<FailedRun | undefined> {
  const sql = `SELECT id FROM waiting_runs WHERE chat = ? AND is_open = 1 AND expires > ? AND ${isFailedRow} ORDER BY expires, id LIMIT 1`;
  for (;;) {
    const found = await database.read(() => selectFirst<{ id: string }>(sql, key, time));
    if (found === undefined) return undefined;
    const { row, run } = await load({ database, cipher, parts }, found.id);
    const partsId = await database.write('waiting_runs', () => closeIf(found.id, (now) => now?.encrypted === row?.encrypted));
    // Another request may have taken it since it was found.
    if (partsId === undefined) continue;
    await parts.remove([partsId]);
    if (run !== undefined && isFailed(run)) return run;
  }
}

async function save({ database, parts }: RunTables, run: WaitingRun | FailedRun, bounds: WaitingBounds): Promise<SaveResult> {
  const text = await stringifyInTicks(run);
  if (text.length > bounds.maxRunCharacters) return { type: 'too_large' };
  // Check before writing anything. The encrypted text is longer, so the transaction checks again.
  const earlyLosses = await database.read(() => chooseLossesFor(run, { ...bounds, characters: text.length }));
  if (earlyLosses === undefined) return { type: 'refused' };
  const written = await parts.write(run, text);
  let obsolete = [written.partsId];
  try {
    const saved = await database.write('waiting_runs', () => insertRun(run, written, bounds), {
      callerId: run.callerId,
      characters: written.encrypted.length,
    });
    if (saved === undefined) return { type: 'refused' };
    obsolete = saved.partsIds;
    return { type: 'saved', givenUp: saved.closedIds };
  } finally {
    await parts.remove(obsolete);
  }
}

async function decide(
  runs: RunTables,
  { id, waitId, callId }: Parameters<WaitingRunStore['decide']>[0],
  answer: ApprovalAnswer,
): Promise<DecisionEffect> {
  const { database, cipher, parts } = runs;
  for (;;) {
    const { row, run } = await load(runs, id);
    if (row === undefined || run === undefined || isFailed(run) || row.waitId !== waitId) return { type: 'closed' };
    const effect = await database.write('waiting_runs', () => decideRow({ run, row, cipher }, { callId, answer }), {
      callerId: row.callerId,
      characters: row.encrypted.length,
    });
    if (effect === undefined) continue;
    if (effect.type === 'complete') await parts.remove([row.partsId]);
    return effect;
  }
}

/** Gives the id of its parts if it was open. */
function* closeIf(id: string, isIt: (row: WaitingRunRow | undefined) => boolean): Script<string | undefined> {
  return isIt(yield* findRow(id)) ? yield* closeRow(id) : undefined;
}

/** Undefined if it has to be refused; else the runs that were closed to make space, and the parts that nothing refers to any more. */
function* insertRun(
  run: WaitingRun | FailedRun,
  written: WrittenText,
  bounds: WaitingBounds,
): Script<{ closedIds: string[]; partsIds: string[] } | undefined> {
  const losses = yield* chooseLossesFor(run, { ...bounds, characters: written.characters });
  if (losses === undefined) return undefined;
  const closedIds = losses.map((loss) => String(loss.id));
  const partsIds: string[] = [];
  for (const id of [run.id, ...closedIds]) {
    const partsId = yield* closeRow(id);
    if (partsId !== undefined) partsIds.push(partsId);
  }
  yield* insertRow(run, written);
  return { closedIds, partsIds };
}

/** Undefined if the run has been closed, or stored anew, since it was read. */
function* decideRow(
  { run, row, cipher }: { run: WaitingRun; row: WaitingRunRow; cipher: SecretCipher },
  { callId, answer }: { callId: string; answer: ApprovalAnswer },
): Script<DecisionEffect | undefined> {
  if ((yield* findRow(run.id))?.encrypted !== row.encrypted) return undefined;
  const decided = effectOf(run, yield* answersOf(run, cipher), { callId, answer });
  if (decided.type === 'complete') yield* closeRow(run.id);
  if (decided.type === 'recorded') {
    const encrypted = cipher.encrypt(JSON.stringify(answer), fieldOf(run, 'answer', callId));
    yield* execute('INSERT INTO waiting_answers (run_id, call_id, answer) VALUES (?, ?, ?)', run.id, callId, encrypted);
  }
  return decided;
}

/** With their decisions and parts. */
async function removeRuns({ database, parts }: RunTables, condition: string, values: readonly SqlValue[]): Promise<void> {
  const rows = await deleteInParts<{ id: string; parts_id: string }>(database, {
    store: 'waiting_runs',
    table: 'waiting_runs',
    key: ['id'],
    columns: ['parts_id', 'characters'],
    condition,
    values,
    before: ({ id }) => execute('DELETE FROM waiting_answers WHERE run_id = ?', id),
  });
  await parts.remove(rows.map(({ parts_id: partsId }) => partsId));
}

/** `condition` becomes part of the SQL, so it must never come from a request. */
async function selectIds(database: Database, condition: string, value: SqlValue): Promise<string[]> {
  const rows = await database.read(() => selectAll<{ id: string }>(`SELECT id FROM waiting_runs WHERE ${condition}`, value));
  return rows.map(({ id }) => id);
}

/** The run is undefined if it is closed, a part is missing, or it cannot be decrypted with this secret. */
async function load({ database, parts }: RunTables, id: string): Promise<{ row?: WaitingRunRow; run?: WaitingRun | FailedRun }> {
  for (;;) {
    const row = await database.read(() => findRow(id));
    if (row === undefined) return {};
    if (row.isOpen === 0) return { row };
    const text = await parts.read(row);
    const now = await database.read(() => findRow(id));
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

function* answersOf(run: WaitingRun, cipher: SecretCipher): Script<Map<string, ApprovalAnswer>> {
  const answers = new Map<string, ApprovalAnswer>();
  const sql = 'SELECT call_id AS "callId", answer FROM waiting_answers WHERE run_id = ?';
  for (const { callId, answer } of yield* selectAll<{ callId: string; answer: string }>(sql, run.id)) {
    const text = cipher.decrypt(answer, fieldOf(run, 'answer', callId));
    if (text !== undefined) answers.set(callId, parseExactly(text) as ApprovalAnswer);
  }
  return answers;
}
