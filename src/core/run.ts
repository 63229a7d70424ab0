import type { Caller } from './caller.ts';
import type { JsonObject } from './json.ts';

/** What every part of one run may know about it. */
export interface RunContext {
  readonly runId: string;
  readonly caller: Caller;
  readonly chatId: string | undefined;
  readonly messageId: string | undefined;
  /** The websocket session that executes browser tools; it may be gone or another caller's. */
  readonly sessionId: string | undefined;
  /** Aborted when the caller leaves or the run is cancelled. */
  readonly signal: AbortSignal;
}

export type EventType =
  | 'run.start'
  | 'selection'
  | 'tool.call'
  | 'tool.progress'
  | 'tool.result'
  | 'approval.request'
  | 'approval.response'
  | 'config.update'
  | 'limit.reached'
  | 'warning'
  | 'run.end';

/**
 * An event of a run as clients see it on request. The data of each type:
 * `run.start` `{run_id, model, mode, tools}` · `selection` `{model, found, dropped, repaired}` · `tool.call` `{id, tool, args, server}` ·
 * `tool.result` `{id, tool, response, duration_ms}` or with `error:{code, message}` · `limit.reached` `{limit, value}` · `warning` `{code, message}` ·
 * `run.end` `{run_id, status}`.
 */
export interface RunEvent {
  type: EventType;
  data: JsonObject;
}
