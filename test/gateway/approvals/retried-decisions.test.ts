import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { WaitingRunStore } from '../../../src/core/runs/suspended-run.ts';
import { GatewayError } from '../../../src/core/errors.ts';
import { memoryRegistry, memoryRuns, memoryWaitingRuns } from '../../_support/memory-stores.ts';
import { backendOf, listen, readChunks } from '../../_support/build-app.ts';
import { calls, says, ScriptedModel } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { functionModule } from '../../_support/tools-folder.ts';
import { temporaryFolders } from '../../storage/temporary-folder.ts';
import { functionGateway, listen as listenTo } from '../functions/function-gateway.ts';
import { readSeen, selects } from '../gateway.ts';
import { askPlainly, bank, bankGateway, call, decide, lastResults, pathsSent, readRun, storesIn } from './approval-fixture.ts';
import type { Asked } from './approval-fixture.ts';
import { waitFor } from '../../_support/wait-for.ts';

const newFolder = temporaryFolders();
const fails = (): ScriptStep[] => [new GatewayError('upstream_unreachable', 'The backend is gone.')];

/** A store whose first decision is taken, and told only when it is released. */
function holdDecisions(): { store: WaitingRunStore; isReached: Promise<void>; release(): void } {
  const store = memoryWaitingRuns();
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const decideHeld: WaitingRunStore['decide'] = async (...decision) => {
    const effect = await store.decide(...decision);
    reached.resolve();
    await released.promise;
    return effect;
  };
  return { store: { ...store, decide: decideHeld }, isReached: reached.promise, release: released.resolve };
}

function approvalIn(stream: string): Asked {
  return readChunks(stream).find((chunk) => typeof chunk !== 'string' && chunk['approval'] !== undefined) as Asked;
}

const textOf = (asked: Asked): unknown => asked.choices[0]?.message.content;

