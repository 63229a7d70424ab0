import type { InnerWait, ResumedInner } from '../../core/suspended-run.ts';
import type { JsonValue } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import type { ResultStore } from '../../core/result-store.ts';
import type { RunContext } from '../../core/run.ts';
import type { ApprovalGate } from '../../core/approval-gate.ts';
import type { FollowUp, Tool, ToolOutcome } from '../../core/tool.ts';
import type { Elicitations } from './elicit-input.ts';
import type { DuplicateCallGuard } from './duplicate-call-guard.ts';
import { truncateResult } from '../results/truncate-result.ts';
import type { LiveEvents } from '../loop/live-events.ts';
import type { PreparedCall } from './prepare-tool-call.ts';
import type { ResultCache } from '../results/result-cache.ts';
import { extractDataUris } from '../results/extract-data-uris.ts';
import type { RunHooks } from '../hooks/run-hooks.ts';

/** How one call of a run ended. */
export interface ToolCallResult {
  prepared: PreparedCall;
  /** What the model reads of it stands in `value` and `message`: cut where it was too large. */
  outcome: ToolOutcome;
  /** What the model reads: the result as text, or `{"error": "…"}`. */
  text: string;
  durationMs: number;
  /** How often the tool was asked; 0: the result came from the cache, or the call did not run. */
  attempts: number;
  followUp?: FollowUp;
  /** What a hook has said in place of the tool. */
  isByHook?: true;
  /** The size before it was cut. */
  cutFromBytes?: number;
  /** It has not run, or not to its end: a decision on it, or on calls within it, comes in another request. */
  isWaiting?: true;
  /** It has not run, because it stands behind a call that waits so. */
  isHeld?: true;
  /** Of a call that waits for a decision on itself: the function's, as the gate has given it. */
  definition?: string;
  /** Of a call that waits: why, where calls within it wait. */
  inner?: InnerWait;
}

export interface ToolCallSettings {
  run: RunContext;
  /** The request's own limit; a tool's own one comes first. */
  requestTimeoutMs: number | undefined;
  presetTimeoutMs?: number;
  defaultTimeoutMs: number;
  /** Of one call, with all progress. Default: `limits.toolTotalTimeoutMs`. */
  totalTimeoutMs?: number;
  approvals?: ApprovalGate;
  questions?: Elicitations;
  cache?: ResultCache;
  hooks?: RunHooks;
  /** Told of every exception that is masked. */
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

/** What the calls of one run share. */
export interface ToolCallScope {
  ledger?: DuplicateCallGuard;
  live?: LiveEvents;
  /** Absent where no model reads on. */
  results?: ResultStore;
  readerName?: string;
  /** What a result may hand to the model; a tool's own limit comes first. */
  resultBytes?: number;
  /** For one call: what it goes on with. It was let through when it began. */
  inner?: ResumedInner;
}

/** The tool's, else the request's, else the preset's, else the default. None of them may be zero: that would not mean "none". */
export function timeoutOf(tool: Tool, { requestTimeoutMs, presetTimeoutMs, defaultTimeoutMs }: ToolCallSettings): number {
  const isLimit = (value: number | undefined): value is number => value !== undefined && value > 0;
  return [tool.timeoutMs, requestTimeoutMs, presetTimeoutMs].find(isLimit) ?? defaultTimeoutMs;
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

/** A result beyond its limit would push the question out of the model's context: it is cut, and kept for reading on. */
export function reportOf(
  {
    attempts = 0,
    ...ended
  }: Pick<ToolCallResult, 'prepared' | 'outcome' | 'durationMs' | 'followUp' | 'isWaiting' | 'inner'> & { attempts?: number },
  around: ToolCallScope,
): ToolCallResult {
  const { prepared } = ended;
  const outcome = withFilesApart(ended.outcome);
  const maxBytes = prepared.tool?.maxResultBytes ?? around.resultBytes ?? limits.toolResultBytes;
  const options = { maxBytes, results: around.results, readerName: around.readerName ?? '' };
  if (outcome.type === 'error') {
    const message = truncateResult(outcome.message, { ...options, results: undefined }).text;
    const detail = outcome.detail === undefined ? {} : { detail: outcome.detail };
    return { ...ended, attempts, outcome: { ...outcome, message }, text: JSON.stringify({ error: message, ...detail }) };
  }
  const whole = valueText(outcome.value);
  const { text, isCut } = truncateResult(whole, options);
  if (!isCut) return { ...ended, attempts, outcome, text };
  return { ...ended, attempts, outcome: { ...outcome, value: text, isTruncated: true }, text, cutFromBytes: Buffer.byteLength(whole) };
}
