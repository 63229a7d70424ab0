import { describe, expect, it } from 'vitest';
import { definitionOf } from '../../../src/policy/approvals/remembered-approvals.ts';
import type { ApprovalAnswer } from '../../../src/core/user-input/approval.ts';
import type { RunSuspension } from '../../../src/core/runs/suspended-run.ts';
import type { ElicitationReply } from '../../../src/core/user-input/elicitation.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import type { PresetRecord } from '../../../src/core/stores/preset.ts';
import { createResumedRun } from '../../../src/chat/suspend/resumed-run.ts';
import type { RunContext } from '../../../src/core/runs/run.ts';
import type { RunEvent } from '../../../src/core/chat/run-event.ts';
import type { ApprovalDecision } from '../../../src/core/tools/approval-gate.ts';
import type { Tool } from '../../../src/core/tools/tool.ts';
import { createApprovalGate } from '../../../src/policy/approvals/approval-gate.ts';
import { createRememberedApprovals } from '../../../src/policy/approvals/remembered-approvals.ts';
import { memoryNotes } from '../../_support/memory-stores.ts';
import { runContext, toolNamed } from '../../_support/tools.ts';

const args = { amount: 5 };
const guarded = toolNamed('pay', 1, { needsApproval: true });
const inSession = runContext({ sessionId: 'session', chatId: 'chat' });

async function decideOn(
  tool: Tool,
  run: RunContext = runContext(),
  reply: ElicitationReply = { type: 'unavailable' },
): Promise<{ decision: ApprovalDecision; told: RunEvent[] }> {
  const told: RunEvent[] = [];
  const remembered = createRememberedApprovals({ store: memoryNotes(), now: () => 0, onFault: () => undefined });
  const objectionTo = async (given: JsonObject): Promise<string | undefined> => (given['amount'] === 'much' ? 'No number.' : undefined);
  const gate = createApprovalGate({ sendElicitation: async () => reply, remembered, objectionTo, timeoutMs: 1_000 });
  const request = {
    callId: 'call',
    tool,
    args,
    run,
    signal: new AbortController().signal,
    emit: (event: RunEvent) => void told.push(event),
  };
  return { decision: await gate.decide(request), told };
}

function preset(needsApproval: PresetRecord['needsApproval']): RunContext {
  return runContext({ approvalRule: needsApproval });
}

/** A run that goes on with one decision. */
function resumedWith(answer: ApprovalAnswer, fields: { args?: JsonObject; definition?: string } = {}): RunContext {
  const shown = { id: 'call', callId: 'call', tool: 'pay', label: 'server/pay', parameters: {} };
  const call = { ...shown, args: fields.args ?? args, definition: fields.definition ?? definitionOf(guarded) };
  const suspension: RunSuspension = {
    resumed: createResumedRun({ loop: {}, sources: [] }, [{ call, answer }]),
    answers: () => undefined,
    settle: async () => undefined,
    suspend: () => Promise.reject(new Error('not here')),
    suspendToConnect: () => Promise.reject(new Error('not here')),
    keepForRetry: async () => false,
    abandon: async () => undefined,
    isSuspended: false,
  };
  return runContext({ suspension });
}

