import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { listen } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import type { BrowserFrame, FakeBrowser } from '../../_support/fake-browser.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import type { Gateway } from '../gateway.ts';
import { askPlainly, bankGateway, call, decide, lastResults, pathsSent } from './approval-fixture.ts';
import { waitFor } from '../../_support/wait-for.ts';

interface Desk extends AsyncDisposable {
  gateway: Gateway;
  browser: FakeBrowser;
  url: string;
}

async function openDesk(turns: ScriptStep[][], environment: NodeJS.ProcessEnv = {}): Promise<Desk> {
  const gateway = await bankGateway({ turns, environment });
  const url = await listen(gateway.app);
  const browser = await connectFakeBrowser({ url });
  return {
    gateway,
    browser,
    url,
    async [Symbol.asyncDispose]() {
      browser.terminate();
      await gateway[Symbol.asyncDispose]();
    },
  };
}

const message = (fields: JsonObject = {}): JsonObject => ({ type: 'message', data: { content: 'Pay 5.', model: 'model', ...fields } });
const answer = (browser: FakeBrowser, { data }: BrowserFrame, fields: JsonObject): void =>
  browser.send({ type: 'confirmation:result', data: { id: data['id'] ?? null, ...fields } });
const pay = (): ScriptStep[] => calls(['pay', { amount: 5 }]);

async function runOf({ gateway }: Desk, id: unknown): Promise<{ status: string; events: { type: string; data: JsonObject }[] }> {
  return (await call(gateway, `GET /api/runs/${String(id)}`)).json();
}

