import type { ApprovalAnswer } from '../core/approval.ts';
import type { DecisionEffect, WaitingRun } from '../core/suspended-run.ts';

/** What one more decision means for a run with those that there are already. */
export function effectOf(
  run: WaitingRun,
  answers: ReadonlyMap<string, ApprovalAnswer>,
  { callId, answer }: { callId: string; answer: ApprovalAnswer },
): DecisionEffect {
  if (answers.has(callId) || !run.calls.some(({ id }) => id === callId)) return { type: 'closed' };
  if (run.again !== undefined) return { type: 'complete', decided: run.again.left };
  const all = new Map([...answers, [callId, answer]]);
  const waiting = run.calls.flatMap(({ id }) => (all.has(id) ? [] : [id]));
  if (waiting.length > 0) return { type: 'noted', waiting };
  return {
    type: 'complete',
    decided: run.calls.flatMap((call) => {
      const given = all.get(call.id);
      return given === undefined ? [] : [{ call, answer: given }];
    }),
  };
}
