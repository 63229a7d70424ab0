import { hash } from 'node:crypto';
import { conversationOf } from '../../../core/runs/run.ts';
import type { FailedRun, WaitingBounds, WaitingRun } from '../../../core/runs/suspended-run.ts';
import { chooseLossesOfOthersInSteps, type Loss } from '../../../shared/fairness/fair-shares.ts';
import type { SecretField } from '../../secrets/encrypt-secrets.ts';
import { execute, selectFirst, type Script } from '../database.ts';
import { areWithin, sharesIn } from '../shares.ts';

/** A suspended run as it is stored. */
export interface WaitingRunRow {
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

export function* findRow(id: string): Script<WaitingRunRow | undefined> {
  const columns = 'id, caller_id AS "callerId", wait_id AS "waitId", expires, is_open AS "isOpen", run AS encrypted, parts_id AS "partsId"';
  return yield* selectFirst<WaitingRunRow>(`SELECT ${columns} FROM waiting_runs WHERE id = ?`, id);
}

export function* insertRow(
  run: WaitingRun | FailedRun,
  { characters, encrypted, partsId }: { characters: number; encrypted: string; partsId: string },
): Script<void> {
  const { id, callerId, waitId, expires, request } = run;
  // A failed run is found by its request alone.
  const chat = 'failed' in run ? run.failed.key : chatKeyOf(callerId, conversationOf(request));
  yield* execute(insert, id, callerId, waitId, expires, characters, encrypted, partsId, chat);
}

const insert = `INSERT INTO waiting_runs (id, caller_id, wait_id, expires, is_open, characters, run, parts_id, chat)
  VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET caller_id = excluded.caller_id, wait_id = excluded.wait_id, expires = excluded.expires, is_open = 1,
  characters = excluded.characters, run = excluded.run, parts_id = excluded.parts_id,
  chat = excluded.chat`;

/** The indexed hash of a conversation; empty without one. */
export function chatKeyOf(callerId: string, conversation: string | undefined): string {
  return conversation === undefined ? '' : hash('sha256', JSON.stringify(['chat', callerId, conversation]), 'base64url');
}

/** Returns the id of its parts, which the caller has to remove; undefined if the run was not open. */
export function* closeRow(id: string): Script<string | undefined> {
  yield* execute('DELETE FROM waiting_answers WHERE run_id = ?', id);
  const open = yield* findRow(id);
  if (open?.isOpen !== 1) return undefined;
  yield* execute(`UPDATE waiting_runs SET is_open = 0, run = '', parts_id = '', characters = 0 WHERE id = ?`, id);
  return open.partsId;
}

/**
 * The runs to close to make space for this one; undefined if it has to be refused because its caller has too many, or uses the most space, or because it
 * has failed: no run that somebody waits for makes space for that.
 */
export function* chooseLossesFor(
  run: WaitingRun | FailedRun,
  { characters, maxOfCaller, maxCharacters }: WaitingBounds & { characters: number },
): Script<Loss<string | number>[] | undefined> {
  const { id, callerId } = run;
  const where = 'is_open = 1 AND id <> ?';
  const own = `SELECT count(*) AS entries FROM waiting_runs WHERE caller_id = ? AND ${where}`;
  if (((yield* selectFirst<{ entries: number }>(own, callerId, id))?.entries ?? 0) >= maxOfCaller) return undefined;
  const shared = { table: 'waiting_runs', id: 'id', where, values: [id], order: 'expires, id' } as const;
  if (yield* areWithin(shared, { entries: Infinity, characters: maxCharacters - characters })) return [];
  if ('failed' in run) return undefined;
  return yield* chooseLossesOfOthersInSteps({ owner: callerId, characters }, yield* sharesIn(shared), {
    entries: Infinity,
    characters: maxCharacters,
  });
}

/** Binds a ciphertext to one part or decision of one suspension: it cannot be decrypted as another one, or in a later suspension of the same run. */
export function fieldOf({ id, waitId }: Pick<WaitingRun, 'id' | 'waitId'>, ...[kind, ...names]: (string | number)[]): SecretField {
  return { id, field: [kind, waitId, ...names].filter((name) => name !== '').join(':') };
}