describe('a model that fails after an approved call has run', () => {
  it('costs neither its result nor the decision: sent again, it goes on from there and runs nothing twice', async () => {
    const turns = [calls(['look', {}], ['pay', { amount: 5 }]), fails(), fails(), says('Paid.')];
    await using gateway = await bankGateway({ turns });
    const asked = await askPlainly(gateway);
    for (const _attempt of [1, 2]) {
      const failed = await decide(gateway, asked);
      expect([failed.statusCode, failed.json().error]).toEqual([
        502,
        expect.objectContaining({
          code: 'upstream_unreachable',
          message: expect.stringContaining('send the same decision again to continue'),
        }),
      ]);
      const run = await readRun(gateway, asked);
      expect([run.status, run.events.at(-1)]).toEqual(['waiting', { ...run.events.at(-1), type: 'warning' }]);
    }
    const answer = await decide(gateway, asked);
    expect([answer.statusCode, textOf(answer.json())]).toEqual([200, 'Paid.']);
    expect(answer.json<Asked>().sources?.map(({ source }) => source)).toEqual([{ name: 'TOOL:bank/look' }, { name: 'TOOL:bank/pay' }]);
    expect(lastResults(gateway)).toEqual(['{\n  "balance": 7\n}', '{\n  "paid": true\n}']);
    expect(pathsSent(gateway)).toEqual(['/look', '/pay']);
    expect((await decide(gateway, asked)).statusCode).toBe(409);
    const { status, events } = await readRun(gateway, asked);
    expect([status, events.filter(({ type }) => type === 'approval.response').length]).toEqual(['completed', 1]);
  });

  it('costs no result of later rounds either', async () => {
    const turns = [calls(['pay', { amount: 5 }]), calls(['look', {}]), fails(), says('Paid, 7 are left.')];
    await using gateway = await bankGateway({ turns });
    const asked = await askPlainly(gateway);
    expect((await decide(gateway, asked)).statusCode).toBe(502);
    expect(textOf((await decide(gateway, asked)).json())).toBe('Paid, 7 are left.');
    expect(pathsSent(gateway)).toEqual(['/pay', '/look']);
    expect(lastResults(gateway)).toHaveLength(2);
  });

  it('in a stream says so in its last frame, and goes on as a stream', async () => {
    const broken: ScriptStep[] = [{ type: 'text', text: 'Pai' }, ...fails()];
    await using gateway = await bankGateway({ turns: [calls(['pay', { amount: 5 }]), broken, says('Paid.')] });
    const asked = approvalIn((await gateway.ask()).raw);
    const failed = await decide(gateway, asked);
    expect([failed.statusCode, readSeen(failed.body).text]).toEqual([200, 'Pai']);
    expect(failed.body).toContain('send the same decision again to continue');
    expect(readSeen((await decide(gateway, asked)).body).text).toBe('Paid.');
    expect(pathsSent(gateway)).toEqual(['/pay']);
  });

  it('in a prompt-based mode is asked for the answer alone', async () => {
    await using gateway = await bankGateway({ turns: [selects(['pay', { amount: 5 }]), fails(), says('Paid.')] });
    const asked = await askPlainly(gateway, { params: { function_calling: 'default' } });
    expect((await decide(gateway, asked)).statusCode).toBe(502);
    expect(textOf((await decide(gateway, asked)).json())).toBe('Paid.');
    expect(pathsSent(gateway)).toEqual(['/pay']);
    expect(JSON.stringify(gateway.model.requests.at(-1)?.messages)).toContain('Tool `bank/pay` Output:');
  });

  it('may be followed by a call that waits for another approval, under tokens of its own', async () => {
    const turns = [calls(['pay', { amount: 5 }]), fails(), calls(['refund', { amount: 5 }]), says('Back again.')];
    await using gateway = await bankGateway({ turns });
    const first = await askPlainly(gateway);
    expect((await decide(gateway, first)).statusCode).toBe(502);
    const second = (await decide(gateway, first)).json<Asked>();
    expect(second.approval.calls.map(({ tool }) => tool)).toEqual(['refund']);
    expect((await decide(gateway, first)).statusCode).toBeGreaterThanOrEqual(403);
    expect(textOf((await decide(gateway, second)).json())).toBe('Back again.');
    expect(pathsSent(gateway)).toEqual(['/pay', '/refund']);
  });

  it('does not make a call of the same id and arguments run without another approval', async () => {
    const same = calls(['pay', { amount: 5 }]);
    await using gateway = await bankGateway({ turns: [same, fails(), same, says('Twice.')] });
    const first = await askPlainly(gateway);
    await decide(gateway, first);
    const second = (await decide(gateway, first)).json<Asked>();
    expect([second.approval.calls.length, pathsSent(gateway)]).toEqual([1, ['/pay']]);
  });

  it('is no failure where somebody has cancelled the run meanwhile', async () => {
    const forever = new Promise<never>(() => undefined);
    await using gateway = await bankGateway({ turns: [calls(['pay', { amount: 5 }]), [forever], says('Paid.')] });
    const asked = await askPlainly(gateway);
    const deciding = decide(gateway, asked);
    await waitFor(() => expect(gateway.model.requests).toHaveLength(2));
    await call(gateway, `POST /api/runs/${asked.approval.run_id}/cancel`, { payload: {} });
    expect((await deciding).json().error.code).toBe('run_cancelled');
    expect((await decide(gateway, asked)).statusCode).toBe(409);
    expect((await readRun(gateway, asked)).status).toBe('cancelled');
  });

  it('is one where the client has left: it may come back with its decision', async () => {
    const forever = new Promise<never>(() => undefined);
    await using gateway = await bankGateway({ turns: [calls(['pay', { amount: 5 }]), [forever], says('Paid.')] });
    const asked = await askPlainly(gateway);
    const [waiting] = asked.approval.calls;
    const leave = new AbortController();
    const url = `${await listen(gateway.app)}/api/runs/${asked.approval.run_id}/approvals/${waiting?.id}`;
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ decision: 'approve', token: waiting?.token });
    const left = fetch(url, { method: 'POST', headers, body, signal: leave.signal }).catch(() => 'left');
    await waitFor(() => expect(gateway.model.requests).toHaveLength(2));
    leave.abort();
    expect(await left).toBe('left');
    await waitFor(async () => expect((await readRun(gateway, asked)).events.at(-1)?.data).toMatchObject({ code: 'kept_for_retry' }));
    expect(textOf((await decide(gateway, asked)).json())).toBe('Paid.');
    expect(pathsSent(gateway)).toEqual(['/pay']);
  });

  it.each([false, true])('is none yet where the client leaves while its decision is written down, streaming: %s', async (stream) => {
    const held = holdDecisions();
    await using gateway = await bankGateway({ turns: [calls(['pay', { amount: 5 }]), says('Paid.')], waitingRuns: held.store });
    const asked = stream ? approvalIn((await gateway.ask()).raw) : await askPlainly(gateway);
    const [waiting] = asked.approval.calls;
    const url = `${await listen(gateway.app)}/api/runs/${asked.approval.run_id}/approvals/${waiting?.id}`;
    const closed = Promise.withResolvers<void>();
    gateway.app.server.server.on('request', (_request, response: ServerResponse) => void response.once('close', () => closed.resolve()));
    const leave = new AbortController();
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ decision: 'approve', token: waiting?.token });
    const left = fetch(url, { method: 'POST', headers, body, signal: leave.signal }).catch(() => 'left');
    await held.isReached;
    leave.abort();
    expect(await left).toBe('left');
    await closed.promise;
    held.release();
    await waitFor(async () => expect((await readRun(gateway, asked)).events.at(-1)?.data).toMatchObject({ code: 'kept_for_retry' }));
    expect(pathsSent(gateway)).toEqual([]);
    const answer = await decide(gateway, asked);
    expect(stream ? readSeen(answer.body).text : textOf(answer.json())).toBe('Paid.');
    expect(pathsSent(gateway)).toEqual(['/pay']);
  });

  it('is another matter than a function that ends the run: what may have happened is not repeated', async () => {
    using ears = listenTo();
    const execute = "() => { tell('pay'); throw new Error('no'); }";
    const files = { 'a.js': functionModule('pay', { execute, more: "needsApproval: true, onError: 'abort'" }) };
    await using gateway = await functionGateway(files, { turns: [calls(['pay', {}]), says('Paid.')] });
    const asked = await askPlainly(gateway);
    expect((await decide(gateway, asked)).json().error.code).toBe('tool_failed');
    expect((await decide(gateway, asked)).statusCode).toBe(409);
    expect([ears.heard, (await readRun(gateway, asked)).status]).toEqual([['pay'], 'failed']);
  });

  it('is over with a cancellation', async () => {
    await using gateway = await bankGateway({ turns: [calls(['pay', { amount: 5 }]), fails(), says('Paid.')] });
    const asked = await askPlainly(gateway);
    await decide(gateway, asked);
    const cancelled = await call(gateway, `POST /api/runs/${asked.approval.run_id}/cancel`, { payload: {} });
    expect(cancelled.json()).toMatchObject({ status: 'cancelled' });
    expect((await decide(gateway, asked)).statusCode).toBe(409);
    expect((await readRun(gateway, asked)).status).toBe('cancelled');
  });
});

