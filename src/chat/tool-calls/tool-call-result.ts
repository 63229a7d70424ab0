import type { ToolCall } from '../../core/chat.ts';
import type { InnerWait, ResumedInner, WaitingCall } from '../../core/suspended-run.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import type { ResultStore } from '../../core/result-store.ts';
import type { RunContext } from '../../core/run.ts';
import type { RunEvent } from '../../core/run-event.ts';
import type { ApprovalGate } from '../../core/approval-gate.ts';
import type { FollowUp, Tool, ToolOutcome } from '../../core/tool.ts';
import type { Elicitations } from './elicit-input.ts';
import type { DuplicateCallGuard } from './duplicate-call-guard.ts';
import { truncateResult } from '../results/truncate-result.ts';
import type { Turn } from './take-turns.ts';
import type { PreparedCall } from './prepare-tool-call.ts';
import type { ResultCache } from '../results/result-cache.ts';
import { extractDataUris } from '../results/extract-data-uris.ts';
import type { RunHooks } from '../hooks/run-hooks.ts';

/**
 * Why a call goes on in another request. `approval`: there comes the decision on it. `inner`: there come those on calls within it. `blocked`: such a
 * call comes before it.
 */
export type Suspension = { type: 'approval'; waiting: Omit<WaitingCall, 'id'> } | { type: 'inner'; wait: InnerWait } | { type: 'blocked' };

/** How one call of a run ended. Plain data, but for what it is suspended with. */
export interface ToolCallResult {
  call: ToolCall;
  /** Absent where there is no function of that name. */
  tool?: { name: string; label: string };
  /** As far as they could be read. */
  args?: JsonObject;
  /** Its function was found, its arguments fit, and it was not one too many. */
  isReady: boolean;
  /** Its `value` or `message` is what the model reads: truncated where it was too large. */
  outcome: ToolOutcome;
  /** What the model reads: the result as text, or `{"error": "…"}`. */
  text: string;
  durationMs: number;
  /** How often the tool was run; 0: the result came from the cache, or the call did not run. */
  attempts: number;
  followUp?: FollowUp;
  /** A hook has answered instead of the tool. */
  isByHook?: true;
  /** The size before it was cut. */
  cutFromBytes?: number;
  /** Present where it has not run to its end, but goes on in another request; `outcome` is for a run that cannot wait for that. */
  suspended?: Suspension;
}

export interface ToolCallSettings {
  run: RunContext;
  /** Of the request or its preset; a tool's own one comes first. */
  requestTimeoutMs: number | undefined;
  defaultTimeoutMs: number;
  /** Of one call, with all progress. Default: `limits.toolTotalTimeoutMs`. */
  totalTimeoutMs?: number;
  approvals?: ApprovalGate;
  elicitations?: Elicitations;
  cache?: ResultCache;
  hooks?: RunHooks;
  /** Called with every exception that is masked. */
  onFault?: (fault: ToolFault) => void;
  newFaultId?: () => string;
  now: () => number;
}

/** An exception out of a tool, for the log: the model and the caller read the id alone. */
export interface ToolFault {
  id: string;
  tool: string;
  runId: string;
  callId: string;
  error: unknown;
}

/** What the calls of one run or round share, and what one call has in it. */
export interface ToolCallScope {
  guard?: DuplicateCallGuard;
  /** Emits an event; resolves when it was delivered. Never rejects. Absent where nobody reads on. */
  emit?: ((event: RunEvent) => Promise<void>) | undefined;
  /** Absent where no model reads on. */
  results?: ResultStore;
  readerName?: string;
  /** What a result may hand to the model; a tool's own limit comes first. */
  resultBytes?: number;
  /** Ends the call; the run's where it is absent. */
  signal?: AbortSignal;
  /** In the order of its round; absent for a call that has no others beside it. */
  turn?: Turn;
  /** What a suspended call goes on with. It was let through when it began. */
  inner?: ResumedInner;
}

/** The tool's, else that of the request or its preset, else the default. None of them may be zero: that would not mean "none". */
export function timeoutOf(tool: Tool, { requestTimeoutMs, defaultTimeoutMs }: ToolCallSettings): number {
  const isLimit = (value: number | undefined): value is number => value !== undefined && value > 0;
  return [tool.timeoutMs, requestTimeoutMs].find(isLimit) ?? defaultTimeoutMs;
}

/** Objects and arrays are JSON with two spaces, so that sources read well; text stays text. */
function valueText(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

function withFilesApart(outcome: ToolOutcome): ToolOutcome {
  if (outcome.type === 'error') return outcome;
  const { value, files } = extractDataUris(outcome.value);
  return files.length === 0 ? outcome : { ...outcome, value, files: [...(outcome.files ?? []), ...files] };
}

/** A result beyond its limit would push the question out of the model's context: it is truncated, and the whole is stored for reading on. */
export function toToolCallResult(
  {
    prepared,
    attempts = 0,
    ...given
  }: Pick<ToolCallResult, 'outcome' | 'durationMs' | 'followUp'> & { prepared: PreparedCall; attempts?: number },
  scope: ToolCallScope,
): ToolCallResult {
  const { call, tool, args } = prepared;
  const known = { ...(tool && { tool: { name: tool.spec.name, label: tool.label } }), ...(args && { args }) };
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
  const whole = valueText(outcome.value);
  const { text, isCut } = truncateResult(whole, options);
  if (!isCut) return { ...ended, outcome, text };
  return { ...ended, outcome: { ...outcome, value: text, isTruncated: true }, text, cutFromBytes: Buffer.byteLength(whole) };
}
