import { isDeepStrictEqual } from 'node:util';
import { limits } from '../../core/limits.ts';
import type { DecidedCall, WaitingCall } from '../../core/runs/suspended-run.ts';
import type { RunEvent } from '../../core/runs/run-event.ts';
import type { JsonObject } from '../../shared/json.ts';
import { wholeParameters } from '../../core/tools/tool.ts';
import type { FollowUp, ToolErrorCode, ToolOutcome } from '../../core/tools/tool.ts';
import { withoutUndefined } from '../../shared/without-undefined.ts';
import { judgeCall, judgeResult } from './hook-call.ts';
import { createContext } from './call-context.ts';
import { executeToolCall, maskFault } from './execute-tool-call.ts';
import type { Execution } from './execute-tool-call.ts';
import { prepareEditedCall } from './prepare-tool-call.ts';
import type { PreparedCall, ReadyCall, RefusedCall } from './prepare-tool-call.ts';
import { superviseCall } from './supervise-call.ts';
import type { Supervision } from './supervise-call.ts';
import { timeoutOf, toToolCallResult } from './tool-call-result.ts';
import type { Suspension, ToolCallResult, ToolCallScope, ToolCallSettings } from './tool-call-result.ts';
import { onlyTurn } from './take-turns.ts';
import type { Turn } from './take-turns.ts';

/** How often one call has its caller connect, to a server that refuses what they have given. */
const connectTries = 3;

/**
 * Runs one tool call, from the prepared call to the result that the model gets. Every failure is a value, even if the call is cancelled or the run
 * aborted: a call that has not started never does; for a running one see `Supervision.end`.
 * @throws GatewayError `tool_failed`, `refused_by_hook` or `hook_failed` if the tool's definition or a hook ends the run
 */
export async function runToolCall(prepared: PreparedCall, settings: ToolCallSettings, scope: ToolCallScope = {}): Promise<ToolCallResult> {
  const { turn = onlyTurn } = scope;
  using supervision = superviseCall();
  const release = endFromOutside(prepared, { settings, scope, turn, supervision });
  let result: ToolCallResult | undefined;
  try {
    result = await runInSteps(prepared, { settings, scope, turn, supervision });
    return result;
  } finally {
    release();
    turn.end(result?.suspended === undefined ? 'over' : 'suspended');
  }
}

interface Circumstances {
  settings: ToolCallSettings;
  scope: ToolCallScope;
  turn: Turn;
  supervision: Supervision;
}

