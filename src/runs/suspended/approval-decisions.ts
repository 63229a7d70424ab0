import { isDeepStrictEqual } from 'node:util';
import { conversationOf } from '../../core/runs/run.ts';
import type { ApprovalAnswer } from '../../core/user-input/approval.ts';
import type { DecidedCall, RunAwaitingApproval, WaitingCall, WaitingRunStore } from '../../core/runs/suspended-run.ts';
import type { Audit } from '../../core/audit.ts';
import { decisionOf } from '../../core/user-input/audited-decision.ts';
import type { Caller } from '../../core/callers/caller.ts';
import { GatewayError, invalidField, shownId } from '../../core/errors.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { objectionTo } from '../../chat/tool-calls/prepare-tool-call.ts';
import type { ActiveRuns } from '../active-runs.ts';
import { alreadyClaimed, type SuspendedRuns } from './suspended-runs.ts';

export interface ApprovalDecisionsOptions {
  store: Pick<WaitingRunStore, 'find'>;
  suspended: Pick<SuspendedRuns, 'decide'>;
  tokens: {
    check(token: string, call: { runId: string; waitId: string; callId: string; args: JsonObject }): 'valid' | 'expired' | 'invalid';
  };
  remembered: {
    remember(
      call: { callerId: string; conversation: string | undefined; definition: string },
      decision: 'approve' | 'reject',
    ): Promise<void>;
  };
  runs: Pick<ActiveRuns, 'whenOver' | 'requireReady'>;
  audit?: Audit | undefined;
}

export interface SubmittedDecision {
  /** The token of the call, or the suspension that the page of an approval has shown. */
  proof: string | { waitId: string };
  answer: ApprovalAnswer;
  isRemembered: boolean;
}

/** `complete`: all calls are decided; this caller, and nobody else, has to resume the run. */
type Decision = { type: 'recorded'; waiting: string[] } | { type: 'complete'; run: RunAwaitingApproval; decided: readonly DecidedCall[] };

/** Decides calls that wait for approval. */
export interface ApprovalDecisions {
  /** @throws GatewayError `not_found`, `conflict`, `invalid_approval_token`, `approval_expired`, `invalid_request`, and as `ActiveRuns.start` */
  decide(call: { runId: string; callId: string }, submitted: SubmittedDecision, caller: Caller): Promise<Decision>;
}

export function createApprovalDecisions({
  store,
  suspended,
  tokens,
  remembered,
  runs,
  audit,
}: ApprovalDecisionsOptions): ApprovalDecisions {
  async function findOpen(
    { runId, callId }: { runId: string; callId: string },
    caller: Caller,
  ): Promise<{ run: RunAwaitingApproval; call: WaitingCall }> {
    const found = await store.find(runId);
    // Not even for an administrator: the run continues as the caller who decides.
    if (found === undefined || found.callerId !== caller.id) {
      throw new GatewayError('not_found', `No run ${shownId(runId)} is waiting for approval. A run waits for 24 hours.`);
    }
    if (found.type === 'closed') throw alreadyClaimed('approval');
    const { run } = found;
    if (run.connect !== undefined)
      throw new GatewayError(
        'conflict',
        'This run waits until its user has connected: POST /api/runs/{id}/resume with its token resumes it.',
      );
    const call = run.calls.find(({ id }) => id === callId);
    if (call !== undefined) return { run, call };
    const open = run.calls.map(({ id }) => id).join(', ');
    throw new GatewayError('not_found', `The run is not waiting for call ${shownId(callId)}. It is waiting for: ${open}.`);
  }

  return {
    async decide({ runId, callId }, { proof, answer, isRemembered }, caller) {
      const { run, call } = await findOpen({ runId, callId }, caller);
      if (typeof proof === 'string') requireToken(tokens.check(proof, { runId, waitId: run.waitId, callId, args: call.args }));
      else if (proof.waitId !== run.waitId) throw alreadyClaimed('approval');
      const { again } = run;
      if (again !== undefined) requireSame(answer, again.decided, call);
      else if (answer.decision === 'approve' && answer.args !== undefined) await requireValidArguments(answer.args, call, caller);
      const effect = await suspended.decide({ run, caller, runs }, { call, answer, isRemembered });
      if (again === undefined) await audit?.record(decisionOf(answer, { callerId: caller.id, runId, call }));
      const conversation = conversationOf(run.request);
      if (isRemembered && again === undefined)
        await remembered.remember({ callerId: caller.id, conversation, definition: call.definition }, answer.decision);
      return effect.type === 'recorded' ? effect : { ...effect, run };
    },
  };
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

function requireToken(state: 'valid' | 'expired' | 'invalid'): void {
  if (state === 'valid') return;
  if (state === 'expired')
    throw new GatewayError('approval_expired', 'The token expired after 24 hours, so nothing was run. Ask again in the chat.');
  throw new GatewayError(
    'invalid_approval_token',
    'token: does not belong to this call. Send the token of the call from `approval` in the answer.',
    { param: 'token' },
  );
}

/** Checked before the token is used up, so that a mistake can be corrected. @throws GatewayError `invalid_request` */
async function requireValidArguments(args: JsonObject, { tool, parameters }: WaitingCall, caller: Caller): Promise<void> {
  const objection = await objectionTo(args, { name: tool, parameters }, { caller });
  if (objection !== undefined) throw invalidField('arguments', objection);
}