describe('who has to be asked', () => {
  it.each<[string, Tool, RunContext, boolean]>([
    ['a function that says nothing', toolNamed('look', 1), runContext(), false],
    ['one that says false', toolNamed('look', 1, { needsApproval: false }), runContext(), false],
    ['one that says true', guarded, runContext(), true],
    ['one whose predicate says yes', toolNamed('pay', 1, { needsApproval: ({ amount }) => Number(amount) > 4 }), runContext(), true],
    [
      'one whose predicate says no later',
      toolNamed('pay', 1, { needsApproval: async ({ amount }) => Number(amount) > 5 }),
      runContext(),
      false,
    ],
    ['any, under a preset that says true', toolNamed('look', 1), preset(true), true],
    ['one that says true, under a preset that says false', guarded, preset(false), true],
    ['one that a preset names', toolNamed('look', 1), preset(['look']), true],
    ['one that a preset names with its server', toolNamed('look', 1), preset(['server/look']), true],
    ['one that a preset does not name', toolNamed('look', 1), preset(['pay']), false],
    ['a helper of the loop, under a preset that says true', toolNamed('find_tools', 1, { isHelper: true }), preset(true), false],
  ])('%s', async (_name, tool, run, isAsked) => {
    const { decision } = await decideOn(tool, run);
    expect(decision).toMatchObject(isAsked ? { type: 'refused', code: 'approval_required' } : { type: 'approved' });
  });

  it('a predicate that throws is no approval', async () => {
    const broken = toolNamed('pay', 1, { needsApproval: () => Promise.reject(new Error('broken')) });
    await expect(decideOn(broken, inSession, { type: 'answered', data: { decision: 'approve' } })).rejects.toThrow('broken');
  });
});

describe('an answer over the socket', () => {
  it.each<[JsonObject, ApprovalDecision]>([
    [{ decision: 'approve' }, { type: 'approved' }],
    [
      { decision: 'approve', params: { amount: 1 } },
      { type: 'approved', args: { amount: 1 } },
    ],
    [{ decision: 'approve', params: null }, { type: 'approved' }],
  ])('%j approves', async (data, expected) => {
    expect((await decideOn(guarded, inSession, { type: 'answered', data })).decision).toEqual(expected);
  });

  it.each<[JsonObject]>([[{ decision: 'reject' }], [{ decision: 'Approve' }], [{ decision: true }], [{}], [{ approve: true }]])(
    '%j does not',
    async (data) => {
      const { decision, told } = await decideOn(guarded, inSession, { type: 'answered', data });
      expect(decision).toMatchObject({ type: 'refused', code: 'approval_rejected' });
      expect(told.map((event) => [event.type, event.type === 'approval.response' ? event.data.decision : undefined])).toEqual([
        ['approval.request', undefined],
        ['approval.response', 'reject'],
      ]);
    },
  );

  it.each<[JsonObject]>([[{ decision: 'approve', params: [1] }], [{ decision: 'approve', params: { amount: 'much' }, remember: true }]])(
    '%j does not, however often it comes, and is not remembered',
    async (data) => {
      const { decision, told } = await decideOn(guarded, inSession, { type: 'answered', data });
      expect(decision).toMatchObject({ type: 'refused', code: 'approval_rejected', message: expect.stringContaining('to invalid ones') });
      expect(told.map((event) => event.type)).toEqual(['approval.request', 'approval.response']);
    },
  );

  it.each<[ElicitationReply['type'], string]>([
    ['unavailable', 'approval_required'],
    ['disconnected', 'approval_required'],
    ['expired', 'approval_expired'],
  ])('that is missing (%s) is %s', async (type, code) => {
    const { decision, told } = await decideOn(guarded, inSession, { type } as ElicitationReply);
    expect(decision).toMatchObject({ type: 'refused', code });
    expect(told.map((event) => event.type)).toEqual(['approval.request', 'approval.response']);
  });
});

describe('a decision of another request', () => {
  it('is taken for the call that was shown', async () => {
    expect((await decideOn(guarded, resumedWith({ decision: 'approve' }))).decision).toMatchObject({ type: 'approved' });
    const { decision } = await decideOn(guarded, resumedWith({ decision: 'reject', message: 'No.' }));
    expect(decision).toMatchObject({ code: 'approval_rejected', message: expect.stringContaining('No.') });
  });

  it('is none for a function that has changed', async () => {
    const { decision } = await decideOn(guarded, resumedWith({ decision: 'approve' }, { definition: 'another' }));
    expect(decision).toMatchObject({ type: 'refused', code: 'definition_changed' });
  });

  it('is none for other arguments: these are asked for anew', async () => {
    const { decision } = await decideOn(guarded, resumedWith({ decision: 'approve' }, { args: { amount: 1 } }));
    expect(decision).toEqual({ type: 'waiting', definition: definitionOf(guarded) });
  });
});
