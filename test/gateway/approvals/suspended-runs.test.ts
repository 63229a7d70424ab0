import { expect, it } from 'vitest';
import type { WaitingRunStore } from '../../../src/core/runs/suspended-run.ts';
import { memoryWaitingRuns } from '../../_support/memory-stores.ts';
import { readChunks } from '../../_support/build-app.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { askPlainly, bankGateway, call, decide, readRun } from './approval-fixture.ts';
import type { Asked } from './approval-fixture.ts';

it('the tokens of a run that was cancelled while it was written down are worthless', async () => {
  const store = memoryWaitingRuns();
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const save: WaitingRunStore['save'] = async (...kept) => {
    reached.resolve();
    await released.promise;
    return store.save(...kept);
  };
  await using gateway = await bankGateway({ turns: [calls(['pay', { amount: 5 }]), says('Paid.')], waitingRuns: { ...store, save } });
  const asking = gateway.ask();
  await reached.promise;
  const [run] = (await call(gateway, 'GET /api/runs')).json<{ data: { id: string }[] }>().data;
  const cancelled = await call(gateway, `POST /api/runs/${run?.id}/cancel`, { payload: {} });
  expect(cancelled.json()).toEqual({ id: run?.id, status: 'cancelled' });
  released.resolve();
  const chunks = readChunks((await asking).raw);
  const asked = chunks.find((chunk) => typeof chunk !== 'string' && chunk['approval'] !== undefined) as Asked;
  expect((await decide(gateway, asked)).statusCode).toBe(409);
  const { status, events } = await readRun(gateway, asked);
  expect([status, events.at(-1)?.data]).toEqual(['cancelled', expect.objectContaining({ status: 'cancelled' })]);
  expect(gateway.sent).toEqual([]);
});

it('a call waits under an id that fits into an address, however long those of the model are', async () => {
  const pays = [1, 2].map((amount): ScriptStep => {
    const id = `call_${'s'.repeat(3_000)}${amount}`;
    return { type: 'tool-call', call: { id, name: 'pay', arguments: JSON.stringify({ amount }) } };
  });
  await using gateway = await bankGateway({ turns: [[...pays, { type: 'finish', reason: 'tool_calls' }], says('Paid.')] });
  const asked = await askPlainly(gateway);
  expect((await decide(gateway, asked, { decision: 'reject' })).statusCode).toBe(202);
  expect((await decide(gateway, asked, { place: 1 })).json<Asked>().choices[0]?.message.content).toBe('Paid.');
  expect(gateway.sent.map(({ body }) => body)).toEqual(['{"amount":2}']);
  expect((await readRun(gateway, asked)).status).toBe('completed');
});
