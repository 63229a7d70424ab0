import type { DecidedCall } from '../../core/runs/suspended-run.ts';
import type { FollowUp, ToolErrorCode, ToolOutcome } from '../../core/tools/tool.ts';
import { createContext } from './context/call-context.ts';
import { clearCall, type UnlessEnded } from './clear-call.ts';
import { connectTries, unlessConnected, type CallCircumstances } from './connect-call.ts';
import { executeToolCall, maskFault, type Execution } from './execute-tool-call.ts';
import { judgeResult } from './hook-call.ts';
import type { PreparedCall, ReadyCall, RefusedCall } from './prepare-tool-call.ts';
import { freeSlot } from './schedule-calls.ts';
import { Supervision } from './supervise-call.ts';
import { toToolCallResult, type Suspension, type ToolCallResult } from './tool-call-result.ts';
import { timeoutOf, type ToolCallScope, type ToolCallSettings } from './tool-call-scope.ts';

/**
 * Runs one tool call, from the prepared call to the result that the model gets. Every failure is a value, even if the call is cancelled or the run
 * aborted: a call that has not started never does; for a running one see `Supervision.end`.
 * @throws GatewayError `tool_failed`, `refused_by_hook` or `hook_failed` if the tool's definition or a hook ends the run
 */
export async function runToolCall(prepared: PreparedCall, settings: ToolCallSettings, scope: ToolCallScope = {}): Promise<ToolCallResult> {
  const { slot = freeSlot } = scope;
  using supervision = new Supervision();
  const release = endFromOutside(prepared, { settings, scope, slot, supervision });
  let result: ToolCallResult | undefined;
  try {
    result = await runInSteps(prepared, { settings, scope, slot, supervision });
    const keeping = scope.task?.settle(result);
    if (keeping !== undefined) await keeping;
    return result;
  } finally {
    release();
    slot.end(result?.suspended === undefined ? 'over' : 'suspended');
  }
}

/** Steps 1 and 2, finding the function and checking the arguments, are done by `prepareToolCall` before any call of a round begins. */
async function runInSteps(given: PreparedCall, circumstances: CallCircumstances): Promise<ToolCallResult> {
  const { settings, scope, slot, supervision } = circumstances;
  let prepared = given;
  let decided: DecidedCall | undefined;
  let hasBegun = false;
  const notRun = (outcome: ToolOutcome): ToolCallResult => toToolCallResult({ prepared, outcome, durationMs: 0 }, scope);
  const refuse = ({ code, message }: Pick<RefusedCall, 'code' | 'message'>): ToolCallResult => {
    const { call, tool, args } = prepared;
    prepared = { type: 'refused', call, tool, ...(args && { args }), code, message };
    return notRun({ type: 'error', code, message, state: 'not_started' });
  };
  const unlessEnded: UnlessEnded = async (work) => {
    await Promise.race([work, supervision.ended]);
    supervision.signal.throwIfAborted();
    return work;
  };
  try {
    if (prepared.type === 'refused') return notRun(refusalOf(prepared));

    // A resumed call was checked when it first started.
    const isResumed = scope.inner !== undefined || scope.task?.stored !== undefined;
    if (!isResumed) {
      if ((await unlessEnded(slot.toCheck())) === 'blocked') return { ...notRun(blocked), suspended: { type: 'blocked' } };

      // 3. Block a call that was repeated too often with the same arguments.
      const objection = scope.guard?.objection(prepared.tool, prepared.args);
      if (objection !== undefined) return refuse(objection);

      // 4. and 5. Ask hooks and people, who may change the arguments.
      const clearance = await clearCall(prepared, circumstances, unlessEnded);
      prepared = clearance.prepared;
      if (clearance.type === 'stopped') return { ...notRun(clearance.outcome), ...clearance.how };
      decided = clearance.decided;
      if (prepared.type === 'refused') return notRun(refusalOf(prepared));
    }

    // 6. Wait for its turn. By then it may have become a duplicate of earlier calls.
    if ((await unlessEnded(slot.toRun())) === 'blocked') return { ...notRun(blocked), suspended: { type: 'blocked' } };
    const objection = scope.guard?.begin(prepared.tool, prepared.args, isResumed);
    if (objection !== undefined) return refuse(objection);

    hasBegun = true;
    const result = await runReady(prepared, circumstances);
    if (decided !== undefined && result.suspended?.type === 'connect') settings.run.suspension?.resumed?.putBack(decided);
    return result;
  } catch (error) {
    if (hasBegun || !supervision.signal.aborted) throw error;
    return notRun(notStarted);
  }
}

