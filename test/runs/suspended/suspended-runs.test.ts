import { expect, it } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import type { ChatEvent } from '../../../src/core/chat/chat.ts';
import type { RunEnding } from '../../../src/core/runs/run-log.ts';
import type { RunAwaitingApproval, RunAwaitingConnection, WaitingCall } from '../../../src/core/runs/suspended-run.ts';
import { createSuspendedRuns } from '../../../src/runs/suspended/suspended-runs.ts';
import { memoryWaitingRuns } from '../../_support/memory-stores.ts';
import { waitingCall, waitingRun } from '../../storage/waiting-run-contract.ts';

const caller = { id: 'ada', role: 'user', isOpen: false } as const;
const bounds = { maxRunCharacters: 1e6, maxOfCaller: 9, maxCharacters: 1e9 };
const approve = { decision: 'approve' } as const;
const ready = { requireReady: () => undefined, whenOver: async () => true };

function runAwaitingConnection(): RunAwaitingConnection {
  return { ...waitingRun(), calls: [], connect: [{ callId: 'a', tool: 'read', server: 'mail', name: 'Mail' }] };
}

/** Suspended runs over a store in memory, and what their logs record. */
async function suspendedRuns(run: RunAwaitingApproval | RunAwaitingConnection, { isLogFailing = false } = {}) {
  const store = memoryWaitingRuns();
  await store.save(run, bounds);
  const recorded: (ChatEvent | RunEnding)[] = [];
  const faults: unknown[] = [];
  const log = {
    async resume() {
      if (isLogFailing) throw new GatewayError('storage_unavailable', 'no disk');
      return { record: (event: ChatEvent) => void recorded.push(event), end: (ending: RunEnding) => void recorded.push(ending) };
    },
  };
  const settled: string[] = [];
  const suspended = createSuspendedRuns({ store, log, onFault: (error) => void faults.push(error) });
  suspended.onSettled((runId) => void settled.push(runId));
  return { suspended, store, recorded, faults, settled };
}

const approvalRun = (...calls: WaitingCall[]): RunAwaitingApproval => waitingRun({ calls });

it('gives a run whose caller has connected to one claim only', async () => {
  const run = runAwaitingConnection();
  const { suspended, recorded, settled } = await suspendedRuns(run);
  const claims = await Promise.allSettled([1, 2].map(() => suspended.claim({ run, caller, runs: ready })));
  expect(claims.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  expect(recorded).toMatchObject([
    { event: { type: 'connect.response', data: { server: 'mail', outcome: 'connected' } } },
    { status: 'waiting' },
  ]);
  expect(settled).toEqual([]);
});

it('records each decision, and completes the run with the last one', async () => {
  const run = approvalRun(waitingCall('one'), waitingCall('two'));
  const { suspended, recorded } = await suspendedRuns(run);
  const [one, two] = run.calls.map((call) => ({ call, answer: approve, isRemembered: false }));
  if (one === undefined || two === undefined) throw new Error('two calls');
  expect(await suspended.decide({ run, caller, runs: ready }, one)).toEqual({ type: 'recorded', waiting: ['two'] });
  expect(await suspended.decide({ run, caller, runs: ready }, two)).toMatchObject({
    type: 'complete',
    decided: [{ call: { id: 'one' } }, { call: { id: 'two' } }],
  });
  expect(recorded.filter((each) => 'event' in each)).toHaveLength(2);
  await expect(suspended.decide({ run, caller, runs: ready }, two)).rejects.toMatchObject({ code: 'conflict' });
});

it.each([
  ['its answer has not ended', { ...ready, whenOver: async () => false }, 'conflict'],
  [
    'its caller may not start runs',
    {
      ...ready,
      requireReady() {
        throw new GatewayError('model_not_found', 'none');
      },
    },
    'model_not_found',
  ],
])('leaves a run as it is if %s', async (_why, runs, code) => {
  const run = runAwaitingConnection();
  const { suspended, store, recorded } = await suspendedRuns(run);
  await expect(suspended.claim({ run, caller, runs })).rejects.toMatchObject({ code });
  expect(await store.find(run.id)).toMatchObject({ type: 'open' });
  expect(recorded).toEqual([]);
});

it('does not lose a claim that the log cannot record', async () => {
  const run = runAwaitingConnection();
  const { suspended, faults } = await suspendedRuns(run, { isLogFailing: true });
  expect(await suspended.claim({ run, caller, runs: ready })).toEqual([]);
  expect(faults).toMatchObject([{ code: 'storage_unavailable' }]);
});

it('cancels a run once, and tells its listeners', async () => {
  const run = approvalRun(waitingCall('one'));
  const { suspended, store, recorded, settled } = await suspendedRuns(run);
  expect(await suspended.cancel(run.id)).toBe(true);
  expect(await store.find(run.id)).toMatchObject({ type: 'closed' });
  expect(recorded).toMatchObject([{ status: 'cancelled', error: { code: 'run_cancelled', message: 'The run was cancelled.' } }]);
  expect(settled).toEqual([run.id]);
});

it('gives up only a run that still waits', async () => {
  const run = runAwaitingConnection();
  const { suspended, recorded } = await suspendedRuns(run);
  await suspended.giveUp(run.id, 'The chat continued.');
  await suspended.giveUp(run.id, 'The chat continued.');
  expect(recorded).toMatchObject([{ status: 'cancelled', error: { message: 'The chat continued.' } }]);
});
