import { isDeepStrictEqual } from 'node:util';
import { conversationOf } from '../core/runs/run.ts';
import { eventIdOf, withinOf } from '../chat/suspend/nested-call-ids.ts';
import { responseData } from '../core/user-input/approval.ts';
import type { ApprovalAnswer } from '../core/user-input/approval.ts';
import type { DecidedCall, WaitingCall, WaitingRun, WaitingRunStore } from '../core/runs/suspended-run.ts';
import type { Caller } from '../core/callers/caller.ts';
import { GatewayError, invalidField, shownId } from '../core/errors.ts';
import type { JsonObject } from '../shared/json.ts';
import type { RunLog } from '../core/runs/run-log.ts';
import { objectionTo } from '../chat/tool-calls/prepare-tool-call.ts';
import type { ActiveRuns } from './active-runs.ts';

/** How long a decision waits for the end of the answer that requested it. */
export const approvalHandoverMs = 5_000;

export interface ApprovalDecisionsOptions {
  store: WaitingRunStore;
  tokens: {
    check(token: string, call: { runId: string; waitId: string; callId: string; args: JsonObject }): 'valid' | 'expired' | 'invalid';
  };
  remembered: {
    remember(
      call: { callerId: string; conversation: string | undefined; definition: string },
      decision: 'approve' | 'reject',
    ): Promise<void>;
  };
  log: Pick<RunLog, 'find' | 'resume'>;
  runs: Pick<ActiveRuns, 'whenOver' | 'requireReady'>;
}

export interface SubmittedDecision {
  /** The token of the call, or the suspension that the page of an approval has shown. */
  proof: string | { waitId: string };
  answer: ApprovalAnswer;
  isRemembered: boolean;
}

/** `complete`: all calls are decided; this caller, and nobody else, has to resume the run. */
type Decision = { type: 'recorded'; waiting: string[] } | { type: 'complete'; run: WaitingRun; decided: DecidedCall[] };

/** Decides calls that wait for approval. */
export interface ApprovalDecisions {
  /** @throws GatewayError `not_found`, `conflict`, `invalid_approval_token`, `approval_expired`, `invalid_request`, and as `ActiveRuns.start` */
  decide(call: { runId: string; callId: string }, submitted: SubmittedDecision, caller: Caller): Promise<Decision>;
  /** Ends a suspended run and invalidates its tokens; false when no run of that id is suspended. */
  cancel: (runId: string) => Promise<boolean>;
}