/** Steps 1 and 2, finding the function and checking the arguments, are done by `prepareToolCall` before any call of a round begins. */
async function runInSteps(given: PreparedCall, circumstances: Circumstances): Promise<ToolCallResult> {
  const { settings, scope, turn, supervision } = circumstances;
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

    // A resumed preset call was checked when it first started.
    if (scope.inner === undefined) {
      if ((await unlessEnded(turn.toCheck())) === 'blocked') return { ...notRun(blocked), suspended: { type: 'blocked' } };

      // 3. Block a call that was repeated too often with the same arguments.
      const objection = scope.guard?.objection(prepared.tool, prepared.args);
      if (objection !== undefined) return refuse(objection);

      // 4. and 5. Ask hooks and humans, who may change the arguments.
      const clearance = await clear(prepared, circumstances, unlessEnded);
      prepared = clearance.prepared;
      if (clearance.type === 'stopped') return { ...notRun(clearance.outcome), ...clearance.how };
      decided = clearance.decided;
      if (prepared.type === 'refused') return notRun(refusalOf(prepared));
    }

    // 6. Wait for its turn. By then it may have become a duplicate of earlier calls.
    if ((await unlessEnded(turn.toRun())) === 'blocked') return { ...notRun(blocked), suspended: { type: 'blocked' } };
    const objection = scope.guard?.begin(prepared.tool, prepared.args, scope.inner !== undefined);
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

/** Rejects with the signal's reason once the call has ended. */
type UnlessEnded = <Value>(work: Promise<Value>) => Promise<Value>;

/** `cleared`: the call may run, unless its arguments are refused. */
type Clearance =
  | { type: 'cleared'; prepared: PreparedCall; decided?: DecidedCall | undefined }
  | { type: 'stopped'; prepared: ReadyCall; outcome: ToolOutcome; how?: Pick<ToolCallResult, 'suspended' | 'isByHook'> };

/**
 * Asks hooks and then humans, and hooks again about what a human has edited. What these change once more needs another approval: nothing runs that has
 * not passed both as it is.
 */
async function clear(given: ReadyCall, circumstances: Circumstances, unlessEnded: UnlessEnded): Promise<Clearance> {
  const { settings } = circumstances;
  const { run } = settings;
  const toEdited = (args: JsonObject): Promise<PreparedCall> => unlessEnded(prepareEditedCall(given, args, run));
  let edited = run.suspension?.resumed?.editedArguments(given.call.id, given.args);
  /** Set once they are those of a human. */
  let approved: { args: JsonObject; decided?: DecidedCall | undefined } | undefined;
  let prepared: PreparedCall = edited === undefined ? given : await toEdited(edited);
  for (let tries = 1; tries <= limits.approvalTries; tries += 1) {
    if (prepared.type === 'refused') return { type: 'cleared', prepared };

    // 4. Before any human, who shall see the arguments that will run.
    const judged: PreparedCall | ToolOutcome = await unlessEnded(judgeCall(prepared, settings));
    if (judged.type === 'result' || judged.type === 'error') return { type: 'stopped', prepared, outcome: judged, how: { isByHook: true } };
    prepared = judged;
    if (prepared.type === 'refused') return { type: 'cleared', prepared };
    const ready: ReadyCall = prepared;
    const stopped = (outcome: ToolOutcome, suspended?: Suspension): Clearance => ({
      type: 'stopped',
      prepared: ready,
      outcome,
      ...(suspended && { how: { suspended } }),
    });
    if (approved !== undefined && isDeepStrictEqual(ready.args, approved.args)) {
      const objection = await unlessEnded(recheck(ready, circumstances));
      return objection === undefined ? { type: 'cleared', prepared, decided: approved.decided } : stopped(objection);
    }

    // Nobody is asked to approve what could not run.
    const notReady = ready.tool.whyNotReady && (await unlessEnded(whyNotReady(ready, circumstances)));
    if (notReady !== undefined) return stopped(notReady.outcome, notReady.suspended);

    // 5.
    const decision = await unlessEnded(approve(ready, circumstances));
    if (decision.type === 'waiting') {
      const waiting = { ...waitingCall(ready, decision.definition), ...(edited && { edited: { from: given.args, to: edited } }) };
      return stopped(notDecided(ready), { type: 'approval', waiting, ...(decision.request && { request: decision.request }) });
    }
    if (decision.type === 'error') return stopped(decision);
    const { args, decided } = decision;
    if (args === undefined || isDeepStrictEqual(args, ready.args)) return { type: 'cleared', prepared, decided };
    prepared = await toEdited(args);
    edited = args;
    approved = { args: prepared.args ?? args, decided };
  }
  return { type: 'stopped', prepared: given, outcome: changedEachTime(given) };
}

/** Until it has settled, a call can be cancelled by its id, and ends with its run or round. */
function endFromOutside(
  { call }: PreparedCall,
  { settings: { run }, scope: { signal = run.signal }, supervision }: Circumstances,
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

type Failure = Extract<ToolOutcome, { type: 'error' }>;

/** Why a call cannot run. `suspended`: it can once its caller has connected. */
interface NotReady {
  outcome: Failure;
  suspended?: Suspension;
}

/** A missing credential is waited for where somebody can be asked to connect. */
async function whyNotReady(prepared: ReadyCall, circumstances: Circumstances): Promise<NotReady | undefined> {
  const { settings, supervision } = circumstances;
  try {
    for (let tries = 1; ; tries += 1) {
      const outcome = await prepared.tool.whyNotReady?.(settings.run);
      if (outcome === undefined) return undefined;
      const notReady = await unlessConnected(prepared, outcome, circumstances);
      if (notReady !== undefined || tries >= connectTries) return notReady ?? { outcome };
    }
  } catch (error) {
    supervision.signal.throwIfAborted();
    return { outcome: { ...maskFault(error, prepared, settings), state: 'not_started' } };
  }
}

/** Undefined once the person has connected to the server that a failed call lacks; it can then be run. */
async function unlessConnected(
  { call, tool }: ReadyCall,
  outcome: Failure,
  { settings: { run, connecting }, scope, turn, supervision }: Circumstances,
): Promise<NotReady | undefined> {
  const { connect: server } = outcome;
  if (server === undefined || connecting === undefined) return { outcome };
  const answer = await connecting.connect({
    callId: call.id,
    tool: tool.spec.name,
    server,
    run,
    signal: supervision.signal,
    emit(event) {
      void scope.emit?.(event);
      if (event.type === 'connect.request') turn.waitForHuman();
    },
  });
  if (answer.type === 'connected') return undefined;
  if (answer.type === 'refused') {
    const { connect: _connect, ...refused } = outcome;
    return { outcome: answer.message === undefined ? outcome : { ...refused, message: answer.message } };
  }
  return { outcome, suspended: { type: 'connect', connecting: { ...server, callId: call.id, tool: tool.spec.name } } };
}

/** `args`: as a human has edited them. */
type Approval =
  | { type: 'approved'; args?: JsonObject | undefined; decided?: DecidedCall | undefined }
  | Failure
  | { type: 'waiting'; definition: string; request?: RunEvent | undefined };

async function approve(prepared: ReadyCall, { settings, scope, turn, supervision }: Circumstances): Promise<Approval> {
  const { call, tool, args } = prepared;
  const { run, approvals } = settings;
  if (approvals === undefined) return { type: 'approved' };
  let request: RunEvent | undefined;
  try {
    const decision = await approvals.decide({
      callId: call.id,
      tool,
      args,
      run,
      signal: supervision.signal,
      emit(event) {
        if (event.type === 'approval.request' && scope.holdsRequests === true) request = event;
        else void scope.emit?.(event);
        if (event.type === 'approval.request') turn.waitForHuman();
      },
    });
    if (decision.type === 'waiting') return { ...decision, request };
    if (decision.type === 'refused') return { type: 'error', code: decision.code, message: decision.message, state: 'not_started' };
    return decision;
  } catch (error) {
    supervision.signal.throwIfAborted();
    return { ...maskFault(error, prepared, settings), state: 'not_started' };
  }
}

/** Why arguments that a human has edited must not run. */
async function recheck(prepared: ReadyCall, { settings, supervision }: Circumstances): Promise<Failure | undefined> {
  const { tool, args } = prepared;
  try {
    await settings.approvals?.recheck({ tool, args, run: settings.run });
    return undefined;
  } catch (error) {
    supervision.signal.throwIfAborted();
    return { ...maskFault(error, prepared, settings), state: 'not_started' };
  }
}

function waitingCall({ call, tool, args }: ReadyCall, definition: string): Omit<WaitingCall, 'id'> {
  const { spec, label, server, endpoint } = tool;
  const parameters = wholeParameters(tool);
  const address = tool.addressOf?.(args);
  return { callId: call.id, tool: spec.name, label, args, parameters, definition, server, ...withoutUndefined({ endpoint, address }) };
}

async function runReady(prepared: ReadyCall, circumstances: Circumstances): Promise<ToolCallResult> {
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

/** The errors of a call within which others wait (`ToolContext.waitFor`). */
const waitingCodes: ReadonlySet<ToolErrorCode> = new Set(['approval_required', 'credential_required']);

/** A server may refuse a credential only when it is used: then the person connects again, and the call is run again, since nothing of it was done. */
async function executeConnected(
  execution: Execution,
  circumstances: Circumstances,
): Promise<{ outcome: ToolOutcome; attempts: number; suspended?: Suspension | undefined }> {
  for (let tries = 1; ; tries += 1) {
    const executed = await executeToolCall(execution);
    if (executed.outcome.type === 'result' || executed.outcome.connect === undefined || tries >= connectTries) return executed;
    const { prepared, supervision, settings } = execution;
    const goOn = supervision.pause();
    try {
      const notReady = await unlessConnected(prepared, executed.outcome, circumstances);
      if (notReady !== undefined) return { ...executed, ...notReady };
    } catch (error) {
      if (supervision.signal.aborted) return { ...executed, outcome: notStarted };
      return { ...executed, outcome: { ...maskFault(error, prepared, settings), state: 'not_started' } };
    } finally {
      goOn();
    }
  }
}

function refusalOf({ code, message }: RefusedCall): ToolOutcome {
  return { type: 'error', code, message, ...(code === 'tool_internal_error' && { state: 'not_started' }) };
}

const notStarted = {
  type: 'error',
  code: 'tool_cancelled',
  message: 'The call was cancelled before it had started; nothing of it was done.',
  state: 'not_started',
} as const;

/** The outcome for the model if the run cannot be suspended. */
const blocked = {
  type: 'error',
  code: 'tool_cancelled',
  message: 'A call before this one needs an approval that cannot be waited for just now, so this one was not run.',
  state: 'not_started',
} as const;

/** The outcome if no arguments can be agreed on. */
function changedEachTime({ tool }: ReadyCall): ToolOutcome {
  const message = `The arguments of '${tool.spec.name}' were changed by a hook each time that its approver had edited them, so it was not run.`;
  return { type: 'error', code: 'approval_rejected', message, state: 'not_started' };
}

/** The same for the call that itself needs the approval. */
function notDecided({ tool }: ReadyCall): ToolOutcome {
  const message = `'${tool.spec.name}' needs a human's approval, which cannot be waited for just now; it was not run.`;
  return { type: 'error', code: 'approval_required', message, state: 'not_started' };
}
