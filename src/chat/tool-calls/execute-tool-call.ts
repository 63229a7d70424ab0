import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import { ToolError, type Tool, type ToolContext, type ToolInvocation, type ToolOutcome } from '../../core/tools/tool.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { hasUnknownEnd, isRepeatable } from './duplicate-call-guard.ts';
import type { ReadyCall } from './prepare-tool-call.ts';
import type { ToolCallScope, ToolCallSettings, ToolFault } from './tool-call-scope.ts';
import type { Ending, Supervision } from './supervise-call.ts';

/** Delay before a call without an effect is retried: a restarting server needs a moment. */
const toolRetryDelayMs = 250;

export interface Execution {
  prepared: ReadyCall;
  settings: ToolCallSettings;
  scope: ToolCallScope;
  supervision: Supervision;
  context: ToolContext;
  timeoutMs: number;
}

/**
 * Runs a call under supervision, and retries it once if that is safe. Every failure is a value. @throws GatewayError `tool_failed` if the tool's
 * definition makes a failure end the run, and nothing else
 */
export async function executeToolCall(execution: Execution): Promise<{ outcome: ToolOutcome; attempts: number }> {
  const { prepared, settings, supervision, timeoutMs } = execution;
  // A preset works as it does when it is asked directly: its model requests and its own calls have time limits, and its rounds are bounded.
  if (prepared.tool.kind !== 'preset')
    supervision.startLimits({ idleMs: timeoutMs, totalMs: settings.totalTimeoutMs ?? limits.toolTotalTimeoutMs });
  const first = await attempt(execution);
  if (!mayRetry(prepared.tool, first)) return { outcome: first, attempts: 1 };
  const { promise: delay, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), toolRetryDelayMs);
  const ending = await Promise.race([delay, supervision.ended]);
  clearTimeout(timer);
  // Ended between two attempts: the outcome of the first one is known.
  if (ending !== undefined) return { outcome: first, attempts: 1 };
  return { outcome: await attempt(execution), attempts: 2 };
}

async function attempt(execution: Execution): Promise<ToolOutcome> {
  const { prepared, supervision, context } = execution;
  const { tool } = prepared;
  try {
    const ran = tool.run(invocationOf(execution), context).then((outcome) => ({ type: 'outcome' as const, outcome }));
    const first = await Promise.race([ran, supervision.ended]);
    return first.type === 'outcome' ? first.outcome : endedOutcome(tool, first);
  } catch (error) {
    // The tool may react to the abort before the race does.
    if (supervision.signal.aborted) return endedOutcome(tool, await supervision.ended);
    return await failedOutcome(execution, error);
  }
}

function invocationOf({ prepared: { call, args, tool }, settings, scope, supervision, timeoutMs }: Execution): ToolInvocation {
  const { reader, inner, task } = scope;
  const { signal } = supervision;
  return {
    callId: call.id,
    args,
    run: settings.run,
    signal,
    timeoutMs,
    ...(reader && { results: reader.results }),
    ...(inner && { resumed: inner }),
    ...(task && {
      task: {
        ...(task.stored && { stored: task.stored }),
        begin: (begun: JsonObject) => task.begin({ args, label: tool.label, task: begun }),
      },
    }),
  };
}

/** A call that certainly was not executed may be retried; one that may have been, only if it is idempotent. Timeouts are never retried. */
function mayRetry(tool: Tool, outcome: ToolOutcome): boolean {
  if (outcome.type === 'result' || outcome.code !== 'tool_error') return false;
  return outcome.state === 'not_started' || (hasUnknownEnd(outcome) && isRepeatable(tool));
}

/** @throws GatewayError `tool_failed` if the tool's definition makes a timeout end the run */
function endedOutcome(tool: Tool, ending: Ending): ToolOutcome {
  const state = tool.isReadOnly === true ? 'cancelled' : 'outcome_unknown';
  if (ending.type === 'timeout') {
    const message = timeoutMessage(tool.spec.name, ending.limitMs);
    if (tool.timeoutBehavior === 'abort')
      throw new GatewayError('tool_failed', `${message}, and its definition says that this ends the run.`);
    const detail = tool.kind === 'mcp' ? { detail: timeoutSettings } : {};
    return { type: 'error', code: 'tool_timeout', message, ...detail, state };
  }
  const cause = ending.type === 'left' ? 'The run ended' : `'${tool.spec.name}' was cancelled`;
  return state === 'cancelled'
    ? { type: 'error', code: 'tool_cancelled', message: `${cause} before there was a result. Nothing was changed by this call.`, state }
    : {
        type: 'error',
        code: 'outcome_unknown',
        message: `${cause} while the call was running. It is not known whether it took effect. Find out before you repeat it.`,
        state,
      };
}

/** For who runs the gateway: the server itself cannot know why a call of it was ended. */
const timeoutSettings =
  'The limit is timeout_ms of the connection, or TOOL_TIMEOUT_MS, without an answer or progress, and TOOL_TOTAL_TIMEOUT_MS with progress.';

/** `5000` → `Tool 'slow_tool' timed out after 5s`, `1500` → `… 1.5s`. */
export function timeoutMessage(name: string, timeoutMs: number): string {
  return `Tool '${name}' timed out after ${timeoutMs / 1000}s`;
}

/** @throws GatewayError `tool_failed` if the tool's definition makes an exception end the run */
async function failedOutcome(execution: Execution, error: unknown): Promise<ToolOutcome> {
  const { onError, spec } = execution.prepared.tool;
  // A guardrail's abort ends the run, whatever `onError` is.
  if (error instanceof GatewayError && error.code === 'tool_failed') throw error;
  if (typeof onError === 'function') {
    const outcome = await Promise.race([messageBy(onError, error, execution), execution.supervision.ended]);
    return outcome.type === 'error' ? outcome : endedOutcome(execution.prepared.tool, outcome);
  }
  // These messages are meant to be read; any other exception may contain secrets.
  const isReadable = error instanceof ToolError || error instanceof GatewayError;
  const outcome: ToolOutcome = isReadable
    ? { type: 'error', code: error instanceof ToolError ? error.code : 'tool_error', message: error.message }
    : maskFault(error, execution.prepared, execution.settings);
  if (onError === 'abort')
    throw new GatewayError('tool_failed', `The tool '${spec.name}' ended the run: ${outcome.message}`, { cause: error });
  return outcome;
}

/** Calls `onError` with the exception. It may throw too, and in JavaScript it may return anything. */
async function messageBy(
  onError: Extract<Tool['onError'], (...args: never) => unknown>,
  error: unknown,
  execution: Execution,
): Promise<Extract<ToolOutcome, { type: 'error' }>> {
  const { prepared, settings, context } = execution;
  try {
    const message: unknown = await onError(error, invocationOf(execution), context);
    if (typeof message === 'string') return { type: 'error', code: 'tool_error', message };
    throw new TypeError(`onError of '${prepared.tool.spec.name}' gave no text for the model`, { cause: error });
  } catch (fault) {
    return maskFault(fault, prepared, settings);
  }
}

/** The model only gets an id of the exception; the log has the details. */
export function maskFault(error: unknown, prepared: ReadyCall, settings: ToolCallSettings): Extract<ToolOutcome, { type: 'error' }> {
  const id = settings.newFaultId?.() ?? prepared.call.id;
  const fault: ToolFault = { id, tool: prepared.tool.label, runId: settings.run.runId, callId: prepared.call.id, error };
  settings.onFault?.(fault);
  return { type: 'error', code: 'tool_internal_error', message: `The tool failed with an internal error (id ${id}).` };
}
