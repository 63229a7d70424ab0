import type { RunStatus } from '../../core/chat/run-event.ts';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { setImmediate as nextTick } from 'node:timers/promises';
import { limits } from '../../core/limits.ts';
import {
  interrupted,
  matchesFilter,
  statusAfterInterruption,
  type LoggedEvent,
  type LoggedRun,
  type RunList,
  type RunPage,
  type RunStore,
  type RunSummary,
} from '../../core/runs/run-log.ts';
import type { MostLosses } from '../../shared/fairness/fair-shares.ts';
import type { DatabaseConnection } from './connection/database-connection.ts';
import { deleteInParts } from './connection/delete-in-parts.ts';
import { ownedBy } from './owned-by.ts';
import { execute, selectAll, selectEach, selectFirst } from './connection/select.ts';
import { lossesIn } from './sqlite-shares.ts';
import { parseExactly } from '../../shared/json/parse-exactly.ts';

/**
 * Logs of runs, on the registry's connection. On a connection of its own, each saved run would look to the registry like a change by another process,
 * and make it read all records again.
 */
export function createSqliteRuns(connection: DatabaseConnection): RunStore {
  async function removeAny(condition: string, ...values: SQLInputValue[]): Promise<void> {
    await deleteInParts(connection, { table: 'runs', key: ['id'], columns: ['characters'], condition, values });
  }

  return {
    save: (runs) =>
      connection.write((database) => {
        for (const run of runs) execute(database, upsert, ...toRow(run));
      }),

    find: (id) =>
      connection.read((database) => {
        const row = selectFirst<RunRow>(database, `SELECT ${columns}, events FROM runs WHERE id = ?`, id);
        return row && toRun(row);
      }),

    list: (page) => connection.read((database) => list(database, page)),

    async endInterrupted(time, waitingIds) {
      type Unfinished = Pick<LoggedRun, 'id' | 'status'>;
      const isInterrupted = (run: Unfinished): boolean => statusAfterInterruption(run, waitingIds) !== undefined;
      // Read first: usually no run was interrupted, and a write would have to wait for locks.
      const hasInterrupted = await connection.read((database) =>
        selectAll<Unfinished>(database, `SELECT id, status ${unfinished}`).some(isInterrupted),
      );
      if (!hasInterrupted) return;
      await connection.write((database) => {
        for (const row of selectAll<RunRow>(database, `SELECT ${columns}, events ${unfinished}`).filter(isInterrupted)) {
          const run = toRun(row);
          const isFailed = statusAfterInterruption(run, waitingIds) === 'failed';
          execute(database, upsert, ...toRow(isFailed ? interrupted(run, time) : { ...run, status: 'waiting' }));
        }
      });
    },

    async prune(bounds) {
      // No run ends before it began: the first condition finds the few old ones by their index, without reading all runs.
      await removeAny(`created < ? AND status <> 'running' AND coalesce(finished, created) < ?`, bounds.since, bounds.since);
      while (await connection.write((database) => prune(database, bounds))) await nextTick();
    },

    async deleteAllOf(callerId) {
      const { condition, values } = ownedBy(callerId);
      await removeAny(condition, ...values);
    },
  };
}

/** Filters are the same function as for runs in memory; the statement only has conditions that an index answers. */
function list(database: DatabaseSync, { callerId, limit, after, since, filter = {} }: RunPage & { since: number }): RunList {
  const conditions = ['coalesce(finished, created) >= ?'];
  const values: SQLInputValue[] = [since];
  const add = (condition: string, ...of: SQLInputValue[]): void => void (conditions.push(condition), values.push(...of));
  if (callerId !== undefined) add('caller_id = ?', callerId);
  if (after !== undefined) add('(created, id) < (?, ?)', after.created, after.id);
  if (filter.from !== undefined) add('created >= ?', filter.from);
  if (filter.to !== undefined) add('created <= ?', filter.to);
  const sql = `SELECT ${columns} FROM runs WHERE ${conditions.join(' AND ')} ORDER BY created DESC, id DESC LIMIT ?`;
  const runs: RunSummary[] = [];
  let searched = 0;
  for (const row of selectEach<SummaryRow>(database, sql, ...values, limits.searchedRuns)) {
    searched += 1;
    const run = toSummary(row);
    const isFound = matchesFilter(run, filter);
    if (isFound && runs.length === limit) return { runs, next: runs.at(-1) };
    if (isFound) runs.push(run);
    if (searched === limits.searchedRuns) return { runs, next: run };
  }
  return { runs };
}

const unfinished = `FROM runs WHERE status IN ('running', 'waiting')`;
const upsert = `INSERT INTO runs (id, caller_id, status, created, finished, characters, summary, events) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET status = excluded.status, finished = excluded.finished, characters = excluded.characters,
  summary = excluded.summary, events = excluded.events`;

const columns = 'id, caller_id AS callerId, status, created, finished, summary';

interface SummaryRow {
  id: string;
  callerId: string;
  status: RunStatus;
  created: number;
  finished: number | null;
  /** JSON of the fields without a column. */
  summary: string;
}

interface RunRow extends SummaryRow {
  /** JSON. */
  events: string;
}

function toRow({ id, callerId, status, created, finished, model, mode, usage, work, events }: LoggedRun): SQLInputValue[] {
  const text = JSON.stringify(events);
  return [id, callerId, status, created, finished ?? null, text.length, JSON.stringify({ model, mode, usage, work }), text];
}

function toSummary({ finished, summary, ...fields }: SummaryRow): RunSummary {
  return {
    ...fields,
    ...(finished !== null && { finished }),
    ...(parseExactly(summary) as Pick<RunSummary, 'model' | 'mode' | 'usage' | 'work'>),
  };
}

function toRun({ events, ...summary }: RunRow): LoggedRun {
  return { ...toSummary(summary), events: parseExactly(events) as LoggedEvent[] };
}

/** In one tick of the event loop. Few owners where they are many, and all that a busy gateway logs in a second where they are few: each turn is a transaction. */
const removedPerTick: MostLosses = { entries: 5_000, owners: 200 };

/** Returns whether there may be more to remove. */
function prune(database: DatabaseSync, { maxRuns, maxCharacters }: Parameters<RunStore['prune']>[0]): boolean {
  const shared = { table: 'runs', id: 'id', where: 'finished IS NOT NULL', order: 'created, id' } as const;
  const losses = lossesIn(database, shared, { entries: maxRuns, characters: maxCharacters, most: removedPerTick });
  for (const { id } of losses) execute(database, 'DELETE FROM runs WHERE id = ?', id);
  return losses.length === removedPerTick.entries || new Set(losses.map(({ owner }) => owner)).size === removedPerTick.owners;
}
