import { hash, randomUUID } from 'node:crypto';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { ApprovalAnswer } from '../../core/user-input/approval.ts';
import { conversationOf } from '../../core/runs/run.ts';
import type { DecisionEffect, WaitingBounds, WaitingRun, WaitingRunStore } from '../../core/runs/suspended-run.ts';
import { chooseLossesOfOthers } from '../../shared/fair-shares.ts';
import type { Loss } from '../../shared/fair-shares.ts';
import type { DatabaseConnection } from './connection/database-connection.ts';
import { deleteInParts } from './connection/delete-in-parts.ts';
import { createSecretCipher } from '../secrets/encrypt-secrets.ts';
import type { SecretCipher, SecretField } from '../secrets/encrypt-secrets.ts';
import { ownedBy } from './owned-by.ts';
import { execute, selectAll, selectFirst } from './connection/select.ts';
import { areWithin, sharesIn } from './sqlite-shares.ts';
import { parseExactly } from '../../shared/parse-exactly.ts';

/** How much of a run's JSON is encrypted, written or read in one turn of the event loop, in UTF-16 code units (up to three bytes each). */
const partCharacters = 512 * 1024;

/**
 * Suspended runs, on the registry's connection (see `createSqliteRuns`). The whole run is encrypted: its request may contain keys of tool servers, and
 * the conversation is private.
 *
 * A large run is written in parts, so that it does not block the event loop. Its row holds the first part and is written last, which commits the run.
 * A process that is killed in between leaves parts without a row; they are removed when the run would have expired.
 */
export function createSqliteWaitingRuns(connection: DatabaseConnection, secret: string): WaitingRunStore {
  const cipher = createSecretCipher(secret, 'waiting_run');

  /** With their decisions. Returns the ids of their parts, which the caller has to remove. */
  async function removeRuns(condition: string, values: readonly SQLInputValue[]): Promise<string[]> {
    const rows = await deleteInParts<{ id: string; parts_id: string }>(connection, {
      table: 'waiting_runs',
      key: ['id'],
      columns: ['parts_id', 'characters'],
      condition,
      values,
      forEach(database) {
        const removeAnswers = database.prepare('DELETE FROM waiting_answers WHERE run_id = ?');
        return ({ id }) => void removeAnswers.run(id);
      },
    });
    return rows.map(({ parts_id: partsId }) => partsId);
  }

  return {
    async save(run, bounds) {
      const text = await stringifyInTurns(run);
      if (text.length > bounds.maxRunCharacters) return { type: 'too_large' };
      // Check before writing anything. The encrypted text is longer, so the transaction checks again.
      const earlyLosses = await connection.read((database) => chooseLossesFor(database, run, { ...bounds, characters: text.length }));
      if (earlyLosses === undefined) return { type: 'refused' };
      const [first = '', ...rest] = splitText(text);
      const partsId = rest.length === 0 ? '' : randomUUID();
      const encrypted = cipher.encrypt(first, fieldOf(run, 'run', partsId));
      let characters = encrypted.length;
      let obsolete = [partsId];
      try {
        for (const [position, part] of rest.entries()) {
          await yieldToEventLoop();
          const encryptedPart = cipher.encrypt(part, fieldOf(run, 'run', partsId, position));
          characters += encryptedPart.length;
          await yieldToEventLoop();
          await connection.write(
            (database) => {
              database.prepare(insertPart).run(partsId, position, run.expires, encryptedPart);
            },
            { callerId: run.callerId, characters: encryptedPart.length },
          );
        }
        const written = await connection.write(
          (database) => {
            const losses = chooseLossesFor(database, run, { ...bounds, characters });
            if (losses === undefined) return undefined;
            const closedIds = losses.map((loss) => String(loss.id));
            const partsIds = [run.id, ...closedIds].flatMap((id) => close(database, id) ?? []);
            database
              .prepare(insert)
              .run(
                run.id,
                run.callerId,
                run.waitId,
                run.expires,
                characters,
                encrypted,
                partsId,
                chatKeyOf(run.callerId, conversationOf(run.request)),
              );
            return { closedIds, partsIds };
          },
          { callerId: run.callerId, characters: encrypted.length },
        );
        if (written === undefined) return { type: 'refused' };
        obsolete = written.partsIds;
        return { type: 'saved', givenUp: written.closedIds };
      } finally {
        await removeParts(connection, obsolete);
      }
    },

    async findHead(id) {
      const row = await connection.read((database) => findRow(database, id));
      return row && { callerId: row.callerId, waitId: row.waitId, expires: row.expires, isOpen: row.isOpen === 1 };
    },

    async find(id) {
      const { row, run } = await load(connection, cipher, id);
      if (row === undefined) return undefined;
      if (row.isOpen === 0) return { callerId: row.callerId, type: 'closed' };
      if (run === undefined) return undefined;
      return { callerId: row.callerId, type: 'open', run, answers: await connection.read((database) => answersOf(database, run, cipher)) };
    },

    async decide({ id, waitId, callId }, answer) {
      for (;;) {
        const { row, run } = await load(connection, cipher, id);
        if (row === undefined || run === undefined || row.waitId !== waitId) return { type: 'closed' };
        const effect = await connection.write(
          (database): DecisionEffect | undefined => {
            // The run may have been closed, or stored anew, since it was read.
            if (findRow(database, id)?.encrypted !== row.encrypted) return undefined;
            const decided = effectOf(run, answersOf(database, run, cipher), { callId, answer });
            if (decided.type === 'complete') close(database, id);
            if (decided.type === 'recorded') {
              const encrypted = cipher.encrypt(JSON.stringify(answer), fieldOf(run, 'answer', callId));
              database.prepare('INSERT INTO waiting_answers (run_id, call_id, answer) VALUES (?, ?, ?)').run(id, callId, encrypted);
            }
            return decided;
          },
          { callerId: row.callerId, characters: row.encrypted.length },
        );
        if (effect === undefined) continue;
        if (effect.type === 'complete') await removeParts(connection, [row.partsId]);
        return effect;
      }
    },

    async close(id, waitId) {
      const partsId = await connection.write((database) =>
        waitId === undefined || findRow(database, id)?.waitId === waitId ? close(database, id) : undefined,
      );
      if (partsId === undefined) return false;
      await removeParts(connection, [partsId]);
      return true;
    },

    openIds: (time) =>
      connection.read((database) => {
        const sql = 'SELECT id FROM waiting_runs WHERE is_open = 1 AND expires >= ?';
        return selectAll<{ id: string }>(database, sql, time).map(({ id }) => id);
      }),

    openIdsOf: (callerId, conversation) =>
      connection.read((database) => {
        const sql = 'SELECT id FROM waiting_runs WHERE chat = ? AND is_open = 1';
        return selectAll<{ id: string }>(database, sql, chatKeyOf(callerId, conversation)).map(({ id }) => id);
      }),

    async deleteAllOf(callerId) {
      const { condition, values } = ownedBy(callerId);
      const partsIds = await removeRuns(condition, values);
      await removeParts(connection, partsIds);
    },

    async prune(time) {
      await removeRuns('expires < ?', [time]);
      const sql = 'SELECT DISTINCT parts_id AS partsId FROM waiting_run_parts WHERE expires < ?';
      const expired = await connection.read((database) => selectAll<{ partsId: string }>(database, sql, time));
      const partsIds = expired.map(({ partsId }) => partsId);
      await removeParts(connection, partsIds);
    },
  };
}