/** Until the call has settled, it can be cancelled by its id, and it ends with its run or round. Returns a function that undoes this. */
function endFromOutside(
  { call }: PreparedCall,
  { settings: { run }, scope: { signal = run.signal }, supervision }: CallCircumstances,
): () => void {
  const forget = run.calls?.register(call.id, () => supervision.end({ type: 'cancelled' }));
  const leave = (): void => supervision.end({ type: 'left' });
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave, { once: true });
  return () => {
    forget?.();
    signal.removeEventListener('abort', leave);
  };
}

async function runReady(prepared: ReadyCall, circumstances: CallCircumstances): Promise<ToolCallResult> {
  const { settings, scope, supervision } = circumstances;
  const { tool, args } = prepared;
  const { run, cache } = settings;
  const started = settings.now();

  // 7. Run it, within its time limits.
  const cached = cache?.find(run.caller, tool, args);
  const { context, said } = createContext(prepared, circumstances);
  const { outcome, attempts, suspended } =
    cached === undefined
      ? await executeConnected({ prepared, settings, scope, supervision, context, timeoutMs: timeoutOf(tool, settings) }, circumstances)
      : { outcome: { type: 'result' as const, value: cached.value }, attempts: 0, suspended: undefined };
  scope.guard?.settle(tool, args, outcome);
  const followUp: FollowUp | undefined = said.isStopped ? { type: 'stop' } : outcome.type === 'result' ? outcome.followUp : undefined;
  const mayKeep = cached === undefined && outcome.type === 'result' && outcome.isTruncated !== true && followUp === undefined;
  if (mayKeep) cache?.save({ caller: run.caller, tool, args, value: outcome.value });

  // 8. Ask hooks about the result.
  const judged = await judgeResult(prepared, outcome, settings);

  // 9. Truncate a result that is too large for the model, and store the whole for `read_result`.
  const durationMs = Math.max(0, Math.round(settings.now() - started));
  const spoken = {
    ...(said.texts.length > 0 && { said: said.texts.join('\n\n') }),
    ...(outcome.type === 'result' && said.changes && { changes: said.changes }),
  };
  const result = toToolCallResult({ prepared, outcome: judged, durationMs, attempts, ...(followUp && { followUp }), ...spoken }, scope);
  if (suspended !== undefined) return { ...result, suspended };
  // A call that was ended meanwhile does not wait for approval.
  const suspension = judged.type === 'error' && waitingCodes.has(judged.code) ? said.inner : undefined;
  return suspension === undefined ? result : { ...result, suspended: { type: 'inner', suspension } };
}

/** The errors of a call in which nested calls wait (`ToolContext.waitFor`). */
const waitingCodes: ReadonlySet<ToolErrorCode> = new Set(['approval_required', 'credential_required']);

/** Runs the call. If the server refuses the credential, the caller connects again, and the call is run again, because it had no effect. */
async function executeConnected(
  execution: Execution,
  circumstances: CallCircumstances,
): Promise<{ outcome: ToolOutcome; attempts: number; suspended?: Suspension | undefined }> {
  for (let tries = 1; ; tries += 1) {
    const executed = await executeToolCall(execution);
    if (executed.outcome.type === 'result' || executed.outcome.connect === undefined || tries >= connectTries) return executed;
    const { prepared, supervision, settings } = execution;
    const resume = supervision.pause();
    try {
      const notReady = await unlessConnected(prepared, executed.outcome, circumstances);
      if (notReady !== undefined) return { ...executed, ...notReady };
    } catch (error) {
      if (supervision.signal.aborted) return { ...executed, outcome: notStarted };
      return { ...executed, outcome: { ...maskFault(error, prepared, settings), state: 'not_started' } };
    } finally {
      resume();
    }
  }
}

function refusalOf({ code, message }: RefusedCall): ToolOutcome {
  return { type: 'error', code, message, ...(code === 'tool_internal_error' && { state: 'not_started' }) };
}

const notStarted = {
  type: 'error',
  code: 'tool_cancelled',
  message: 'The call was cancelled before it started, so it had no effect.',
  state: 'not_started',
} as const;

/** The outcome for the model if the run cannot be suspended. */
const blocked = {
  type: 'error',
  code: 'tool_cancelled',
  message: 'A call before this one requires approval by a person. This request cannot wait for one, so this call was not run.',
  state: 'not_started',
} as const;
