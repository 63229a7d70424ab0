import type { LoggedEvent, LoggedRun, RunEnding, RunWork } from '../core/runs/run-log.ts';
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

/** What such an event counts. */
const shortCharacters = 200;
const eventBounds = { textCharacters: loggedTextCharacters, characters: loggedEventCharacters };

/**
 * The log of one active run, within the limits; its end is always logged. A run is `waiting` from an
 * `approval.request` or `connect.request` until every one has its response (with the same `id`), and after a `run.end` with that status.
 */
export class RunRecord {
  readonly run: LoggedRun;
  readonly #work: RunWork;
  readonly #isResumed: boolean;
  /** The ids of requests without a response. */
  #awaited: Set<unknown> | undefined;
  #characters = 0;
  #progressEvents = 0;
  #isFull = false;
  #endStatus: RunStatus | undefined;

  /** With `events`: the run was suspended, and is resumed. */
  constructor(start: Omit<LoggedRun, 'status' | 'events'> & { events?: LoggedEvent[] }) {
    const { id, callerId, model, mode, created, usage } = start;
    this.#isResumed = start.events !== undefined;
    this.#work = start.work === undefined ? emptyWork() : structuredClone(start.work);
    this.run = { id, callerId, model, created, status: 'running', events: start.events?.slice() ?? [], work: this.#work };
    if (mode !== undefined) this.run.mode = mode;
    if (usage !== undefined) this.run.usage = usage;
    for (const event of this.run.events) {
      this.#characters += JSON.stringify(event.data).length;
      this.#noteApproval(event);
    }
  }

  add(event: RunEvent, time: number): void {
    this.#noteStatus(event);
    // A suspended run has not ended, and a resumed one does not start a second time.
    if (event.type === 'run.end' && event.data.status === 'waiting') return;
    if (event.type === 'run.start' && this.#isResumed) return;
    const short = shortSizeOf(event);
    if (short !== undefined) return this.addShort(event, short, time);
    const { type, data } = event;
    noteWork(this.#work, event, time);
    if (type === 'tool.progress' && ++this.#progressEvents > loggedProgressEvents) return;
    const shortened = shortenValues(data, eventBounds);
    this.#keep({ type, time, data: shortened.data }, shortened.characters);
  }

  /** Adds an event with short data without secrets, which is not copied; `characters` is its size. */
  addShort({ type, data }: RunEvent, characters: number, time: number): void {
    const event: LoggedEvent = { type, time, data };
    noteWork(this.#work, event, time);
    this.#keep(event, characters);
  }

  end(ending: RunEnding, time: number): void {
    // A suspended run that is cancelled ends as cancelled.
    if (this.#endStatus === 'waiting' && ending.status === 'cancelled') this.#endStatus = undefined;
    if (this.#endStatus === undefined && ending.status !== 'waiting') {
      const error = ending.status === 'completed' ? {} : { error: ending.error };
      this.add({ type: 'run.end', data: { run_id: this.run.id, status: ending.status, ...error } }, time);
    }
    this.run.status = this.#endStatus ?? ending.status;
    if (this.run.status !== 'waiting') this.run.finished = time;
  }

  /** There is always room for the warning and the end. */
  #keep(event: LoggedEvent, size: number): void {
    const { events } = this.run;
    const hasRoom = !this.#isFull && this.#characters + size <= loggedRunCharacters && events.length < loggedRunEvents;
    if (hasRoom || event.type === 'run.end') {
      this.#characters += size;
      events.push(event);
    } else if (!this.#isFull) {
      this.#isFull = true;
      const message = 'This run has more events than the log keeps. Further events are left out, except its end.';
      events.push({ type: 'warning', time: event.time, data: { code: 'events_left_out', message } });
    }
  }

  #noteStatus(event: RunEvent): void {
    if (event.type === 'run.start') this.run.mode = event.data.mode;
    else if (event.type === 'run.end') this.#endStatus = event.data.status;
    this.#noteApproval(event);
    this.run.status = this.#awaited !== undefined && this.#awaited.size > 0 ? 'waiting' : 'running';
  }

  #noteApproval({ type, data: { id } }: Pick<LoggedEvent, 'type' | 'data'>): void {
    if (type === 'approval.request' || type === 'connect.request') (this.#awaited ??= new Set()).add(id);
    else if (type === 'approval.response' || type === 'connect.response') this.#awaited?.delete(id);
    // The end of a call ends the calls within it, whose ids begin with its id.
    else if (type === 'tool.result' && this.#awaited !== undefined)
      for (const other of this.#awaited) if (other === id || isWithin(other, id)) this.#awaited.delete(other);
  }
}

/** The size of a start, and of an end without an error, which have nothing but the gateway's own words, and names; undefined for other events. */
function shortSizeOf({ type, data }: RunEvent): number | undefined {
  if (type === 'run.end') return data.error === undefined ? shortCharacters : undefined;
  if (type !== 'run.start' || data.model.length >= shortCharacters) return undefined;
  let size = shortCharacters;
  for (const name of data.functions ?? []) size += name.length;
  return size;
}

function isWithin(inner: unknown, outer: unknown): boolean {
  return typeof inner === 'string' && typeof outer === 'string' && inner.startsWith(`${outer}.`);
}
