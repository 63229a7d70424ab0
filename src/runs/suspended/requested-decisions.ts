import { toPendingApproval, type ApprovalLinkSigner, type ApprovalTokenSigner } from '../../chat/suspend/store-suspended-run.ts';
import type { PendingApproval, RequestedDecision } from '../../core/user-input/approval.ts';
import type { Caller } from '../../core/callers/caller.ts';
import { GatewayError, invalidField, type ErrorCode } from '../../core/errors.ts';
import type { DecidedCall, RunAwaitingApproval, WaitingCall, WaitingRunStore } from '../../core/runs/suspended-run.ts';
import type { ApprovalDecisions } from './approval-decisions.ts';

/**
 * `complete`: this caller, and nobody else, has to resume the run; `approval` has all calls that waited. `recorded`: the calls in `approval` still
 * wait.
 */
type DecidedRun = { run: RunAwaitingApproval; approval: PendingApproval } & (
  | { type: 'complete'; decided: readonly DecidedCall[] }
  | { type: 'recorded'; waiting: WaitingCall[] }
);

/** Decisions that come with the next request of a chat, in dialects that have a form for them. */
export interface RequestedDecisions {
  /** @throws GatewayError `invalid_request` for a decision that is not about a waiting call of this caller, and as `ApprovalDecisions.decide` */
  decide(decisions: readonly RequestedDecision[], caller: Caller): Promise<DecidedRun>;
}

interface RequestedDecisionsOptions {
  store: Pick<WaitingRunStore, 'find'>;
  tokens: ApprovalTokenSigner;
  links: ApprovalLinkSigner;
  decisions: Pick<ApprovalDecisions, 'decide'>;
}

interface DecisionOnCall {
  requested: RequestedDecision;
  call: PendingApproval['calls'][number];
}

/** The errors of a decision that is too late or about another run. Their codes and statuses are only for the route of decisions. */
const rejections: ReadonlySet<ErrorCode> = new Set(['not_found', 'conflict', 'invalid_approval_token', 'approval_expired']);

export function createRequestedDecisions({ store, tokens, links, decisions }: RequestedDecisionsOptions): RequestedDecisions {
  async function findOpen(
    requested: readonly RequestedDecision[],
    caller: Caller,
  ): Promise<{ run: RunAwaitingApproval; approval: PendingApproval; calls: DecisionOnCall[] }> {
    const [first] = requested;
    if (first === undefined) throw new Error('There is nothing to decide');
    const found = await store.find(first.runId);
    if (found?.type !== 'open' || found.callerId !== caller.id) throw refusal(first, noneWaits);
    const { run } = found;
    if (run.connect !== undefined) throw refusal(first, noneWaits);
    const approval = toPendingApproval(run, { tokens, links });
    const calls = requested.map((decision) => {
      const call = decision.runId === run.id ? approval.calls.find(({ token }) => decision.isAbout(token)) : undefined;
      if (call === undefined) throw refusal(decision, decision.runId === run.id ? noneWaits : otherRun);
      return { requested: decision, call };
    });
    return { run, approval, calls };
  }

  return {
    async decide(requested, caller) {
      const { run, approval, calls } = await findOpen(requested, caller);
      let waiting: string[] = [];
      for (const { requested: decision, call } of calls) {
        const proof = { proof: call.token, answer: decision.answer, isRemembered: false };
        const outcome = await decisions.decide({ runId: run.id, callId: call.id }, proof, caller).catch((error: unknown) => {
          if (error instanceof GatewayError && rejections.has(error.code)) throw refusal(decision, error.message);
          throw error;
        });
        if (outcome.type === 'complete') return { ...outcome, approval };
        waiting = outcome.waiting;
      }
      const stillWaiting = run.calls.filter(({ id }) => waiting.includes(id));
      return {
        type: 'recorded',
        run,
        waiting: stillWaiting,
        approval: toPendingApproval({ ...run, calls: stillWaiting }, { tokens, links }),
      };
    },
  };
}

const noneWaits =
  'none of your calls is waiting for this decision: it does not exist, was already decided, or expired after a day. GET /api/runs shows your runs.';
const otherRun = 'the decisions of one request have to be about the calls of one answer.';

function refusal({ param }: RequestedDecision, message: string): GatewayError {
  return invalidField(param, message);
}
