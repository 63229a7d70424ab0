import type { ChatEvent, Usage } from './chat.ts';
import type { ModelRequestLog } from './model-request-log.ts';
import type { RunEvent } from './run-event.ts';
import type { RunStatus } from './run.ts';

/** An event as the log keeps it: long texts are cut, values under secret names are gone. */
export interface KeptEvent extends RunEvent {
  /** Milliseconds since 1970. */
  time: number;
}

/** A run without its events. Times are milliseconds since 1970. */
export interface RunSummary {
  id: string;
  callerId: string;
  status: RunStatus;
  model: string;
  /** `none`, `native`, `default`, …: what the run started in; before that what the request asked for; absent when it asked for nothing. */
  mode?: string;
  created: number;
  finished?: number;
  /** Over all rounds; absent while no backend has told any. */
  usage?: Usage;
}

export interface KeptRun extends RunSummary {
  /** In the order in which they happened. */
  events: KeptEvent[];
}

/** How a run ended. `error` has the code and the words that its client got, or would have got. */
export type RunEnding =
  | { status: 'completed' }
  /** Not an end: it waits for somebody's decision, and may be resumed. */
  | { status: 'waiting' }
  | { status: 'failed' | 'cancelled'; error: { code: string; message: string } };

export interface RunPage {
  /** Undefined: everybody's. */
  callerId: string | undefined;
  limit: number;
  /** The last run of the page before; this one begins after it. */
  after: { created: number; id: string } | undefined;
}

/** Writes down one run. Called for every event, so it looks closely at few of them. */
export interface RunRecorder {
  record(event: ChatEvent): void;
  /** Called once; nothing is recorded after it, unless the run waits and is resumed. */
  end(ending: RunEnding): void;
  /** Absent from one that writes nothing down. */
  readonly modelRequests?: ModelRequestLog;
}

/** What happened in the runs of the last 24 hours. Reading throws GatewayError `storage_unavailable` when the store does. */
export interface RunLog {
  begin(start: { id: string; callerId: string; model: string; mode: string | undefined }): RunRecorder;
  /** Writes on in a run that waits, also in one that another process has kept; undefined when there is none of that id that waits. */
  resume(id: string): Promise<RunRecorder | undefined>;
  /** Resolves when everything so far is durable, or when the store has refused it. */
  flush(): Promise<void>;
  find(id: string): Promise<KeptRun | undefined>;
  /** Newest first. */
  list(page: RunPage): Promise<RunSummary[]>;
}

/**
 * Keeps runs.
 * @throws GatewayError `storage_unavailable`
 */
export interface RunStore {
  /** Adds runs, or replaces those of the same id: all of them or none. Resolves when they are durable. */
  save(runs: readonly KeptRun[]): Promise<void>;
  find(id: string): Promise<KeptRun | undefined>;
  /** Newest first; those of one moment by their id, backwards. Runs that had ended before `since` are left out. */
  list(page: RunPage & { since: number }): Promise<RunSummary[]>;
  /**
   * Marks as failed what is `running`, and what waits and is not among `waitingIds`, with a last event that says so; what is among them waits. For
   * the start of a gateway, when nothing can be running yet. A gateway that is still ending its runs puts its own mark over it.
   */
  endInterrupted(time: number, waitingIds?: ReadonlySet<string>): Promise<void>;
  /**
   * Forgets runs that ended before `since` (for one that waits its beginning counts), and beyond a number and a size of the events as JSON the
   * oldest of the caller who has the most. What is running is left alone, what waits is left alone by the latter two: neither counts for them.
   */
  prune(bounds: { since: number; maxRuns: number; maxCharacters: number }): Promise<void>;
}

/** The order of a list: newest first; those of one moment by their id, backwards. */
export function newestFirst(left: { created: number; id: string }, right: { created: number; id: string }): number {
  if (left.created !== right.created) return right.created - left.created;
  if (left.id === right.id) return 0;
  return left.id < right.id ? 1 : -1;
}

/** Whether a run may stand on the page, as far as its caller and its place in the order go. */
export function isOnPage(run: RunSummary, { callerId, after }: RunPage): boolean {
  return (callerId === undefined || run.callerId === callerId) && (after === undefined || newestFirst(after, run) < 0);
}

/** What becomes of a run that was left behind; undefined where it stays as it is. One may have been kept just before its log could say so. */
export function statusAfterInterruption(
  { id, status }: Pick<KeptRun, 'id' | 'status'>,
  waitingIds: ReadonlySet<string> | undefined,
): 'waiting' | 'failed' | undefined {
  if (waitingIds?.has(id) === true) return status === 'running' ? 'waiting' : undefined;
  return status === 'running' || (status === 'waiting' && waitingIds !== undefined) ? 'failed' : undefined;
}

/** The last event of a run whose gateway died before it. */
export function interruption(id: string, time: number): KeptEvent {
  const message = 'The gateway ended before this run did. Whether calls that were under way took effect is unknown.';
  return { type: 'run.end', time, data: { run_id: id, status: 'failed', error: { code: 'interrupted', message } } };
}
