import { limits } from '../core/limits.ts';
import type { KeptEvent, KeptRun, RunEnding } from '../core/run-log.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { RunStatus } from '../core/run.ts';
import { shortenEvent } from './shorten-event.ts';

/** One run as it is being written down. */
export interface RunRecord {
  readonly run: KeptRun;
  add(event: RunEvent, time: number): void;
  /** Data of our own, which is short and holds no secret: `characters` is what it counts. */
  addOwn(event: RunEvent, characters: number, time: number): void;
  end(ending: RunEnding, time: number): void;
}

const statuses: readonly string[] = ['running', 'waiting', 'completed', 'failed', 'cancelled'] satisfies RunStatus[];

/**
 * Writes a run's events down, within their limits: whatever else is left out, the end never is. A run is `waiting` from an
 * `approval.request` until each of them has its `approval.response` (by the `id` in their data), and after a `run.end` that says so.
 */
export function recordRun(start: Omit<KeptRun, 'status' | 'events'> & { events?: KeptEvent[] }): RunRecord {
  const run: KeptRun = { ...start, status: 'running', events: [...(start.events ?? [])] };
  const awaited = new Set<unknown>();
  let characters = run.events.reduce((sum, { data }) => sum + JSON.stringify(data).length, 0);
  let progressEvents = 0;
  let isFull = false;
  let endStatus: RunStatus | undefined;
  for (const { type, data } of run.events) noteApproval(type, data);

  /** Room is kept for the remark and the end. */
  function hasRoom(event: KeptEvent, size: number): boolean {
    if (event.type === 'run.end') return true;
    if (isFull) return false;
    if (characters + size <= limits.keptRunCharacters && run.events.length < limits.keptRunEvents) return true;
    isFull = true;
    const message = 'This run had more events than are kept. What follows is left out, except its end.';
    run.events.push({ type: 'warning', time: event.time, data: { code: 'events_left_out', message } });
    return false;
  }

  function add({ type, data }: RunEvent, time: number): void {
    noteStatus(type, data);
    // A run that is put away has not ended, and one that goes on begins no second time.
    if (type === 'run.end' && data['status'] === 'waiting') return;
    if (type === 'run.start' && start.events !== undefined) return;
    if (type === 'tool.progress' && ++progressEvents > limits.keptProgressEvents) return;
    const shortened = shortenEvent(data);
    keep({ type, time, data: shortened.data }, shortened.characters);
  }

  function keep(event: KeptEvent, size: number): void {
    if (!hasRoom(event, size)) return;
    characters += size;
    run.events.push(event);
  }

  function noteStatus(type: RunEvent['type'], data: RunEvent['data']): void {
    const { mode, status } = data;
    if (type === 'run.start' && typeof mode === 'string') run.mode = mode;
    else if (type === 'run.end') endStatus = isStatus(status) ? status : 'completed';
    noteApproval(type, data);
    run.status = awaited.size > 0 ? 'waiting' : 'running';
  }

  function noteApproval(type: RunEvent['type'], { id }: RunEvent['data']): void {
    if (type === 'approval.request') awaited.add(id);
    else if (type === 'approval.response') awaited.delete(id);
    // A call that has ended takes along those within it, whose ids begin with its own.
    else if (type === 'tool.result') for (const other of awaited) if (other === id || isWithin(other, id)) awaited.delete(other);
  }

  return {
    run,
    add,
    addOwn: ({ type, data }, size, time) => keep({ type, time, data }, size),
    end(ending, time) {
      // Who cancels has the last word.
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

function isStatus(value: unknown): value is RunStatus {
  return typeof value === 'string' && statuses.includes(value);
}
