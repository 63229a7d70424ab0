import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { interruption, statusAfterInterruption } from '../../core/run-log.ts';
import type { KeptEvent, KeptRun, RunStore, RunSummary } from '../../core/run-log.ts';
import type { RunStatus } from '../../core/run.ts';
import { chooseLosses } from '../../shared/fair-shares.ts';
import type { DatabaseConnection } from './database-connection.ts';
import { sharesIn } from './sqlite-shares.ts';

/**
 * Runs in the gateway's SQLite file. To be given the connection of the registry: through another one every run that is saved would look to it
 * like a change by another process, and make it read everything anew.
 */
export function createSqliteRuns(connection: DatabaseConnection): RunStore {
  return {
    save: (runs) =>
      connection.write((database) => {
        const statement = database.prepare(upsert);
        for (const run of runs) statement.run(...toRow(run));
      }),

    find: (id) =>
      connection.read((database) => {
        const row = database.prepare(`SELECT ${columns}, events FROM runs WHERE id = ?`).get(id);
        return row === undefined ? undefined : toRun(row);
      }),

    list: ({ callerId, limit, after, since }) =>
      connection.read((database) => {
        const conditions = ['coalesce(finished, created) >= ?'];
        const values: SQLInputValue[] = [since];
        if (callerId !== undefined) {
          conditions.push('caller_id = ?');
          values.push(callerId);
        }
        if (after !== undefined) {
          conditions.push('(created, id) < (?, ?)');
          values.push(after.created, after.id);
        }
        const sql = `SELECT ${columns} FROM runs WHERE ${conditions.join(' AND ')} ORDER BY created DESC, id DESC LIMIT ?`;
        const rows = database.prepare(sql).all(...values, limit);
        return rows.map(toSummary);
      }),

    async endInterrupted(time, waitingIds) {
      const isLeft = ({ id, status }: Record<string, unknown>): boolean =>
        statusAfterInterruption({ id: String(id), status: status as RunStatus }, waitingIds) !== undefined;
      // Most starts have nothing to end, and a write would wait for locks.
      const isAny = await connection.read((database) => database.prepare(`SELECT id, status FROM runs ${unfinished}`).all().some(isLeft));
      if (!isAny) return;
      await connection.write((database) => {
        const statement = database.prepare(upsert);
        for (const row of database.prepare(`SELECT ${columns}, events FROM runs ${unfinished}`).all().filter(isLeft)) {
          const run = toRun(row);
          const isFailed = statusAfterInterruption(run, waitingIds) === 'failed';
          const end: Pick<KeptRun, 'status' | 'finished' | 'events'> = isFailed
            ? { status: 'failed', finished: time, events: [...run.events, interruption(run.id, time)] }
            : { status: 'waiting', events: run.events };
          statement.run(...toRow({ ...run, ...end }));
        }
      });
    },

    prune: (bounds) => connection.write((database) => prune(database, bounds)),
  };
}

const unfinished = `WHERE status IN ('running', 'waiting')`;
const upsert = `INSERT INTO runs (id, caller_id, status, created, finished, characters, summary, events) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET status = excluded.status, finished = excluded.finished, characters = excluded.characters,
  summary = excluded.summary, events = excluded.events`;

const columns = 'id, caller_id, status, created, finished, summary';

/** `summary` has what no other column has; those of earlier releases have it all. */
function toRow({ id, callerId, status, created, finished, model, mode, usage, events }: KeptRun): SQLInputValue[] {
  const text = JSON.stringify(events);
  return [id, callerId, status, created, finished ?? null, text.length, JSON.stringify({ model, mode, usage }), text];
}

function toSummary({ id, caller_id: callerId, status, created, finished, summary }: Record<string, unknown>): RunSummary {
  return {
    id: String(id),
    callerId: String(callerId),
    status: status as RunStatus,
    created: Number(created),
    ...(finished !== null && { finished: Number(finished) }),
    ...(JSON.parse(String(summary)) as Pick<RunSummary, 'model' | 'mode' | 'usage'>),
  };
}

function toRun(row: Record<string, unknown>): KeptRun {
  return { ...toSummary(row), events: JSON.parse(String(row['events'])) as KeptEvent[] };
}

function prune(database: DatabaseSync, { since, maxRuns, maxCharacters }: Parameters<RunStore['prune']>[0]): void {
  database.prepare(`DELETE FROM runs WHERE status <> 'running' AND coalesce(finished, created) < ?`).run(since);
  const shares = sharesIn(database, { table: 'runs', id: 'id', where: 'finished IS NOT NULL', order: 'created, id' });
  const remove = database.prepare('DELETE FROM runs WHERE id = ?');
  for (const { id } of chooseLosses(shares, { entries: maxRuns, characters: maxCharacters })) remove.run(id);
}
