import type { ToolCall } from '../../core/chat/chat.ts';
import type { ConfigChange } from '../../core/chat/chat-config.ts';
import type { ConnectingCall } from '../../core/user-input/connect.ts';
import type { ConnectGate } from '../../core/user-input/connect-gate.ts';
import type { InnerSuspension, ResumedInner, WaitingCall } from '../../core/runs/suspended-run.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import type { ResultStore } from '../../core/stores/result-store.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { RunEvent } from '../../core/runs/run-event.ts';
import type { ApprovalGate } from '../../core/user-input/approval-gate.ts';
import type { FollowUp, Tool, ToolOutcome } from '../../core/tools/tool.ts';
import type { Elicitations } from './elicit-input.ts';
import type { DuplicateCallGuard } from './duplicate-call-guard.ts';
import { truncateResult } from '../results/truncate-result.ts';
import type { Turn } from './take-turns.ts';
import type { PreparedCall } from './prepare-tool-call.ts';
import type { ResultCache } from '../results/result-cache.ts';
import { extractDataUris } from '../results/extract-data-uris.ts';
import type { RunHooks } from '../hooks/run-hooks.ts';

/**
 * Why a call continues in another request. `approval`: it needs a decision; `request` is the event that says so, if it was not emitted yet. `connect`: its
 * caller has to connect to a server. `inner`: nested calls need one of these. `blocked`: an earlier call is suspended.
 */
export type Suspension =
  | { type: 'approval'; waiting: Omit<WaitingCall, 'id'>; request?: RunEvent }
  | { type: 'connect'; connecting: ConnectingCall }
  | { type: 'inner'; suspension: InnerSuspension }
  | { type: 'blocked' };

/** How one call of a run ended. Plain data, except for `suspended`. */
export interface ToolCallResult {
  call: ToolCall;
  /** Absent if there is no function with that name. */
  tool?: { name: string; label: string };
  /** Absent if they could not be parsed. */
  args?: JsonObject;
  /** The arguments for the history: as the model gave them, or as a hook or a human changed them. */
  shownArgs?: JsonObject;
  /** What the model reads before the result: arguments that were renamed or ignored. */
  notices?: string[];
  /** The function was found, the arguments are valid, and no limit was exceeded. */
  isReady: boolean;
  /** The outcome as the model gets it, truncated if it was too large. */
  outcome: ToolOutcome;
  /** The text for the model: the result, or `{"error": "…"}`. */
  text: string;
  durationMs: number;
  /** How often the tool was run; 0 if the result was cached or the call did not run. */
  attempts: number;
  followUp?: FollowUp;
  /** A hook returned the result instead of the tool. */
  isByHook?: true;
  /** What the function said to the user while it ran. */
  said?: string;
  /** What the function changed in its chat. */
  changes?: ConfigChange;
  /** The size before truncation. */
  cutFromBytes?: number;
  /** Set if the call continues in another request; `outcome` is then for a run that cannot be suspended. */
  suspended?: Suspension;
}

export interface ToolCallSettings {
  run: RunContext;
  /** The time limit of the request or its preset; a tool's own has precedence. */
  requestTimeoutMs: number | undefined;
  defaultTimeoutMs: number;
  /** The total time limit of one call, even if it makes progress. Default: `limits.toolTotalTimeoutMs`. */
  totalTimeoutMs?: number;
  approvals?: ApprovalGate;
  /** Absent: calls without their caller's credential fail. */
  connecting?: ConnectGate;
  elicitations?: Elicitations;
  cache?: ResultCache;
  hooks?: RunHooks;
  /** Called with every exception that is hidden from the model. */
  onFault?: (fault: ToolFault) => void;
  newFaultId?: () => string;
  now: () => number;
}

/** An exception of a tool, for the log; model and caller only get its id. */
export interface ToolFault {
  id: string;
  tool: string;
  runId: string;
  callId: string;
  error: unknown;
}

/** The tools of a run, as entries of `tool_ids`. */
export interface RunTools {
  toolIds(): string[];
  /** @throws GatewayError `unknown_tool_id`, `forbidden` */
  check(toolIds: readonly string[]): Promise<void>;
}

