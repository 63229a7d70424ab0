import type { ChatEvent, Usage } from '../chat/chat.ts';
import type { ModelRequestLog } from '../models/model-request-log.ts';
import { isWithin } from '../callers/people.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import type { EventType, RunStatus } from '../chat/run-event.ts';

/** An event in the log: long texts are truncated, values under secret names are redacted. */
export interface LoggedEvent {
  type: EventType;
  data: JsonObject;
  /** Milliseconds since 1970. */
  time: number;
}

/** A run without its events. Times are milliseconds since 1970. */
export interface RunSummary {
  id: string;
  callerId: string;
  status: RunStatus;
  model: string;
  /** The mode in which the run started (`none`, `native`, `default`, …); before its start, the mode of the request, if it names one. */
  mode?: string;
  created: number;
  finished?: number;
  /** Over all rounds; absent until a backend reports usage. */
  usage?: Usage;
  /** Absent before the first event. */
  work?: RunWork;
}

/** What a list shows of a run's events, and finds it by. Calls of presets that were called as tools are among them. */
export interface RunWork {
  modelRequests: number;
  calls: number;
  failedCalls: number;
  /** Functions that were called, and the servers they belong to: the first of each, up to `limits.listedNames`. */
  tools: string[];
  servers: string[];
  /** Why it failed or was cancelled. */
  error?: { code: string; message: string };
  /** What happened last. */
  last?: { type: EventType; time: number; tool?: string };
}

export interface LoggedRun extends RunSummary {
  /** In the order in which they happened. */
  events: LoggedEvent[];
}

/** How a run ended. `error` has the code and message that its client got, or would have got. */
export type RunEnding =
  | { status: 'completed' }
  /** Suspended: it waits for a decision, and may be resumed. */
  | { status: 'waiting' }
  | { status: 'failed' | 'cancelled'; error: { code: string; message: string } };

export interface RunPage {
  /** Undefined: runs of all callers. */
  callerId: string | undefined;
  limit: number;
  /** The `next` of the previous page. */
  after: RunPosition | undefined;
  filter?: RunFilter;
}

/** A position in the order of lists. */
export interface RunPosition {
  created: number;
  id: string;
}

/** Selects the runs that meet all of these conditions. */
export interface RunFilter {
  status?: RunStatus | undefined;
  model?: string | undefined;
  /** A function that was called. */
  tool?: string | undefined;
  /** A tool server of which a function was called. */
  server?: string | undefined;
  /** The id of a caller, or of the key of several people. */
  owner?: string | undefined;
  /** Text within the id. */
  idPart?: string | undefined;
  /** Failed, or with a call that failed. */
  hasErrors?: boolean | undefined;
  /** When it began, in milliseconds since 1970. */
  from?: number | undefined;
  to?: number | undefined;
}

/** Newest first. `next`: there may be further ones after it, even if this page is not full. */
export interface RunList {
  runs: RunSummary[];
  next?: RunPosition | undefined;
}

/** Records one run. Called for every event, so it must be fast for the frequent ones. */
export interface RunRecorder {
  record(event: ChatEvent): void;
  /** Called once; nothing is recorded after it, unless the run waits and is resumed. */
  end(ending: RunEnding): void;
  /** Absent if the recorder records nothing. */
  readonly modelRequests?: ModelRequestLog;
}

/** What happened in the runs of the last 24 hours. Reading throws GatewayError `storage_unavailable` when the store does. */
export interface RunLog {
  begin(start: { id: string; callerId: string; model: string; mode: string | undefined }): RunRecorder;
  /** Continues recording a waiting run, even one of another process; undefined if no waiting run has this id. */
  resume(id: string): Promise<RunRecorder | undefined>;
  /** Resolves when everything so far is durable, or the store has failed. */
  flush: () => Promise<void>;
  find(id: string): Promise<LoggedRun | undefined>;
  /** The recorded prompts and answers of a run, each as JSON, in the order in which they were asked; none if none are recorded. */
  promptsOf(run: LoggedRun): Promise<string[]>;
  list(page: RunPage): Promise<RunList>;
}

