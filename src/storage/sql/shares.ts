import {
  chooseLossesInSteps,
  type Entry,
  type Loss,
  type MostLosses,
  type ShareBounds,
  type SteppedEntries,
  type SteppedShare,
} from '../../shared/fairness/fair-shares.ts';
import { selectAll, selectFirst, type Script, type SqlValue, type Statement } from './database.ts';

type Id = string | number;

/** A table with the columns `caller_id` and `characters`. All strings become part of the SQL, so none may come from a request. */
interface SharedTable {
  table: 'chat_memory' | 'chats' | 'responses' | 'runs' | 'sign_ins' | 'waiting_runs';
  /** The column by which an entry is deleted. */
  id: 'id' | 'position';
  /** A condition for the rows that count, with the values of its placeholders. */
  where: string;
  values?: readonly SqlValue[];
  /** The columns of ORDER BY, oldest row first. */
  order: string;
}

/** Whether the rows that count are within the bounds, which costs far less than the shares of all callers: with ten thousand of them 1 ms instead of 15. */
export function* areWithin({ table, where, values = [] }: SharedTable, { entries, characters }: ShareBounds): Script<boolean> {
  const sql = `SELECT count(*) AS entries, coalesce(sum(characters), 0) AS characters FROM ${table} WHERE ${where}`;
  const all = yield* selectFirst<{ entries: number; characters: number }>(sql, ...values);
  return all === undefined || (all.entries <= entries && all.characters <= characters);
}

/** Which rows go, so that the others are within the bounds. `most`: at most so many of them. */
export function* lossesIn(shared: SharedTable, { most, ...bounds }: ShareBounds & { most?: MostLosses }): Script<Loss<Id>[]> {
  if (yield* areWithin(shared, bounds)) return [];
  return yield* chooseLossesInSteps(yield* sharesIn(shared), bounds, most);
}

/** Small, because usually only one entry has to be removed. Each further page is as large as all before it, because rows are skipped one by one. */
const rowsOfFirstPage = 100;

/** Each caller's share of a table. The rows are read in pages when they are needed, so the table must not change before the losses are chosen. */
export function* sharesIn({ table, id, where, values = [], order }: SharedTable): Script<SteppedShare<Id, Statement>[]> {
  const sums = `SELECT caller_id AS owner, count(*) AS entries, sum(characters) AS characters FROM ${table} WHERE ${where} GROUP BY caller_id ORDER BY caller_id`;
  const page = `SELECT ${id} AS id, characters FROM ${table} WHERE caller_id = ? AND ${where}
    ORDER BY ${order} LIMIT ? OFFSET ?`;
  const holdings = yield* selectAll<{ owner: string; entries: number; characters: number }>(sums, ...values);
  return holdings.map((holding) => ({ ...holding, oldestFirst: () => new EntriesInPages(page, [holding.owner, ...values]) }));
}

class EntriesInPages implements SteppedEntries<Id, Statement> {
  /** A query whose last placeholders are the number of rows, and of those to skip. */
  readonly #sql: string;
  readonly #values: readonly SqlValue[];
  #page: Entry<Id>[] = [];
  #used = 0;
  #before = 0;
  #isLast = false;

  constructor(sql: string, values: readonly SqlValue[]) {
    this.#sql = sql;
    this.#values = values;
  }

  *next(): Script<Entry<Id> | undefined> {
    if (this.#used === this.#page.length && !this.#isLast) {
      this.#before += this.#page.length;
      const limit = Math.max(rowsOfFirstPage, this.#before);
      this.#page = yield* selectAll<Entry<Id>>(this.#sql, ...this.#values, limit, this.#before);
      this.#isLast = this.#page.length < limit;
      this.#used = 0;
    }
    return this.#page[this.#used++];
  }
}

/** The positions of what one caller has beyond its own bounds. `order`: the columns of ORDER BY, newest row first, on which there is an index. */
export function* surplusOf(
  { table, order, callerId }: { table: 'chats' | 'responses'; order: string; callerId: string },
  { entries, characters }: ShareBounds,
): Script<number[]> {
  const ofCaller = `SELECT position, row_number() OVER newest AS rank, sum(characters) OVER newest AS total FROM ${table}
    WHERE caller_id = ? WINDOW newest AS (ORDER BY ${order} ROWS UNBOUNDED PRECEDING)`;
  const sql = `SELECT position FROM (${ofCaller}) AS ranked WHERE rank > ? OR total > ?`;
  const rows = yield* selectAll<{ position: number }>(sql, callerId, entries, characters);
  return rows.map(({ position }) => position);
}
