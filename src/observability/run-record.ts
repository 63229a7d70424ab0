import type { LoggedEvent, LoggedRun, RunEnding } from '../core/runs/run-log.ts';
import type { RunEvent, RunStatus } from '../core/chat/run-event.ts';
import { emptyWork, noteWork } from './run-work.ts';
import { shortenValues } from './shorten-values.ts';
import { loggedTextCharacters } from './model-request-log.ts';

/** One logged event, however many texts it has. */
export const loggedEventCharacters = 16_000;
/** The events of one logged run: all rounds of an ordinary answer. */
export const loggedRunCharacters = 128 * 1024;
export const loggedRunEvents = 1_000;
/** Progress events are many and say little; they must not displace results. */
export const loggedProgressEvents = 100;

/** The log of one active run. */
export interface RunRecord {
  readonly run: LoggedRun;
  add(event: RunEvent, time: number): void;
  /** Adds an event with short data without secrets, which is not copied; `characters` is its size. */
  addShort(event: RunEvent, characters: number, time: number): void;
  end(ending: RunEnding, time: number): void;
}

const eventBounds = { textCharacters: loggedTextCharacters, characters: loggedEventCharacters };

/**
 * Logs a run's events within the limits; the end is always logged. A run is `waiting` from an
 * `approval.request` or `connect.request` until every one has its response (with the same `id`), and after a `run.end` with that status.
 */
export function createRunRecord(start: Omit<LoggedRun, 'status' | 'events'> & { events?: LoggedEvent[] }): RunRecord {
  const run: LoggedRun = { ...start, status: 'running', events: [...(start.events ?? [])] };
  const work = start.work === undefined ? emptyWork() : structuredClone(start.work);
  run.work = work;
  const awaited = new Set<unknown>();
  let characters = run.events.reduce((sum, { data }) => sum + JSON.stringify(data).length, 0);
  let progressEvents = 0;
  let isFull = false;
  let endStatus: RunStatus | undefined;
  for (const event of run.events) noteApproval(event);

  /** There is always room for the warning and the end. */
  function hasRoom(event: LoggedEvent, size: number): boolean {
    if (event.type === 'run.end') return true;
    if (isFull) return false;
    if (characters + size <= loggedRunCharacters && run.events.length < loggedRunEvents) return true;
    isFull = true;
    const message = 'This run has more events than the log keeps. Further events are left out, except its end.';
    run.events.push({ type: 'warning', time: event.time, data: { code: 'events_left_out', message } });
    return false;
  }

  function add(event: RunEvent, time: number): void {
    noteStatus(event);
    // A suspended run has not ended, and a resumed one does not start a second time.
    if (event.type === 'run.end' && event.data.status === 'waiting') return;
    if (event.type === 'run.start' && start.events !== undefined) return;
    const { type, data } = event;
    noteWork(work, event, time);
    if (type === 'tool.progress' && ++progressEvents > loggedProgressEvents) return;
    const shortened = shortenValues(data, eventBounds);
    keep({ type, time, data: shortened.data }, shortened.characters);
  }

  function keep(event: LoggedEvent, size: number): void {
    if (!hasRoom(event, size)) return;
    characters += size;
    run.events.push(event);
  }

  function noteStatus({ type, data }: RunEvent): void {
    if (type === 'run.start') run.mode = data.mode;
    else if (type === 'run.end') endStatus = data.status;
    noteApproval({ type, data });
    run.status = awaited.size > 0 ? 'waiting' : 'running';
  }

  function noteApproval({ type, data: { id } }: Pick<LoggedEvent, 'type' | 'data'>): void {
    if (type === 'approval.request' || type === 'connect.request') awaited.add(id);
    else if (type === 'approval.response' || type === 'connect.response') awaited.delete(id);
    // The end of a call ends the calls within it, whose ids begin with its id.
    else if (type === 'tool.result') for (const other of awaited) if (other === id || isWithin(other, id)) awaited.delete(other);
  }

  return {
    run,
    add,
    addShort({ type, data }, size, time) {
      noteWork(work, { type, data }, time);
      keep({ type, time, data }, size);
    },
    end(ending, time) {
      // A suspended run that is cancelled ends as cancelled.
      if (endStatus === 'waiting' && ending.status === 'cancelled') endStatus = undefined;
      if (endStatus === undefined && ending.status !== 'waiting') {
        const error = ending.status === 'completed' ? {} : { error: ending.error };
        add({ type: 'run.end', data: { run_id: run.id, status: ending.status, ...error } }, time);
      }
      run.status = endStatus ?? ending.status;
      if (run.status !== 'waiting') run.finished = time;
    },
  };
}

function isWithin(inner: unknown, outer: unknown): boolean {
  return typeof inner === 'string' && typeof outer === 'string' && inner.startsWith(`${outer}.`);
}