const insert = `INSERT INTO waiting_runs (id, caller_id, wait_id, expires, is_open, characters, run, parts_id, chat)
  VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET caller_id = excluded.caller_id, wait_id = excluded.wait_id, expires = excluded.expires, is_open = 1,
  characters = excluded.characters, run = excluded.run, parts_id = excluded.parts_id,
  chat = excluded.chat`;
const insertPart = 'INSERT INTO waiting_run_parts (parts_id, position, expires, part) VALUES (?, ?, ?, ?)';

/** Empty without a conversation. */
function chatKeyOf(callerId: string, conversation: string | undefined): string {
  return conversation === undefined ? '' : hash('sha256', JSON.stringify(['chat', callerId, conversation]), 'base64url');
}

interface Row {
  id: string;
  callerId: string;
  waitId: string;
  expires: number;
  isOpen: 0 | 1;
  /** The first part. Identifies one stored version of the run, because the random initialization vector makes every ciphertext unique. */
  encrypted: string;
  /** Empty if the run has only one part. */
  partsId: string;
}

function findRow(database: DatabaseSync, id: string): Row | undefined {
  const columns = 'id, caller_id AS callerId, wait_id AS waitId, expires, is_open AS isOpen, run AS encrypted, parts_id AS partsId';
  return selectFirst<Row>(database, `SELECT ${columns} FROM waiting_runs WHERE id = ?`, id);
}

/** The run is undefined if it is closed, a part is missing, or it cannot be decrypted with this secret. */
async function load(connection: DatabaseConnection, cipher: SecretCipher, id: string): Promise<{ row?: Row; run?: WaitingRun }> {
  for (;;) {
    const row = await connection.read((database) => findRow(database, id));
    if (row === undefined) return {};
    if (row.isOpen === 0) return { row };
    const text = await readText(connection, cipher, row);
    const now = await connection.read((database) => findRow(database, id));
    // Parts may have been removed while they were read, so start again if the row has changed.
    if (now?.encrypted !== row.encrypted) continue;
    try {
      return { row, run: parseExactly(text) as WaitingRun };
    } catch {
      return { row };
    }
  }
}