/** What the calls of a run or round share, and what is specific to one call. */
export interface ToolCallScope {
  guard?: DuplicateCallGuard;
  /** Emits an event; resolves when it was delivered, never rejects. Absent if there is no reader. */
  emit?: ((event: RunEvent) => Promise<void>) | undefined;
  /** Says something in the answer; resolves when it was delivered, never rejects. Absent if there is no textual answer. */
  say?: (text: string) => Promise<void>;
  /** The tools of the run; absent if a function cannot change them. */
  config?: RunTools;
  /** Absent if no model can call `read_result`. */
  results?: ResultStore;
  readerName?: string;
  /** The most bytes of a result for the model; a tool's own limit has precedence. */
  resultBytes?: number;
  /** Aborts the call; default: the run's signal. */
  signal?: AbortSignal;
  /** Its turn in the round; absent for a call without siblings. */
  turn?: Turn;
  /** Requests for approval are not emitted yet, because another call of the round may have its caller connect first. */
  holdsRequests?: boolean;
  /** The state of a resumed call, which was already approved. */
  inner?: ResumedInner;
}

/** The tool's time limit, else that of the request or its preset, else the default. None of them may be zero, because that would not mean "none". */
export function timeoutOf(tool: Tool, { requestTimeoutMs, defaultTimeoutMs }: ToolCallSettings): number {
  const isLimit = (value: number | undefined): value is number => value !== undefined && value > 0;
  return [tool.timeoutMs, requestTimeoutMs].find(isLimit) ?? defaultTimeoutMs;
}

/** Objects and arrays become JSON, indented because people read it in sources, but for a helper's result; text stays text. */
function valueText(value: JsonValue, tool: Tool | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, tool?.isHelper === true ? undefined : 2);
}

function withFilesApart(outcome: ToolOutcome): ToolOutcome {
  if (outcome.type === 'error') return outcome;
  const { value, files } = extractDataUris(outcome.value);
  if (files.length === 0) return outcome;
  // A small file may be the value itself as well.
  const given = outcome.files ?? [];
  const others = given.filter(({ url }) => !files.some((file) => file.url === url));
  return { ...outcome, value, files: [...others, ...files.map((file) => ({ ...given.find(({ url }) => url === file.url), ...file }))] };
}

/**
 * Makes the result for the model. A result above its limit would push the conversation out of the context: it is truncated, and stored as a whole for
 * `read_result`.
 */
export function toToolCallResult(
  {
    prepared,
    attempts = 0,
    ...given
  }: Pick<ToolCallResult, 'outcome' | 'durationMs' | 'followUp' | 'said' | 'changes'> & { prepared: PreparedCall; attempts?: number },
  scope: ToolCallScope,
): ToolCallResult {
  const { call, tool, args } = prepared;
  const shownArgs = prepared.type === 'ready' ? prepared.given : args;
  const known = {
    ...(tool && { tool: { name: tool.spec.name, label: tool.label } }),
    ...(args && { args }),
    ...(shownArgs && { shownArgs }),
    ...(prepared.type === 'ready' && prepared.notices.length > 0 && { notices: prepared.notices }),
  };
  const ended = { ...given, call, ...known, isReady: prepared.type === 'ready', attempts };
  const outcome = withFilesApart(given.outcome);
  const maxBytes = tool?.maxResultBytes ?? scope.resultBytes ?? limits.toolResultBytes;
  const options = { maxBytes, results: scope.results, readerName: scope.readerName ?? '' };
  if (outcome.type === 'error') {
    const message = truncateResult(outcome.message, { ...options, results: undefined }).text;
    const detail = outcome.detail === undefined ? {} : { detail: outcome.detail };
    const text = JSON.stringify({ error: message, ...detail });
    return { ...ended, outcome: { ...outcome, message }, text };
  }
  const whole = valueText(outcome.value, tool);
  const { text, isCut } = truncateResult(whole, options);
  if (!isCut) return { ...ended, outcome, text };
  return { ...ended, outcome: { ...outcome, value: text, isTruncated: true }, text, cutFromBytes: Buffer.byteLength(whole) };
}
