import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ApprovalAnswer } from '../../core/approval.ts';
import type { DecisionEffect, KeptWait, WaitingBounds, WaitingRun, WaitingRunStore } from '../../core/suspended-run.ts';
import { chooseLossesOfOthers } from '../../shared/fair-shares.ts';
import type { Loss } from '../../shared/fair-shares.ts';
import type { DatabaseConnection } from './database-connection.ts';
import { effectOf } from '../decision-effect.ts';
import { createSecretCipher } from '../secrets/encrypt-secrets.ts';
import type { SecretCipher } from '../secrets/encrypt-secrets.ts';
import { sharesIn } from './sqlite-shares.ts';

/**
 * How much of a run is sealed, written, read or deleted in one turn of the event loop, in UTF-16 code units of its JSON. All of them may take
 * three bytes each.
 */
const partCharacters = 512 * 1024;

/**
 * Runs that wait for approvals, in the gateway's SQLite file. The whole run is sealed: its request may hold keys of tool servers, and a
 * conversation is nobody else's business. To be given the connection of the registry.
 *
 * A large run is written in parts, so that it stops nobody else: its row holds the first part and is written last, as the commit. Parts without
 * a row, which a killed process leaves, go when their run would have expired.
 */
export function createSqliteWaitingRuns(connection: DatabaseConnection, secret: string): WaitingRunStore {
  const cipher = createSecretCipher(secret, 'waiting_run');
  return {
    async keep(run, bounds) {
      const text = JSON.stringify(run);
      if (text.length > bounds.maxRunCharacters) return { type: 'too_large' };
      // Before anything is written. The sealed text is longer, so the transaction looks again.
      const early = await connection.read((database) => chooseLossesFor(database, run, { ...bounds, characters: text.length }));
      if (early === undefined) return { type: 'refused' };
      const [first = '', ...rest] = splitText(text, partCharacters);
      const partsId = rest.length === 0 ? '' : randomUUID();
      const sealed = cipher.encrypt(first, runPlace(run, partsId));
      let characters = sealed.length;
      let released = [partsId];
      try {
        for (const [position, part] of rest.entries()) {
          await nextTurn();
          const sealedPart = cipher.encrypt(part, partPlace(run, partsId, position));
          characters += sealedPart.length;
          await nextTurn();
          await connection.write((database) => {
            database.prepare(insertPart).run(partsId, position, run.expires, sealedPart);
          });
        }
        const { kept, partsIds } = await connection.write((database) =>
          writeRow(database, run, { bounds: { ...bounds, characters }, partsId, sealed }),
        );
        released = kept.type === 'kept' ? partsIds : [partsId];
        return kept;
      } finally {
        await removeParts(connection, released);
      }
    },

    async find(id) {
      const found = await load(connection, cipher, id);
      if (found === undefined) return undefined;
      const { row, run } = found;
      if (!row.isOpen) return { callerId: row.callerId, type: 'closed' };
      return run && { callerId: row.callerId, type: 'open', run };
    },

    async decide({ id, waitId, callId }, answer) {
      for (;;) {
        const found = await load(connection, cipher, id);
        const { row, run } = found ?? {};
        if (row === undefined || run === undefined || row.waitId !== waitId) return { type: 'closed' };
        const effect = await connection.write((database): DecisionEffect | undefined => {
          // The run may have been closed, or kept anew, since it was read.
          if (findRow(database, id)?.sealed !== row.sealed) return undefined;
          const decided = effectOf(run, answersOf(database, run, cipher), { callId, answer });
          if (decided.type === 'complete') shut(database, id);
          if (decided.type === 'noted') {
            const sealed = cipher.encrypt(JSON.stringify(answer), answerPlace(run, callId));
            database.prepare('INSERT INTO waiting_answers (run_id, call_id, answer) VALUES (?, ?, ?)').run(id, callId, sealed);
          }
          return decided;
        });
        if (effect === undefined) continue;
        if (effect.type === 'complete') await removeParts(connection, [row.partsId]);
        return effect;
      }
    },

    async close(id) {
      const partsId = await connection.write((database) => shut(database, id));
      if (partsId === undefined) return false;
      await removeParts(connection, [partsId]);
      return true;
    },

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
      if (isAny !== undefined) {
        await connection.write((database) => {
          database.prepare('DELETE FROM waiting_answers WHERE run_id IN (SELECT id FROM waiting_runs WHERE expires < ?)').run(time);
          database.prepare('DELETE FROM waiting_runs WHERE expires < ?').run(time);
        });
      }
      const expired = await connection.read((database) =>
        database.prepare('SELECT DISTINCT parts_id FROM waiting_run_parts WHERE expires < ?').all(time),
      );
      await removeParts(
        connection,
        expired.map((row) => String(row['parts_id'])),
      );
    },
  };
}

const insert = `INSERT INTO waiting_runs (id, caller_id, wait_id, expires, is_open, characters, run, parts_id)
  VALUES (?, ?, ?, ?, 1, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET caller_id = excluded.caller_id, wait_id = excluded.wait_id, expires = excluded.expires, is_open = 1,
  characters = excluded.characters, run = excluded.run, parts_id = excluded.parts_id`;
const insertPart = 'INSERT INTO waiting_run_parts (parts_id, position, expires, part) VALUES (?, ?, ?, ?)';

