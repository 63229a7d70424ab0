import { isDeepStrictEqual } from 'node:util';
import { limits } from '../../core/limits.ts';
import type { RunEvent } from '../../core/chat/run-event.ts';
import type { DecidedCall, WaitingCall } from '../../core/runs/suspended-run.ts';
import { wholeParameters, type ToolOutcome } from '../../core/tools/tool.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { withoutUndefined } from '../../shared/json/without-undefined.ts';
import { whyNotReady, type CallCircumstances, type Failure } from './connect-call.ts';
import { maskFault } from './execute-tool-call.ts';
import { judgeCall } from './hook-call.ts';
import { prepareEditedCall, type PreparedCall, type ReadyCall } from './prepare-tool-call.ts';
import type { Suspension, ToolCallResult } from './tool-call-result.ts';

/** Rejects with the signal's reason once the call has ended. */
export type UnlessEnded = <Value>(work: Promise<Value>) => Promise<Value>;

/** `cleared`: the call may run, unless its arguments are refused. */
type Clearance =
  | { type: 'cleared'; prepared: PreparedCall; decided?: DecidedCall | undefined }
  | { type: 'stopped'; prepared: ReadyCall; outcome: ToolOutcome; how?: Pick<ToolCallResult, 'suspended' | 'isByHook'> };

/**
 * Asks hooks and then people, and hooks again about arguments that a person has edited. If these change them once more, another approval is needed:
 * nothing runs that has not passed both unchanged. Steps 4 and 5 of a call.
 */
export async function clearCall(given: ReadyCall, circumstances: CallCircumstances, unlessEnded: UnlessEnded): Promise<Clearance> {
  const { settings } = circumstances;
  const { run } = settings;
  const toEdited = (args: JsonObject): Promise<PreparedCall> => unlessEnded(prepareEditedCall(given, args, run));
  let edited = run.suspension?.resumed?.editedArguments(given.call.id, given.args);
  /** Set once a person has edited the arguments. */
  let approved: { args: JsonObject; decided?: DecidedCall | undefined } | undefined;
  let prepared: PreparedCall = edited === undefined ? given : await toEdited(edited);
  for (let tries = 1; tries <= limits.approvalTries; tries += 1) {
    if (prepared.type === 'refused') return { type: 'cleared', prepared };

    // 4. Before a person is asked, who has to see the arguments that will run.
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

    // A call that could not run needs no approval.
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

/** `args`: as a person has edited them. */
type Approval =
  | { type: 'approved'; args?: JsonObject | undefined; decided?: DecidedCall | undefined }
  | Failure
  | { type: 'waiting'; definition: string; request?: RunEvent | undefined };

async function approve(prepared: ReadyCall, { settings, scope, slot, supervision }: CallCircumstances): Promise<Approval> {
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
        if (event.type === 'approval.request') slot.waitForPerson();
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

/** Why arguments that a person has edited must not run. */
async function recheck(prepared: ReadyCall, { settings, supervision }: CallCircumstances): Promise<Failure | undefined> {
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

/** The outcome if hooks and approvers do not agree on the arguments. */
function changedEachTime({ tool }: ReadyCall): ToolOutcome {
  const message = `A hook changed the arguments of '${tool.spec.name}' each time after an approver had edited them, so it was not run.`;
  return { type: 'error', code: 'approval_rejected', message, state: 'not_started' };
}

/** The outcome if a call needs an approval and the run cannot be suspended. */
function notDecided({ tool }: ReadyCall): ToolOutcome {
  const message = `'${tool.spec.name}' requires approval by a person. This request cannot wait for one, so the call was not run.`;
  return { type: 'error', code: 'approval_required', message, state: 'not_started' };
}