export function createApprovalDecisions({ store, tokens, remembered, log, runs }: ApprovalDecisionsOptions): ApprovalDecisions {
  async function findOpen(
    { runId, callId }: { runId: string; callId: string },
    caller: Caller,
  ): Promise<{ run: WaitingRun; call: WaitingCall }> {
    const found = await store.find(runId);
    // Not even for an administrator: the run continues as the caller who decides.
    if (found === undefined || found.callerId !== caller.id) {
      throw new GatewayError('not_found', `No run ${shownId(runId)} is waiting for approval. A run waits for 24 hours.`);
    }
    if (found.type === 'closed') throw alreadyDecided();
    if (found.run.connect !== undefined)
      throw new GatewayError(
        'conflict',
        'This run waits until its user has connected: POST /api/runs/{id}/resume with its token resumes it.',
      );
    const call = found.run.calls.find(({ id }) => id === callId);
    if (call !== undefined) return { run: found.run, call };
    const open = found.run.calls.map(({ id }) => id).join(', ');
    throw new GatewayError('not_found', `The run is not waiting for call ${shownId(callId)}. It is waiting for: ${open}.`);
  }

  async function note(runId: string, data: JsonObject): Promise<void> {
    const recorder = await log.resume(runId);
    recorder?.record({ type: 'run-event', event: { type: 'approval.response', data } });
    recorder?.end({ status: 'waiting' });
  }

  return {
    async decide({ runId, callId }, { proof, answer, isRemembered }, caller) {
      const { run, call } = await findOpen({ runId, callId }, caller);
      if (typeof proof === 'string') requireToken(tokens.check(proof, { runId, waitId: run.waitId, callId, args: call.args }));
      else if (proof.waitId !== run.waitId) throw alreadyDecided();
      const { again } = run;
      if (again !== undefined) requireSame(answer, again.decided, call);
      else if (answer.decision === 'approve' && answer.args !== undefined) await requireValidArguments(answer.args, call, caller);
      runs.requireReady(caller, run.request);
      // The log checks at its first read which runs are suspended: it has to see this one before it is closed. And it has to be readable before the token is used up.
      await log.find(runId);
      // The client receives the token shortly before the answer that contains it has ended.
      if (!(await runs.whenOver(runId, approvalHandoverMs)))
        throw new GatewayError('conflict', 'The answer that requests this approval has not ended yet. Read it to its end, then decide.');
      const effect = await store.decide({ id: runId, waitId: run.waitId, callId }, answer);
      if (effect.type === 'closed') throw alreadyDecided();
      if (again !== undefined && effect.type === 'complete') return { type: 'complete', run, decided: effect.decided };
      const conversation = conversationOf(run.request);
      if (isRemembered) await remembered.remember({ callerId: caller.id, conversation, definition: call.definition }, answer.decision);
      await note(runId, { ...decisionData({ call, answer }), ...(isRemembered && { remembered: true }) });
      return effect.type === 'recorded' ? effect : { type: 'complete', run, decided: effect.decided };
    },

    async cancel(runId) {
      await log.find(runId);
      const wasOpen = await store.close(runId);
      // A decided run that could neither be resumed nor stored again is waiting in the log only. A run that is just being resumed checks the log first.
      const recorder = await log.resume(runId);
      recorder?.end({ status: 'cancelled', error: { code: 'run_cancelled', message: 'The run was cancelled.' } });
      return wasOpen || recorder !== undefined;
    },
  };
}

/** The data of `approval.response`. */
export function decisionData({ call, answer }: DecidedCall): JsonObject {
  return { ...responseData(eventIdOf(call), answer), tool: call.tool, ...withinOf(call) };
}

/** The call has run with the first decision, so a different one comes too late. @throws GatewayError `conflict` */
function requireSame(answer: ApprovalAnswer, decided: readonly DecidedCall[], call: WaitingCall): void {
  const first = decided.find((each) => each.call.id === call.id)?.answer;
  const isOther = answer.decision === 'approve' && answer.args !== undefined && !isDeepStrictEqual(answer.args, argsOf(first));
  if (first?.decision === answer.decision && !isOther) return;
  throw new GatewayError(
    'conflict',
    'This call was already decided, and the run was resumed. Send the first decision again to continue with its results.',
  );
}

function argsOf(answer: ApprovalAnswer | undefined): JsonObject | undefined {
  return answer?.decision === 'approve' ? answer.args : undefined;
}

function alreadyDecided(): GatewayError {
  return new GatewayError(
    'conflict',
    'This call was already decided, or the run was cancelled. A token is valid for one decision. GET /api/runs/{id} shows what happened.',
  );
}

function requireToken(state: 'valid' | 'expired' | 'invalid'): void {
  if (state === 'valid') return;
  if (state === 'expired')
    throw new GatewayError('approval_expired', 'The token expired after 24 hours, so nothing was run. Ask again in the chat.');
  throw new GatewayError(
    'invalid_approval_token',
    'token: does not belong to this call. Send the token that stands beside the call in `approval` of the answer.',
    { param: 'token' },
  );
}

/** Checked before the token is used up, so that a mistake can be corrected. @throws GatewayError `invalid_request` */
async function requireValidArguments(args: JsonObject, { tool, parameters }: WaitingCall, caller: Caller): Promise<void> {
  const objection = await objectionTo(args, { name: tool, parameters }, { caller });
  if (objection !== undefined) throw invalidField('arguments', objection);
}
