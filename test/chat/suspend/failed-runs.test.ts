import { expect, it } from 'vitest';
import type { ChatRequest } from '../../../src/core/chat/chat.ts';
import type { StartedRun } from '../../../src/runs/started-run.ts';
import { FailedRuns } from '../../../src/chat/suspend/failed-runs.ts';
import { createStartOrContinue } from '../../../src/runs/start-or-continue.ts';
import { chatRequest } from '../../_support/tools.ts';

it('hashes each request once, however many alike are under way', async () => {
  const hashed: ChatRequest[] = [];
  const failedRuns = new FailedRuns({
    store: {
      save: () => Promise.resolve({ type: 'refused' }),
      claimFailed: () => Promise.resolve(undefined),
      callersWithFailed: () => Promise.resolve([{ callerId: 'anna', expires: 2 }]),
      prune: () => Promise.resolve(),
      close: () => Promise.resolve(false),
    },
    keyOf: (_callerId, request) => {
      hashed.push(request);
      return Promise.resolve(String(hashed.length));
    },
    bounds: { maxOfCaller: 1, maxCharacters: 1, maxRunCharacters: 1 },
    callMs: 1,
    now: () => 1,
    newId: () => 'id',
    onFault: (error) => expect.unreachable(String(error)),
  });
  await failedRuns.load();
  const active: ChatRequest[] = [];
  const start = createStartOrContinue({
    failedRuns,
    runs: {
      start(request) {
        active.push(request);
        return {} as StartedRun;
      },
      requestsOf: () => active,
    },
  });
  const requests = Array.from({ length: 10 }, () => chatRequest());
  const who = { caller: { id: 'anna', role: 'user', isOpen: false } } as Parameters<typeof start>[1];
  for (const request of requests) await start(request, who);
  expect(hashed).toEqual(requests);
});