describe('a confirmation', () => {
  it('answered with a field that nobody reads goes on waiting, because it may hold the changed arguments', async () => {
    await using desk = await openDesk([calls(['pay', { amount: 5 }]), says('Paid.')]);
    const { browser, gateway } = desk;
    browser.send(message());
    const asked = await browser.next('confirmation');
    answer(browser, asked, { decision: 'approve', args: { amount: 3 } });
    expect((await browser.next('error')).data).toMatchObject({ message: expect.stringContaining('args') });
    expect(gateway.sent.filter(({ method }) => method === 'POST')).toEqual([]);
    answer(browser, asked, { decision: 'approve', arguments: { amount: 3 } });
    await browser.next('assistant_end');
    expect(gateway.sent.map(({ body }) => body)).toEqual(['{"amount":3}']);
  });

  it('asks the session with tool and arguments, without a token, and the run goes on once it is given [S2-11]', async () => {
    await using desk = await openDesk([calls(['look', {}], ['pay', { amount: 5 }]), says('Paid.')]);
    const { browser, gateway } = desk;
    browser.send(message());
    const asked = await browser.next('confirmation');
    expect(asked.data).toEqual({
      id: expect.stringMatching(/^\w{16,}$/),
      run_id: expect.any(String),
      tool: 'pay',
      params: { amount: 5 },
      title: 'Run pay?',
      message: expect.stringContaining('bank/pay'),
    });
    // The safe one does not wait.
    await waitFor(() => expect(pathsSent(gateway)).toEqual(['/look']));
    await waitFor(async () => expect((await runOf(desk, asked.data['run_id'])).status).toBe('waiting'));
    answer(browser, asked, { decision: 'approve' });
    expect((await browser.next('assistant_end')).data).toMatchObject({ content: 'Paid.', finish_reason: 'stop' });
    expect(pathsSent(gateway)).toEqual(['/look', '/pay']);
    expect(JSON.stringify(browser.frames)).not.toContain('token');
    const { status, events } = await runOf(desk, asked.data['run_id']);
    expect(status).toBe('completed');
    expect(events.filter(({ type }) => type.startsWith('approval')).map(({ type, data }) => [type, data['decision'] ?? null])).toEqual([
      ['approval.request', null],
      ['approval.response', 'approve'],
    ]);
  });

  it.each<[JsonObject, string[], string]>([
    [{ decision: 'reject', message: 'No money.' }, [], 'No money.'],
    [{ decision: 'reject' }, [], 'rejected'],
    [{ decision: 'approve', params: { amount: 3 } }, ['{"amount":3}'], 'paid'],
    // As a decision over HTTP calls them.
    [{ decision: 'approve', arguments: { amount: 3 } }, ['{"amount":3}'], 'paid'],
  ])('that is answered by %j sends %j, and the model reads it', async (fields, bodies, read) => {
    await using desk = await openDesk([pay(), says('So be it.')]);
    desk.browser.send(message());
    answer(desk.browser, await desk.browser.next('confirmation'), fields);
    await desk.browser.next('assistant_end');
    expect(desk.gateway.sent.map(({ body }) => body)).toEqual(bodies);
    expect(lastResults(desk.gateway)).toEqual([expect.stringContaining(read)]);
  });

  it('with arguments that do not fit comes again with the reason and with them, so that they can be corrected', async () => {
    await using desk = await openDesk([pay(), says('Paid 3.')]);
    const { browser, gateway } = desk;
    browser.send(message());
    const first = await browser.next('confirmation');
    answer(browser, first, { decision: 'approve', params: { amount: 'much' } });
    const second = await browser.next('confirmation');
    const error = expect.stringContaining("Invalid arguments for 'pay'") as unknown;
    expect(second.data).toMatchObject({ tool: 'pay', params: { amount: 'much' }, message: error, error });
    expect(second.data['id']).not.toBe(first.data['id']);
    answer(browser, second, { decision: 'approve', params: { amount: 3 } });
    await browser.next('assistant_end');
    expect(gateway.sent.map(({ body }) => body)).toEqual(['{"amount":3}']);
    const { events } = await runOf(desk, second.data['run_id']);
    expect(events.filter(({ type }) => type.startsWith('approval')).map(({ data }) => data['edited'] ?? null)).toEqual([null, true]);
  });

  it('with arguments that never fit is a rejection in the end, which the model reads', async () => {
    await using desk = await openDesk([pay(), says('So be it.')]);
    desk.browser.send(message());
    for (const params of [{ amount: 'much' }, { amount: [] }, { amount: 'more' }])
      answer(desk.browser, await desk.browser.next('confirmation'), { decision: 'approve', params });
    await desk.browser.next('assistant_end');
    expect(desk.gateway.sent).toEqual([]);
    expect(lastResults(desk.gateway)).toEqual([expect.stringContaining('Invalid arguments')]);
    expect(desk.browser.frames.filter(({ type }) => type === 'confirmation')).toHaveLength(3);
  });

  it('that nobody answers expires after APPROVAL_TIMEOUT_MS; the model is told, and a late answer changes nothing', async () => {
    await using desk = await openDesk([pay(), says('Another time.')], { APPROVAL_TIMEOUT_MS: '30' });
    desk.browser.send(message());
    const asked = await desk.browser.next('confirmation');
    await desk.browser.next('confirmation:cancel', ({ data }) => data['id'] === asked.data['id']);
    const { data } = await desk.browser.next('assistant_end');
    answer(desk.browser, asked, { decision: 'approve' });
    expect(data['content']).toBe('Another time.');
    const { events } = await runOf(desk, data['run_id']);
    expect(events.find(({ type }) => type === 'tool.result')?.data).toMatchObject({
      error: { code: 'approval_expired', state: 'not_started' },
    });
    expect(events.find(({ type }) => type === 'approval.response')?.data).toMatchObject({ decision: 'expired' });
    expect(desk.gateway.sent).toEqual([]);
  });

  it('is answered by the session that was asked, once, and by the frame of its kind', async () => {
    await using desk = await openDesk([pay(), says('No.')]);
    const other = await connectFakeBrowser({ url: desk.url });
    desk.browser.send(message());
    const asked = await desk.browser.next('confirmation');
    answer(other, asked, { decision: 'approve' });
    desk.browser.send({ type: 'input:result', data: { id: asked.data['id'] ?? null, decision: 'approve', value: true } });
    answer(desk.browser, asked, { decision: 'perhaps' });
    await desk.browser.next('error');
    answer(desk.browser, asked, { decision: 'reject' });
    answer(desk.browser, asked, { decision: 'approve' });
    await desk.browser.next('assistant_end');
    expect(desk.gateway.sent).toEqual([]);
    other.terminate();
  });

  it('to be remembered holds for the chat', async () => {
    await using desk = await openDesk([pay(), says('1'), pay(), says('2'), pay(), says('3')]);
    const { browser, gateway } = desk;
    browser.send(message({ chat_id: 'one' }));
    answer(browser, await browser.next('confirmation'), { decision: 'approve', remember: true });
    await browser.next('assistant_end');
    browser.send(message({ chat_id: 'one' }));
    await browser.next('assistant_end');
    expect([pathsSent(gateway).length, browser.framesOf('confirmation').length]).toEqual([2, 1]);
    browser.send(message({ chat_id: 'two' }));
    answer(browser, await browser.next('confirmation'), { decision: 'reject' });
    await browser.next('assistant_end');
    expect(pathsSent(gateway)).toHaveLength(2);
  });

  it('goes with its call when that is cancelled, and the run goes on', async () => {
    await using desk = await openDesk([pay(), says('Never mind.')]);
    desk.browser.send(message());
    const asked = await desk.browser.next('confirmation');
    const { events } = await runOf(desk, asked.data['run_id']);
    const callId = String(events.find(({ type }) => type === 'tool.call')?.data['id']);
    await call(desk.gateway, `POST /api/runs/${String(asked.data['run_id'])}/calls/${callId}/cancel`, { payload: {} });
    await desk.browser.next('confirmation:cancel');
    answer(desk.browser, asked, { decision: 'approve' });
    expect((await desk.browser.next('assistant_end')).data).toMatchObject({ content: 'Never mind.' });
    expect(desk.gateway.sent).toEqual([]);
    expect((await runOf(desk, asked.data['run_id'])).status).toBe('completed');
  });

  it('of a chat over HTTP comes to its session; once the browser has gone, the answer brings tokens instead', async () => {
    await using desk = await openDesk([pay(), says('Paid.'), pay(), says('Paid again.')]);
    const { browser, gateway } = desk;
    const session = { session_id: browser.sessionId() };
    const first = askPlainly(gateway, session);
    answer(browser, await browser.next('confirmation'), { decision: 'approve' });
    expect((await first).choices[0]?.message.content).toBe('Paid.');
    const second = askPlainly(gateway, session);
    await browser.next('confirmation');
    browser.terminate();
    const asked = await second;
    expect(asked.approval.calls).toHaveLength(1);
    expect((await decide(gateway, asked)).json<typeof asked>().choices[0]?.message.content).toBe('Paid again.');
    expect(pathsSent(gateway)).toHaveLength(2);
  });

  it('is asked for again when the browser of a chat over the socket is back, such as after a reload', async () => {
    await using desk = await openDesk([pay(), says('Paid.')]);
    desk.browser.send(message());
    const asked = await desk.browser.next('confirmation');
    desk.browser.terminate();
    const back = await connectFakeBrowser({ url: desk.url, auth: { session_id: desk.browser.sessionId() }, waitsForSession: false });
    const again = await back.next('confirmation');
    expect(again.data).toEqual(asked.data);
    answer(back, again, { decision: 'approve' });
    expect((await back.next('assistant_end')).data).toMatchObject({ content: 'Paid.' });
    expect(pathsSent(desk.gateway)).toEqual(['/pay']);
    back.terminate();
  });

  it('of a preset that is a tool within another run comes to the session of the outer one, whose events tell it [S2-17]', async () => {
    const turns = [calls(['payer', { request: 'Pay 5.' }]), pay(), says('I have paid.'), says('Done.')];
    await using desk = await openDesk(turns);
    const { browser, gateway } = desk;
    await call(gateway, 'POST /api/presets', { payload: { id: 'payer', base_model: 'model', tools: ['server:bank'] } });
    browser.send(message({ tool_ids: ['preset:payer'] }));
    const asked = await browser.next('confirmation');
    expect(asked.data).toMatchObject({ tool: 'pay', params: { amount: 5 } });
    await waitFor(async () => expect((await runOf(desk, asked.data['run_id'])).status).toBe('waiting'));
    answer(browser, asked, { decision: 'approve' });
    expect((await browser.next('assistant_end')).data).toMatchObject({ content: 'Done.', run_id: asked.data['run_id'] });
    expect(pathsSent(gateway)).toEqual(['/pay']);
    const { events, status } = await runOf(desk, asked.data['run_id']);
    const told = events.filter(({ type }) => /^(approval\.|tool\.(call|result)$)/.test(type));
    const outer = told[0]?.data['id'];
    const inner = told[1]?.data['id'];
    expect(String(inner).startsWith(`${String(outer)}.`)).toBe(true);
    expect([status, told.map(({ type, data }) => [type, data['tool'], data['id'], data['within']])]).toEqual([
      'completed',
      [
        ['tool.call', 'payer', outer, undefined],
        ['tool.call', 'pay', inner, outer],
        ['approval.request', 'pay', inner, outer],
        ['approval.response', 'pay', inner, outer],
        ['tool.result', 'pay', inner, outer],
        ['tool.result', 'payer', outer, undefined],
      ],
    ]);
  });

  it('within a preset has all the time that a user has: no limit of that call runs meanwhile', async () => {
    const limits = { TOOL_TIMEOUT_MS: '150', TOOL_TOTAL_TIMEOUT_MS: '200', APPROVAL_TIMEOUT_MS: '400' };
    await using desk = await openDesk([calls(['payer', { request: 'Pay 5.' }]), pay(), says('Nobody was there.'), says('Done.')], limits);
    const { browser, gateway } = desk;
    await call(gateway, 'POST /api/presets', { payload: { id: 'payer', base_model: 'model', tools: ['server:bank'] } });
    browser.send(message({ tool_ids: ['preset:payer'] }));
    expect((await browser.next('assistant_end')).data).toMatchObject({ content: 'Done.' });
    expect(lastResults(gateway)).toEqual(['Nobody was there.']);
  });

  it('within a preset goes with that call when it is cancelled, and the run waits for nobody', async () => {
    const { promise: seen, resolve: goOn } = Promise.withResolvers<void>();
    await using desk = await openDesk([calls(['payer', { request: 'Pay 5.' }]), pay(), [seen, ...says('Never mind.')]]);
    const { browser, gateway } = desk;
    await call(gateway, 'POST /api/presets', { payload: { id: 'payer', base_model: 'model', tools: ['server:bank'] } });
    browser.send(message({ tool_ids: ['preset:payer', 'server:bank'] }));
    const { data } = await browser.next('confirmation');
    const runId = String(data['run_id']);
    const outer = (await runOf(desk, runId)).events.find(({ type }) => type === 'tool.call')?.data['id'];
    expect((await call(gateway, `POST /api/runs/${runId}/calls/${String(outer)}/cancel`, { payload: {} })).statusCode).toBe(200);
    await waitFor(() => expect(gateway.model.requests).toHaveLength(3));
    expect((await runOf(desk, runId)).status).toBe('running');
    goOn();
    expect((await browser.next('assistant_end')).data).toMatchObject({ content: 'Never mind.' });
    expect(pathsSent(gateway)).toEqual([]);
  });

  it('within a preset may itself be cancelled, by the id that is shown', async () => {
    await using desk = await openDesk([calls(['payer', { request: 'Pay 5.' }]), pay(), says('Not paid.'), says('Done.')]);
    const { browser, gateway } = desk;
    await call(gateway, 'POST /api/presets', { payload: { id: 'payer', base_model: 'model', tools: ['server:bank'] } });
    browser.send(message({ tool_ids: ['preset:payer'] }));
    const { data } = await browser.next('confirmation');
    const runId = String(data['run_id']);
    const inner = (await runOf(desk, runId)).events.find(({ type }) => type === 'approval.request')?.data['id'];
    expect((await call(gateway, `POST /api/runs/${runId}/calls/${String(inner)}/cancel`, { payload: {} })).statusCode).toBe(200);
    expect((await browser.next('assistant_end')).data).toMatchObject({ content: 'Done.' });
    expect(lastResults(gateway)).toEqual(['Not paid.']);
    expect(pathsSent(gateway)).toEqual([]);
  });
});
