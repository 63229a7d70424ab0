import type { JsonValue } from '../core/json.ts';
import { limits } from '../core/limits.ts';
import type { RunContext } from '../core/run.ts';
import type { ToolOutcome } from '../core/tool.ts';
import type { PreparedCall } from './prepare-tool-call.ts';

/** How one call of a run ended. */
export interface CallReport {
  prepared: PreparedCall;
  outcome: ToolOutcome;
  /** What the model reads: the result as text, or `{"error": "…"}`. */
  text: string;
  durationMs: number;
}

export interface ToolCallSettings {
  run: RunContext;
  /** The request's own limit; a tool's own one comes first. */
  requestTimeoutMs: number | undefined;
  defaultTimeoutMs: number;
  now: () => number;
}

/**
 * Runs a prepared call within its time limit. A failure of any kind is a value that the model is told;
 * only the caller's leave is thrown (the signal's reason).
 */
export async function runToolCall(prepared: PreparedCall, settings: ToolCallSettings): Promise<CallReport> {
  const started = settings.now();
  const outcome = prepared.type === 'ready' ? capped(await runWithin(prepared, settings), prepared.tool.maxResultBytes) : refusal(prepared);
  return { prepared, outcome, text: outcomeText(outcome), durationMs: Math.max(0, Math.round(settings.now() - started)) };
}

async function runWithin(prepared: Extract<PreparedCall, { type: 'ready' }>, settings: ToolCallSettings): Promise<ToolOutcome> {
  const { tool, call, args } = prepared;
  const { run } = settings;
  run.signal.throwIfAborted();
  const timeoutMs = tool.timeoutMs ?? settings.requestTimeoutMs ?? settings.defaultTimeoutMs;
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(new DOMException('The tool took too long', 'TimeoutError')), timeoutMs);
  const signal = AbortSignal.any([run.signal, deadline.signal]);
  try {
    return await Promise.race([tool.run({ callId: call.id, args, run, signal, timeoutMs }), rejectOnAbort(signal)]);
  } catch (error) {
    run.signal.throwIfAborted();
    if (deadline.signal.aborted) return { type: 'error', code: 'tool_timeout', message: timeoutMessage(tool.spec.name, timeoutMs) };
    return internalError(error);
  } finally {
    clearTimeout(timer);
  }
}

/** A tool that ignores its signal must not hold the run: its late result is discarded. */
function rejectOnAbort(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  if (signal.aborted) reject(signal.reason as Error);
  signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  return promise;
}

/** `5000` → `Tool 'slow_tool' timed out after 5s`, `1500` → `… 1.5s`. */
export function timeoutMessage(name: string, timeoutMs: number): string {
  return `Tool '${name}' timed out after ${timeoutMs / 1000}s`;
}

/** A throw out of a tool is our own fault or a stranger's: its text may hold anything and is not told to the model. */
function internalError(error: unknown): ToolOutcome {
  const kind = error instanceof Error ? error.name : typeof error;
  return { type: 'error', code: 'tool_internal_error', message: `The tool failed with an internal error (${kind}).` };
}

function refusal(prepared: Extract<PreparedCall, { type: 'refused' }>): ToolOutcome {
  return { type: 'error', code: prepared.code, message: prepared.message };
}

/** Objects and arrays are JSON with two spaces, so that sources read well; text stays text. */
export function valueText(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

function outcomeText(outcome: ToolOutcome): string {
  if (outcome.type === 'result') return valueText(outcome.value);
  return JSON.stringify({ error: outcome.message, ...(outcome.detail === undefined ? {} : { detail: outcome.detail }) });
}

/** A result beyond the cap would push the question out of the model's context: it is cut, and says so. */
function capped(outcome: ToolOutcome, ownLimit: number | undefined): ToolOutcome {
  const maxBytes = ownLimit ?? limits.toolResultBytes;
  if (outcome.type === 'error') return { ...outcome, message: cut(outcome.message, maxBytes).text };
  const text = valueText(outcome.value);
  const kept = cut(text, maxBytes);
  return kept.isCut ? { type: 'result', value: kept.text, isTruncated: true } : outcome;
}

function cut(text: string, maxBytes: number): { text: string; isCut: boolean } {
  if (text.length * 3 <= maxBytes) return { text, isCut: false };
  const bytes = new TextEncoder().encode(text);
  if (bytes.byteLength <= maxBytes) return { text, isCut: false };
  const head = new TextDecoder().decode(bytes.subarray(0, maxBytes)).replace(/�+$/u, '');
  return { text: `${head}\n[truncated: the first ${maxBytes} of ${bytes.byteLength} bytes are shown]`, isCut: true };
}