/** Writes the row of a run whose parts are there. `partsIds`: parts that belong to no run any more. */
function writeRow(
  database: DatabaseSync,
  run: WaitingRun,
  { bounds, partsId, sealed }: { bounds: WaitingBounds & { characters: number }; partsId: string; sealed: string },
): { kept: KeptWait; partsIds: string[] } {
  const losses = chooseLossesFor(database, run, bounds);
  if (losses === undefined) return { kept: { type: 'refused' }, partsIds: [] };
  const givenUp = losses.map((loss) => String(loss.id));
  const { id, callerId, waitId, expires } = run;
  const partsIds = [id, ...givenUp].flatMap((other) => shut(database, other) ?? []);
  database.prepare(insert).run(id, callerId, waitId, expires, bounds.characters, sealed, partsId);
  return { kept: { type: 'kept', givenUp }, partsIds };
}

interface Row {
  id: string;
  callerId: string;
  waitId: string;
  isOpen: boolean;
  /** Its first part. No two are alike, even of the same run: each is sealed with a random vector. */
  sealed: string;
  /** Empty where there is no other part. */
  partsId: string;
}

function findRow(database: DatabaseSync, id: string): Row | undefined {
  const row = database.prepare('SELECT caller_id, wait_id, is_open, run, parts_id FROM waiting_runs WHERE id = ?').get(id);
  if (row === undefined) return undefined;
  const { caller_id: callerId, wait_id: waitId, run, parts_id: partsId } = row;
  return {
    id,
    callerId: String(callerId),
    waitId: String(waitId),
    isOpen: row['is_open'] === 1,
    sealed: String(run),
    partsId: String(partsId),
  };
}

/** The run is undefined where it is closed, or cannot be read with this secret. */
async function load(
  connection: DatabaseConnection,
  cipher: SecretCipher,
  id: string,
): Promise<{ row: Row; run: WaitingRun | undefined } | undefined> {
  for (;;) {
    const row = await connection.read((database) => findRow(database, id));
    if (row === undefined) return undefined;
    if (!row.isOpen) return { row, run: undefined };
    const text = await readText(connection, cipher, row);
    if (row.partsId === '') return { row, run: text === undefined ? undefined : (JSON.parse(text) as WaitingRun) };
    const now = await connection.read((database) => findRow(database, id));
    // Its parts may have been removed while they were read.
    if (now?.sealed !== row.sealed) continue;
    return { row, run: text === undefined ? undefined : parseWhole(text) };
  }
}

async function readText(connection: DatabaseConnection, cipher: SecretCipher, row: Row): Promise<string | undefined> {
  let text = cipher.decrypt(row.sealed, runPlace(row, row.partsId));
  if (row.partsId === '') return text;
  for (let position = 0; text !== undefined; position += 1) {
    await nextTurn();
    const found = await connection.read((database) =>
      database.prepare('SELECT part FROM waiting_run_parts WHERE parts_id = ? AND position = ?').get(row.partsId, position),
    );
    if (found === undefined) break;
    const part = cipher.decrypt(String(found['part']), partPlace(row, row.partsId, position));
    text = part === undefined ? undefined : text + part;
  }
  return text;
}

/** Undefined where a part is missing: the start of a JSON object is no JSON. */
function parseWhole(text: string): WaitingRun | undefined {
  try {
    return JSON.parse(text) as WaitingRun;
  } catch {
    return undefined;
  }
}

/** Removes parts that no row names. Never rejects: what stays is sealed, and removed once it has expired. */
async function removeParts(connection: DatabaseConnection, partsIds: readonly string[]): Promise<void> {
  try {
    for (const partsId of partsIds.filter((id) => id !== '')) {
      for (let isAny = true; isAny;) {
        await nextTurn();
        isAny = await connection.write((database) => Number(database.prepare(deletePart).run(partsId).changes) > 0);
      }
    }
  } catch {
    // The disk may be full, or the gateway shutting down.
  }
}

const deletePart = `DELETE FROM waiting_run_parts
  WHERE rowid IN (SELECT rowid FROM waiting_run_parts WHERE parts_id = ? ORDER BY position LIMIT 4)`;

/** Cuts between characters, never within a surrogate pair: half of one has no UTF-8. */
function splitText(text: string, length: number): string[] {
  const parts: string[] = [];
  for (let start = 0; start < text.length;) {
    const end = start + length;
    const isWithinPair = end < text.length && (text.codePointAt(end - 1) ?? 0) > 0xff_ff;
    const next = isWithinPair ? end - 1 : end;
    parts.push(text.slice(start, next));
    start = next;
  }
  return parts;
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

/** Gives the id of its parts, which are to be removed; undefined where it was not open. */
function shut(database: DatabaseSync, id: string): string | undefined {
  database.prepare('DELETE FROM waiting_answers WHERE run_id = ?').run(id);
  const open = database.prepare('SELECT parts_id FROM waiting_runs WHERE id = ? AND is_open = 1').get(id);
  if (open === undefined) return undefined;
  database.prepare(`UPDATE waiting_runs SET is_open = 0, run = '', parts_id = '', characters = 0 WHERE id = ?`).run(id);
  return String(open['parts_id']);
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

type WaitPlace = Pick<WaitingRun, 'id' | 'waitId'>;

function runPlace({ id, waitId }: WaitPlace, partsId: string): { id: string; field: string } {
  return { id, field: partsId === '' ? `run:${waitId}` : `run:${waitId}:${partsId}` };
}

function partPlace({ id, waitId }: WaitPlace, partsId: string, position: number): { id: string; field: string } {
  return { id, field: `run:${waitId}:${partsId}:${position}` };
}

function answerPlace({ id, waitId }: WaitingRun, callId: string): { id: string; field: string } {
  return { id, field: `answer:${waitId}:${callId}` };
}
