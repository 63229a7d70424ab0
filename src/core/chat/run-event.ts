import type { ApprovalAnswer } from '../user-input/approval.ts';
import type { JsonObject, JsonValue } from '../../shared/json/json.ts';

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
  | 'queue'
  | 'config.update'
  | 'limit.reached'
  | 'warning'
  | 'run.end';

/** The data of each type. `model.request` and `model.response` have sizes and names, and are only in the log of the run. */
type RunEventData = {
  'run.start': { run_id: string; model: string; mode: string; tools: number; functions?: string[] };
  /** `{question, purpose, mode, model, messages, characters, functions}`, and fields of `RequestPurpose` where they apply. */
  'model.request': JsonObject;
  /** `{question, finish_reason, calls, characters, duration_ms}`, and `first_token_ms`, `reasoning_characters`, `usage`, `stopped` or `error`. */
  'model.response': JsonObject;
  selection: {
    model: string;
    asked: { query: string; functions: number; questions: number };
    found: string[];
    dropped: { name: string; reason: string }[];
    repaired: string[];
    unreadable?: true;
    cut?: true;
    error?: EventError;
  };
  /** `args`: as the model wrote them where they cannot be parsed. `token`: for a call that waits, in dialects that show each call. */
  'tool.call': CallOfEvent & { args: JsonValue; server: string | null; repairs?: JsonValue; token?: string | null };
  /** With `level` (as in MCP), `status` is a log message of the tool's server. */
  'tool.progress': CallOfEvent & { status?: string; progress?: number; total?: number; level?: string; logger?: string };
  /** With `response`, or with `error`, whose `state` is a `CallState`. */
  'tool.result': CallOfEvent & {
    duration_ms: number;
    attempts?: number;
    response?: JsonValue;
    truncated?: true;
    files?: JsonObject[];
    hook?: true;
    cached?: true;
    error?: EventError & { state?: string };
  };
  'approval.request': CallOfEvent & { args: JsonObject; server: string };
  /** `args`: those that were approved instead of the model's. */
  'approval.response': CallOfEvent & {
    decision: 'approve' | 'reject' | 'expired' | 'cancelled' | 'unavailable';
    edited?: true;
    args?: JsonObject;
    message?: string;
    remembered?: true;
  };
  'connect.request': CallOfEvent & { server: string; name: string };
  'connect.response': CallOfEvent & { server: string; outcome: 'connected' | 'cancelled' | 'expired' | 'unavailable' };
  /** The place of a model request that waits for its backend, from 1; 0 when its turn has come. */
  queue: { model: string; place: number };
  /**
   * `{created}` (the time of the change) with `tools`, `added`, `removed` and `functions` (names) where it happens in this run, and with `tool_ids`,
   * `instructions` or `preset` where these have changed, in this run or before it.
   */
  'config.update': JsonObject;
  /** `id`: that of the call, for limits of one call. `bytes`: the size before it was cut. */
  'limit.reached': { limit: string; value: number; id?: string; bytes?: number; code?: string };
  /** `model`: of `model_fallback`, the public id of the model that answers. */
  warning: EventError & { needed?: number; num_ctx?: number; model?: string };
  /** `error`: only in the log of the run; in a stream the error event has it. */
  'run.end': { run_id: string; status: RunStatus; error?: EventError };
};

type EventError = {
  code: string;
  message: string;
};

type CallOfEvent = {
  id: string;
  tool: string;
};

export type DataOf<Type extends EventType> = RunEventData[Type] & {
  /** The id of the preset's call in which the event happened; its `id` then begins with this and a dot. */
  within?: string;
};

/** An event of a run as clients see it on request. */
export type RunEvent = { [Type in EventType]: { type: Type; data: DataOf<Type> } }[EventType];

/** `waiting`: for an approval or a sign-in, possibly while other calls run. The last three are final. */
export type RunStatus = 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled';

/** The data of `approval.response`, without the tool. */
export function responseData(callId: string, answer: ApprovalAnswer): Omit<DataOf<'approval.response'>, 'tool'> {
  if (answer.decision === 'approve')
    return { id: callId, decision: 'approve', ...(answer.args !== undefined && { edited: true, args: answer.args }) };
  return { id: callId, decision: 'reject', ...(answer.message !== undefined && { message: answer.message }) };
}
