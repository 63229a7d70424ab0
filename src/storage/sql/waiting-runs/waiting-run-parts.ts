import { randomUUID } from 'node:crypto';
import { setImmediate as nextTick } from 'node:timers/promises';
import type { FailedRun, WaitingRun } from '../../../core/runs/suspended-run.ts';
import type { SecretCipher } from '../../secrets/encrypt-secrets.ts';
import { execute, selectFirst, type Database } from '../database.ts';
import { fieldOf, type WaitingRunRow } from './waiting-run-rows.ts';

/** How much of a run's JSON is encrypted, written or read in one tick of the event loop, in UTF-16 code units (up to three bytes each). */
const partCharacters = 512 * 1024;

const insertPart = 'INSERT INTO waiting_run_parts (parts_id, position, expires, part) VALUES (?, ?, ?, ?)';
const deletePart = `DELETE FROM waiting_run_parts WHERE parts_id = ?
  AND position IN (SELECT position FROM waiting_run_parts WHERE parts_id = ? ORDER BY position LIMIT 4)`;

/** The first part, which the row holds, and the encrypted size of all parts. */
export interface WrittenText {
  encrypted: string;
  /** Empty if there is only one part. */
  partsId: string;
  characters: number;
}

/** Encrypts, writes and reads the JSON of a run in parts, one per tick, because a run may have many megabytes. */
export class WaitingRunParts {
  readonly #database: Database;
  readonly #cipher: SecretCipher;

  constructor(database: Database, cipher: SecretCipher) {
    this.#database = database;
    this.#cipher = cipher;
  }

  /** Writes all parts but the first, which the caller writes with the row. Leaves no parts behind if it fails. */
  async write(run: WaitingRun | FailedRun, text: string): Promise<WrittenText> {
    const [first = '', ...rest] = splitText(text);
    const partsId = rest.length === 0 ? '' : randomUUID();
    const encrypted = this.#cipher.encrypt(first, fieldOf(run, 'run', partsId));
    let characters = encrypted.length;
    try {
      for (const [position, part] of rest.entries()) {
        await nextTick();
        const encryptedPart = this.#cipher.encrypt(part, fieldOf(run, 'run', partsId, position));
        characters += encryptedPart.length;
        await nextTick();
        await this.#database.write('waiting_runs', () => execute(insertPart, partsId, position, run.expires, encryptedPart), {
          callerId: run.callerId,
          characters: encryptedPart.length,
        });
      }
    } catch (error) {
      await this.remove([partsId]);
      throw error;
    }
    return { encrypted, partsId, characters };
  }

  /** Stops at the first part that is missing or cannot be decrypted; parsing the incomplete text then fails. */
  async read(row: WaitingRunRow): Promise<string> {
    const sql = 'SELECT part FROM waiting_run_parts WHERE parts_id = ? AND position = ?';
    let text = '';
    let part = this.#cipher.decrypt(row.encrypted, fieldOf(row, 'run', row.partsId));
    for (let position = 0; part !== undefined; position += 1) {
      text += part;
      const next = await this.#database.read(() => selectFirst<{ part: string }>(sql, row.partsId, position));
      if (next === undefined) break;
      await nextTick();
      part = this.#cipher.decrypt(next.part, fieldOf(row, 'run', row.partsId, position));
    }
    return text;
  }

  /** Removes parts that no row refers to. Never rejects: parts that remain are encrypted, and are removed once they have expired. */
  async remove(partsIds: readonly string[]): Promise<void> {
    try {
      for (const partsId of partsIds.filter((id) => id !== '')) {
        for (let hasMore = true; hasMore;) {
          await nextTick();
          hasMore = (await this.#database.write('waiting_runs', () => execute(deletePart, partsId, partsId))) > 0;
        }
      }
    } catch {
      // The disk may be full, or the gateway shutting down.
    }
  }
}

/** As `JSON.stringify`, one field per tick where the fields are large: the request and the loop may both hold the same megabytes. */
export async function stringifyInTicks(run: WaitingRun | FailedRun): Promise<string> {
  const fields: string[] = [];
  // From the phase of I/O, the first `setImmediate` comes before any other work; each after it lets that work run.
  await nextTick();
  for (const [name, value] of Object.entries(run)) {
    const text: string | undefined = JSON.stringify(value);
    if (text === undefined) continue;
    fields.push(`${JSON.stringify(name)}:${text}`);
    if (text.length > partCharacters) await nextTick();
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
