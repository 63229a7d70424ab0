import type { JsonObject } from '../../shared/json.ts';

export type EventType =
  | 'run.start'
  | 'model.request'
  | 'model.response'
  | 'selection'
  | 'tool.call'
  | 'tool.progress'
  | 'tool.result'
  | 'approval.request'
  | 'approval.response'
  | 'connect.request'
  | 'connect.response'
  | 'config.update'
  | 'limit.reached'
  | 'warning'
  | 'run.end';

/**
 * An event of a run as clients see it on request, except `model.request` and `model.response`, which stand in the log of the run alone. The data of each type:
 * `run.start` `{run_id, model, mode, tools}`, with `functions` (their names) when there are any ·
 * `model.request` `{question, purpose, mode, model, messages, characters, functions}` with `preset`, `within`, `round`, `max_rounds`, `names`, `tool_choice`, `structured`, `reason` where they apply (`RequestPurpose`) ·
 * `model.response` `{question, finish_reason, calls, characters, duration_ms}` with `first_token_ms`, `reasoning_characters`, `usage`, `stopped`, or `error:{code, message}` · `selection` `{model, asked:{query, functions, questions}, found, dropped:[{name, reason}], repaired}`, with `unreadable`, `cut` or `error` where it failed · `tool.call` `{id, tool, args, server}` ·
 * `tool.progress` `{id, tool}` with `status`, or with `progress` and perhaps `total` ·
 * `approval.request` `{id, tool, args, server}` · `approval.response` `{id, tool, decision}`, with `message`, `remembered`, or `edited` and the `args` that were approved instead ·
 * `connect.request` `{id, tool, server, name}` · `connect.response` `{id, tool, server, outcome}` (`connected`, `cancelled`, `expired`, `unavailable`) ·
 * `tool.result` `{id, tool, response, duration_ms}` with `truncated`, `cached`, `attempts` where they apply, or with `error:{code, message, state?}`
 * (`CallState`) · `limit.reached` `{limit, value}`, where `limit` is `tool_rounds`, `reasks`, `calls_per_round`, `calls_per_run`, `tool_phase_ms`,
 * `said_characters` with the `id` of the call, or `result_bytes` with the `id` of the call and its `bytes` before the cut · `warning` `{code, message}` ·
 * `config.update` `{created}` (the time of the change) with `tools`, `added`, `removed` and `functions` (names) where it happens in this run, and with
 * `tool_ids`, `instructions` or `preset` where these have changed, in this run or before it ·
 * `run.end` `{run_id, status}`, with `error:{code, message}` when it failed or was cancelled (only in the log of the run; in a stream the error event says so).
 * Events of a preset that was called as a tool have `within`, the id of that call, and an `id` that begins with it and a dot.
 */
export interface RunEvent {
  type: EventType;
  data: JsonObject;
}
