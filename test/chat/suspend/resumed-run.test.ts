import { describe, expect, it } from 'vitest';
import type { DecidedCall, WaitingCall } from '../../../src/core/runs/suspended-run.ts';
import { createResumedRun } from '../../../src/chat/suspend/resumed-run.ts';
import { waitingCall } from '../../storage/waiting-run-contract.ts';

const decided = (id: string, within?: WaitingCall['within']): DecidedCall => ({
  call: { ...waitingCall(id), ...(within && { within }) },
  answer: { decision: 'approve' },
});
const outer = { index: 1, callId: 'outer' };
const was = { loop: { version: 1 }, sources: [] };
const args = { amount: 5 };

describe('decisions on calls within a preset', () => {
  const all = [
    decided('own'),
    decided('in', [outer]),
    decided('deep', [outer, { index: 0, callId: 'middle' }]),
    decided('in', [{ ...outer, index: 2 }]),
  ];

  it('are not used outside of it, whatever ids they have', () => {
    const run = createResumedRun(was, all);
    expect(run.takeDecision('in', args)).toBeUndefined();
    expect(run.takeDecision('own', args)?.call.id).toBe('own');
    expect(run.takeDecision('own', args)).toBeUndefined();
  });

  it('are returned to it once, with the ids that it uses', () => {
    const run = createResumedRun(was, all);
    const given = run.takeInnerDecisions(1);
    expect(given.map(({ call }) => [call.id, call.within])).toEqual([
      ['in', []],
      ['deep', [{ index: 0, callId: 'middle' }]],
    ]);
    expect([run.takeInnerDecisions(1), run.takeInnerDecisions(0)]).toEqual([[], []]);
    const inner = createResumedRun(was, given);
    expect([inner.takeDecision('deep', args), inner.takeDecision('in', args)?.call.id, inner.takeInnerDecisions(0).length]).toEqual([
      undefined,
      'in',
      1,
    ]);
  });
});

describe('the checkpoint from which a resumed run is retried', () => {
  it('is that of the suspension until calls begin, none while they run, and then a new one', () => {
    const run = createResumedRun(was, [decided('own')]);
    expect(run.retryFrom()).toEqual({ loop: was.loop, left: [decided('own')] });
    run.takeDecision('own', args);
    expect(run.retryFrom()?.left).toEqual([decided('own')]);
    run.setCheckpoint(undefined);
    expect(run.retryFrom()).toBeUndefined();
    run.setCheckpoint(() => ({ round: 2 }));
    expect(run.retryFrom()).toEqual({ loop: { round: 2 }, left: [] });
  });
});
