import type { RunStatus } from '../../core/chat/run-event.ts';
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
  type RunPosition,
  type RunStore,
  type RunSummary,
} from '../../core/runs/run-log.ts';
import type { MostLosses } from '../../shared/fairness/fair-shares.ts';
import { deleteInParts } from './delete-in-parts.ts';
import { ownedBy } from './owned-by.ts';
import { execute, mapped, selectAll, selectFirst, type Database, type Script, type SqlValue } from './database.ts';
import { lossesIn } from './shares.ts';
import { parseExactly } from '../../shared/json/parse-exactly.ts';

export function createRunStore(database: Database): RunStore {
  async function removeAny(condition: string, ...values: SqlValue[]): Promise<void> {
    await deleteInParts(database, { store: 'runs', table: 'runs', key: ['id'], columns: ['characters'], condition, values });
  }

  return {
    save: (runs) => database.write('runs', () => save(runs)),

    find: (id) =>
      database.read(() => mapped(selectFirst<RunRow>(`SELECT ${columns}, events FROM runs WHERE id = ?`, id), (row) => row && toRun(row))),

    list: (page) => database.read(() => list(page)),

    async endInterrupted(time, waitingIds) {
      const unfinished = await database.read(() => selectAll<Unfinished>(selectUnfinished));
      const interruptedRuns = unfinished.filter((run) => statusAfterInterruption(run, waitingIds) !== undefined);
      // Read first: usually no run was interrupted, and a write would have to wait for locks.
      if (interruptedRuns.length === 0) return;
      await database.write('runs', () => endInterrupted(interruptedRuns, { time, waitingIds }));
    },

    async prune(bounds) {
      // No run ends before it began: the first condition finds the few old ones by their index, without reading all runs.
      await removeAny(`created < ? AND status <> 'running' AND coalesce(finished, created) < ?`, bounds.since, bounds.since);
      while (await database.write('runs', () => prune(bounds))) await nextTick();
    },

    async deleteAllOf(callerId) {
      const { condition, values } = ownedBy(callerId);
      await removeAny(condition, ...values);
    },
  };
}

type Unfinished = Pick<LoggedRun, 'id' | 'status'>;
const selectUnfinished = `SELECT id, status FROM runs WHERE status IN ('running', 'waiting')`;

function* save(runs: readonly LoggedRun[]): Script<void> {
  for (const run of runs) yield* execute(upsert, ...toRow(run));
}

function* endInterrupted(
  runs: readonly Unfinished[],
  { time, waitingIds }: { time: number; waitingIds: ReadonlySet<string> | undefined },
): Script<void> {
  for (const { id } of runs) {
    const row = yield* selectFirst<RunRow>(`SELECT ${columns}, events FROM runs WHERE id = ?`, id);
    const status = row && statusAfterInterruption(row, waitingIds);
    if (row === undefined || status === undefined) continue;
    const run = toRun(row);
    yield* execute(upsert, ...toRow(status === 'failed' ? interrupted(run, time) : { ...run, status: 'waiting' }));
  }
}

/** Rows of one page; the number of runs that fit a filter is not known before they are read. */
const listedPerQuery = 500;

/** Filters are the same function as for runs in memory; the statement only has conditions that an index answers. */
function* list({ callerId, limit, after, since, filter = {} }: RunPage & { since: number }): Script<RunList> {
  const conditions = ['coalesce(finished, created) >= ?'];
  const values: SqlValue[] = [since];
  const add = (condition: string, ...of: SqlValue[]): void => void (conditions.push(condition), values.push(...of));
  if (callerId !== undefined) add('caller_id = ?', callerId);
  if (filter.from !== undefined) add('created >= ?', filter.from);
  if (filter.to !== undefined) add('created <= ?', filter.to);
  const selection = `SELECT ${columns} FROM runs WHERE ${conditions.join(' AND ')}`;
  const runs: RunSummary[] = [];
  const perQuery = Math.min(listedPerQuery, limit + 1);
  let position: RunPosition | undefined = after;
  for (let searched = 0; ;) {
    const [condition, place]: [string, SqlValue[]] =
      position === undefined ? ['', []] : [' AND (created, id) < (?, ?)', [position.created, position.id]];
    const sql = `${selection}${condition} ORDER BY created DESC, id DESC LIMIT ?`;
    const rows = yield* selectAll<SummaryRow>(sql, ...values, ...place, perQuery);
    for (const row of rows) {
      searched += 1;
      const run = toSummary(row);
      const isFound = matchesFilter(run, filter);
      if (isFound && runs.length === limit) return { runs, next: runs.at(-1) };
      if (isFound) runs.push(run);
      if (searched === limits.searchedRuns) return { runs, next: run };
    }
    if (rows.length < perQuery) return { runs };
    position = rows.at(-1);
  }
}

const upsert = `INSERT INTO runs (id, caller_id, status, created, finished, characters, summary, events) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET status = excluded.status, finished = excluded.finished, characters = excluded.characters,
  summary = excluded.summary, events = excluded.events`;

const columns = 'id, caller_id AS "callerId", status, created, finished, summary';

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

function toRow({ id, callerId, status, created, finished, model, mode, usage, work, events }: LoggedRun): SqlValue[] {
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
function* prune({ maxRuns, maxCharacters }: Parameters<RunStore['prune']>[0]): Script<boolean> {
  const shared = { table: 'runs', id: 'id', where: 'finished IS NOT NULL', order: 'created, id' } as const;
  const losses = yield* lossesIn(shared, { entries: maxRuns, characters: maxCharacters, most: removedPerTick });
  for (const { id } of losses) yield* execute('DELETE FROM runs WHERE id = ?', id);
  return losses.length === removedPerTick.entries || new Set(losses.map(({ owner }) => owner)).size === removedPerTick.owners;
}
