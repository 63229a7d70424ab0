import { expect, it } from 'vitest';
import type { RunSuspension, WaitingRun } from '../../../src/core/runs/suspended-run.ts';
import {
  createRunSuspensions,
  approvalTokenMs,
  waitingRunsPerCaller,
  retriedRunsPerCaller,
  waitingRunCharacters,
  waitingRunsCharacters,
} from '../../../src/chat/suspend/store-suspended-run.ts';
import { memoryWaitingRuns } from '../../_support/memory-stores.ts';
import { memoryTranscripts } from '../../_support/transcripts.ts';
import { ann } from '../../_support/continuations.ts';
import { chatRequest } from '../../_support/tools.ts';
import { noBounds, waitingCall, waitingRun } from '../../storage/waiting-run-contract.ts';

const nothing = { caller: { ...ann, id: 'ada' }, sources: [], transcript: [] };
const round = { messages: [], open: [], said: '' };

function openWaits() {
  const steps: string[] = [];
  const store = memoryWaitingRuns();
  const suspensions = createRunSuspensions({
    store: {
      prune: (time) => store.prune(time),
      close: (id) => store.close(id),
      save(run, bounds) {
        steps.push(`keep ${run.waitId}`);
        return store.save(run, bounds);
      },
    },
    tokens: { sign: ({ callId }) => (steps.push(`sign ${callId}`), `token of ${callId}`) },
    links: { sign: ({ runId, waitId }) => `link to ${runId} ${waitId}` },
    makeConnectLink: async () => undefined,
    transcripts: memoryTranscripts(),
    flushLog: async () => void steps.push('flush'),
    onGivenUp: async (ids) => void steps.push(`gave up ${ids.join(', ')}`),
    onFault: () => undefined,
    newId: () => 'wait',
    now: () => 1_000,
  });
  return { suspensions, store, steps };
}

it('stores a run and its log before it hands out a token', async () => {
  const { suspensions, store, steps } = openWaits();
  const suspension = suspensions.begin({ id: 'run-a', request: chatRequest(), ...nothing });
  expect(suspension.isSuspended).toBe(false);
  const approval = await suspension.suspend([waitingCall('one')], { version: 1 }, round);
  expect(steps).toEqual(['keep wait', 'sign one', 'flush']);
  expect(suspension.isSuspended).toBe(true);
  expect(approval).toEqual({
    run_id: 'run-a',
    calls: [{ id: 'one', tool: 'pay', arguments: { amount: 5 }, token: 'token of one' }],
    token: 'token of one',
  });
  expect(await store.find('run-a')).toMatchObject({ run: { expires: 1_000 + approvalTokenMs, loop: { version: 1 } } });
});

it('neither stores a run that is too large or one too many, nor makes a token for it', async () => {
  const { suspensions, store, steps } = openWaits();
  const suspension = suspensions.begin({ id: 'run-a', request: chatRequest(), ...nothing });
  const huge = { text: 'x'.repeat(waitingRunCharacters) };
  await expect(suspension.suspend([waitingCall('one')], huge, round)).rejects.toMatchObject({ code: 'overloaded' });
  expect([suspension.isSuspended, steps, await store.find('run-a')]).toEqual([false, ['keep wait'], undefined]);
});

it('resumes the request after a handoff, under the model that the client named', async () => {
  const { suspensions, store } = openWaits();
  const suspension = suspensions.begin({ id: 'run-a', request: chatRequest(), ...nothing });
  suspension.answers(chatRequest({ model: 'other' }));
  await suspension.suspend([waitingCall('one')], {}, round);
  expect(await store.find('run-a')).toMatchObject({ run: { model: 'model', request: { model: 'other' } } });
});

it('returns the checkpoint of a resumed run once, and each decision once to its call', () => {
  const run: WaitingRun = waitingRun({ calls: [waitingCall('one'), { ...waitingCall('one-2'), callId: 'one', args: { amount: 6 } }] });
  const decided = run.calls.map((call) => ({ call, answer: { decision: 'approve' as const } }));
  const { resumed } = openWaits().suspensions.resume(run, decided, nothing);
  expect([resumed?.takeCheckpoint(), resumed?.takeCheckpoint()]).toEqual([{ loop: run.loop, sources: [] }, undefined]);
  const idOf = (amount: number): string | undefined => resumed?.takeDecision('one', { amount })?.call.id;
  expect([idOf(7), idOf(6), idOf(6), idOf(5), idOf(5)]).toEqual([undefined, 'one-2', undefined, 'one', undefined]);
});

it('leaves room for runs that wait when others have failed after their decision', async () => {
  const { suspensions, store } = openWaits();
  const bounds = { ...noBounds, maxOfCaller: waitingRunsPerCaller, maxCharacters: waitingRunsCharacters };
  const failed = (): RunSuspension => suspensions.resume(waitingRun({ id: 'failed', callerId: 'ada' }), [], nothing);
  expect(await failed().keepForRetry()).toBe(true);
  for (let number = 0; number < retriedRunsPerCaller; number += 1)
    await store.save(waitingRun({ id: `run-${number}`, callerId: 'ada' }), bounds);
  await store.close('failed');
  expect([await failed().keepForRetry(), (await store.find('failed'))?.type]).toEqual([false, 'closed']);
  const suspension = suspensions.begin({ id: 'run-a', request: chatRequest(), ...nothing });
  expect((await suspension.suspend([waitingCall('one')], {}, round)).calls).toHaveLength(1);
});