describe('a cancellation of a run whose decision was taken', () => {
  it('ends it before it goes on: nothing that was approved runs', async () => {
    const held = holdDecisions();
    await using gateway = await bankGateway({ turns: [calls(['pay', { amount: 5 }]), says('Paid.')], waitingRuns: held.store });
    const asked = await askPlainly(gateway);
    const deciding = decide(gateway, asked);
    await held.isReached;
    const cancelled = await call(gateway, `POST /api/runs/${asked.approval.run_id}/cancel`, { payload: {} });
    expect(cancelled.json()).toMatchObject({ status: 'cancelled' });
    held.release();
    expect((await deciding).json().error.code).toBe('run_cancelled');
    expect([pathsSent(gateway), (await readRun(gateway, asked)).status]).toEqual([[], 'cancelled']);
    expect((await decide(gateway, asked)).statusCode).toBe(409);
  });

  it('finds nothing to end where the key was deleted meanwhile: the run is gone, and nothing runs', async () => {
    const held = holdDecisions();
    const adminKey = 'sk-tw-fixed-administrator';
    await using gateway = await bankGateway({
      turns: [calls(['pay', { amount: 5 }]), says('Paid.')],
      environment: { TOOLWHARF_ADMIN_KEY: adminKey },
      waitingRuns: held.store,
    });
    const payload = { name: 'ada', role: 'user' };
    const made = (await call(gateway, 'POST /api/keys', { key: adminKey, payload })).json<{ id: string; key: string }>();
    const asked = await askPlainly(gateway, {}, made.key);
    const run = `/api/runs/${asked.approval.run_id}`;
    const deciding = decide(gateway, asked, { key: made.key });
    await held.isReached;
    await call(gateway, `DELETE /api/keys/${made.id}`, { key: adminKey });
    held.release();
    expect((await deciding).json().error.code).toBe('invalid_api_key');
    expect((await call(gateway, `POST ${run}/cancel`, { key: adminKey, payload: {} })).statusCode).toBe(404);
    expect([(await call(gateway, `GET ${run}`, { key: adminKey })).statusCode, pathsSent(gateway)]).toEqual([404, []]);
  });
});