/**
 * Stores runs.
 * @throws GatewayError `storage_unavailable`
 */
export interface RunStore {
  /** Adds runs or replaces those of the same id, all of them or none. Resolves when they are durable. */
  save(runs: readonly LoggedRun[]): Promise<void>;
  find(id: string): Promise<LoggedRun | undefined>;
  /** Runs that ended before `since` are left out. Looks through `limits.searchedRuns` runs at most. */
  list(page: RunPage & { since: number }): Promise<RunList>;
  /**
   * For the start of a gateway, when no run can be active yet: marks as failed every run that is `running`, or `waiting` and not in `waitingIds`, with
   * a last event that says so. Runs in `waitingIds` become `waiting`. A gateway that is still shutting down overwrites this with the actual end.
   */
  endInterrupted(time: number, waitingIds?: ReadonlySet<string>): Promise<void>;
  /**
   * Deletes runs that ended before `since` (or were created before it, if they wait). Beyond `maxRuns` or `maxCharacters` (events as JSON), it deletes
   * the oldest of the caller with the most. Active runs are never deleted; they and waiting ones do not count towards these two bounds.
   */
  prune(bounds: { since: number; maxRuns: number; maxCharacters: number }): Promise<void>;
  /** For a key, also those of its people. */
  deleteAllOf(callerId: string): Promise<void>;
}

/** The order of lists: newest first; runs of the same moment by descending id. */
export function newestFirst(left: RunPosition, right: RunPosition): number {
  if (left.created !== right.created) return right.created - left.created;
  if (left.id === right.id) return 0;
  return left.id < right.id ? 1 : -1;
}

/** Whether a run belongs on the page or a later one, by its caller and its position in the order. */
export function isOnPage(run: RunSummary, { callerId, after, filter }: RunPage): boolean {
  const isVisible = (callerId === undefined || run.callerId === callerId) && (after === undefined || newestFirst(after, run) < 0);
  return isVisible && (filter === undefined || matchesFilter(run, filter));
}

export function matchesFilter({ id, callerId, status, model, created, work }: RunSummary, filter: RunFilter): boolean {
  const { tool, server, owner, idPart, hasErrors = false, from, to } = filter;
  return (
    (filter.status === undefined || status === filter.status) &&
    (filter.model === undefined || model === filter.model) &&
    (from === undefined || created >= from) &&
    (to === undefined || created <= to) &&
    (tool === undefined || work?.tools.includes(tool) === true) &&
    (server === undefined || work?.servers.includes(server) === true) &&
    (owner === undefined || isWithin(callerId, owner)) &&
    (idPart === undefined || id.includes(idPart)) &&
    (!hasErrors || status === 'failed' || (work?.failedCalls ?? 0) > 0)
  );
}

/** The new status of a run whose gateway died; undefined if it stays as it is. A run may have been suspended just before the log could record it. */
export function statusAfterInterruption(
  { id, status }: Pick<LoggedRun, 'id' | 'status'>,
  waitingIds: ReadonlySet<string> | undefined,
): 'waiting' | 'failed' | undefined {
  if (waitingIds?.has(id) === true) return status === 'running' ? 'waiting' : undefined;
  return status === 'running' || (status === 'waiting' && waitingIds !== undefined) ? 'failed' : undefined;
}

/** A run whose gateway died during it. */
export function interrupted(run: LoggedRun, time: number): LoggedRun {
  const message = 'The gateway stopped before this run ended. Whether calls that were running took effect is unknown.';
  const error = { code: 'interrupted', message };
  const end: LoggedEvent = { type: 'run.end', time, data: { run_id: run.id, status: 'failed', error } };
  return { ...run, status: 'failed', finished: time, events: [...run.events, end], ...(run.work && { work: { ...run.work, error } }) };
}