/** Stops at the first part that is missing or cannot be decrypted; parsing the incomplete text then fails. */
async function readText(connection: DatabaseConnection, cipher: SecretCipher, row: Row): Promise<string> {
  const sql = 'SELECT part FROM waiting_run_parts WHERE parts_id = ? AND position = ?';
  let text = '';
  let part = cipher.decrypt(row.encrypted, fieldOf(row, 'run', row.partsId));
  for (let position = 0; part !== undefined; position += 1) {
    text += part;
    const next = await connection.read((database) => selectFirst<{ part: string }>(database, sql, row.partsId, position));
    if (next === undefined) break;
    await yieldToEventLoop();
    part = cipher.decrypt(next.part, fieldOf(row, 'run', row.partsId, position));
  }
  return text;
}

/** Removes parts that no row refers to. Never rejects: parts that remain are encrypted, and are removed once they have expired. */
async function removeParts(connection: DatabaseConnection, partsIds: readonly string[]): Promise<void> {
  try {
    for (const partsId of partsIds.filter((id) => id !== '')) {
      for (let hasMore = true; hasMore;) {
        await yieldToEventLoop();
        hasMore = await connection.write((database) => Number(database.prepare(deletePart).run(partsId).changes) > 0);
      }
    }
  } catch {
    // The disk may be full, or the gateway shutting down.
  }
}

const deletePart = `DELETE FROM waiting_run_parts
  WHERE rowid IN (SELECT rowid FROM waiting_run_parts WHERE parts_id = ? ORDER BY position LIMIT 4)`;

/** As `JSON.stringify`, one field a turn where the fields are large: the request and the loop may both hold the same megabytes. */
async function stringifyInTurns(run: WaitingRun): Promise<string> {
  const fields: string[] = [];
  // From the phase of I/O, the first `setImmediate` comes before any other work; each after it lets that work run.
  await yieldToEventLoop();
  for (const [name, value] of Object.entries(run)) {
    const text: string | undefined = JSON.stringify(value);
    if (text === undefined) continue;
    fields.push(`${JSON.stringify(name)}:${text}`);
    if (text.length > partCharacters) await yieldToEventLoop();
  }
  return `{${fields.join(',')}}`;
}

function splitText(text: string): string[] {
  const parts: string[] = [];
  for (let start = 0; start < text.length;) {
    let end = start + partCharacters;
    // Never split a surrogate pair: half of one cannot be encoded as UTF-8.
    if ((text.codePointAt(end - 1) ?? 0) > 0xff_ff) end -= 1;
    parts.push(text.slice(start, end));
    start = end;
  }
  return parts;
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

/** Returns the id of its parts, which the caller has to remove; undefined if the run was not open. */
function close(database: DatabaseSync, id: string): string | undefined {
  execute(database, 'DELETE FROM waiting_answers WHERE run_id = ?', id);
  const open = findRow(database, id);
  if (open?.isOpen !== 1) return undefined;
  execute(database, `UPDATE waiting_runs SET is_open = 0, run = '', parts_id = '', characters = 0 WHERE id = ?`, id);
  return open.partsId;
}

/** The runs to close to make space for this one; undefined if it has to be refused because its caller has too many, or uses the most space. */
function chooseLossesFor(
  database: DatabaseSync,
  { id, callerId }: WaitingRun,
  { characters, maxOfCaller, maxCharacters }: WaitingBounds & { characters: number },
): Loss<string | number>[] | undefined {
  const where = 'is_open = 1 AND id <> ?';
  const own = `SELECT count(*) AS entries FROM waiting_runs WHERE caller_id = ? AND ${where}`;
  if ((selectFirst<{ entries: number }>(database, own, callerId, id)?.entries ?? 0) >= maxOfCaller) return undefined;
  const shared = { table: 'waiting_runs', id: 'id', where, values: [id], order: 'expires, id' } as const;
  if (areWithin(database, shared, { entries: Infinity, characters: maxCharacters - characters })) return [];
  return chooseLossesOfOthers({ owner: callerId, characters }, sharesIn(database, shared), {
    entries: Infinity,
    characters: maxCharacters,
  });
}

/** Binds a ciphertext to one part or decision of one suspension: it cannot be decrypted as another one, or in a later suspension of the same run. */
function fieldOf({ id, waitId }: Pick<WaitingRun, 'id' | 'waitId'>, ...[kind, ...names]: (string | number)[]): SecretField {
  return { id, field: [kind, waitId, ...names].filter((name) => name !== '').join(':') };
}