describe('a decision that is sent again', () => {
  it('has to be the one that was taken; any of several will do', async () => {
    const turns = [calls(['pay', { amount: 1 }], ['refund', { amount: 2 }]), fails(), says('Done.')];
    await using gateway = await bankGateway({ turns });
    const asked = await askPlainly(gateway);
    await decide(gateway, asked, { place: 1, decision: 'reject' });
    expect((await decide(gateway, asked, { arguments: { amount: 3 } })).statusCode).toBe(502);
    for (const other of [{ decision: 'reject' }, { arguments: { amount: 1 } }, { place: 1 }])
      expect((await decide(gateway, asked, other)).json().error).toMatchObject({
        code: 'conflict',
        message: expect.stringContaining('Send the first decision'),
      });
    expect((await decide(gateway, asked, { token: asked.approval.calls[1]?.token ?? '' })).json().error.code).toBe(
      'invalid_approval_token',
    );
    expect(textOf((await decide(gateway, asked, { place: 1, decision: 'reject' })).json())).toBe('Done.');
    expect(gateway.sent.map(({ body }) => body)).toEqual(['{"amount":3}']);
  });

  it('goes on once, also when it comes several times at once', async () => {
    await using gateway = await bankGateway({ turns: [calls(['pay', { amount: 5 }]), fails(), says('Paid.'), says('Twice.')] });
    const asked = await askPlainly(gateway);
    await decide(gateway, asked);
    const codes = (await Promise.all([1, 2, 3].map(() => decide(gateway, asked)))).map(({ statusCode }) => statusCode);
    expect(codes.toSorted((left, right) => left - right)).toEqual([200, 409, 409]);
    expect(pathsSent(gateway)).toEqual(['/pay']);
  });

  it('goes on where a shutdown began while it was written down', async () => {
    const held = holdDecisions();
    const runs = memoryRuns();
    const config = { secret: 'one secret for both', drainTimeoutMs: 0 };
    const first = await bankGateway({ turns: [calls(['pay', { amount: 5 }])], waitingRuns: held.store, runs, config });
    const asked = await askPlainly(first);
    const deciding = decide(first, asked);
    await held.isReached;
    const closing = first[Symbol.asyncDispose]();
    held.release();
    expect((await deciding).json().error.code).toBe('server_shutting_down');
    await closing;
    await using second = await bankGateway({ turns: [says('Paid.')], waitingRuns: held.store, runs, config });
    expect((await readRun(second, asked)).status).toBe('waiting');
    expect(textOf((await decide(second, asked)).json())).toBe('Paid.');
    expect([pathsSent(first), pathsSent(second)]).toEqual([[], ['/pay']]);
  });

  it('goes on after a shutdown amid the answer', async () => {
    const waitingRuns = memoryWaitingRuns();
    const runs = memoryRuns();
    const config = { secret: 'one secret for both', drainTimeoutMs: 0 };
    const forever = new Promise<never>(() => undefined);
    const first = await bankGateway({ turns: [calls(['pay', { amount: 5 }]), [forever]], waitingRuns, runs, config });
    const asked = await askPlainly(first);
    const deciding = decide(first, asked);
    await waitFor(() => expect(first.model.requests).toHaveLength(2));
    await first[Symbol.asyncDispose]();
    expect((await deciding).json().error.code).toBe('server_shutting_down');
    await using second = await bankGateway({ turns: [says('Paid.')], waitingRuns, runs, config });
    expect((await readRun(second, asked)).status).toBe('waiting');
    expect(textOf((await decide(second, asked)).json())).toBe('Paid.');
    expect([pathsSent(first), pathsSent(second)]).toEqual([['/pay'], []]);
  });

  it('goes on after a restart as well, also where nothing had run yet because the model was gone', async () => {
    const folder = newFolder();
    const registry = memoryRegistry([bank]);
    const answers: unknown[] = [];
    const sent: string[] = [];
    let asked: Asked | undefined;
    let sources: number | undefined;
    const lives: { turns?: ScriptStep[][]; without?: true }[] = [
      { turns: [calls(['look', {}], ['pay', { amount: 5 }])] },
      { without: true },
      { turns: [fails()] },
      { turns: [says('Paid.')] },
    ];
    for (const { turns = [], without } of lives) {
      const stores = storesIn(folder);
      const backends = without === true ? { backends: [] } : { backends: [backendOf(new ScriptedModel(...turns))] };
      const gateway = await bankGateway({ ...stores, registry, ...backends });
      if (asked === undefined) asked = await askPlainly(gateway);
      else {
        const response = await decide(gateway, asked);
        answers.push(response.statusCode === 200 ? textOf(response.json()) : response.json().error.code);
        answers.push((await readRun(gateway, asked)).status);
        sources = response.json<Asked>().sources?.length;
      }
      sent.push(...pathsSent(gateway));
      await gateway[Symbol.asyncDispose]();
      await stores.close();
    }
    expect(answers).toEqual(['model_not_found', 'waiting', 'upstream_unreachable', 'waiting', 'Paid.', 'completed']);
    expect([sent, sources]).toEqual([['/look', '/pay'], 2]);
  });
});
