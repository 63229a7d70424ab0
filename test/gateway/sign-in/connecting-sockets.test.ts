import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { listen } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import type { FakeBrowser } from '../../_support/fake-browser.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import type { Gateway } from '../gateway.ts';
import { call, lastResults, pathsSent } from '../approvals/approval-fixture.ts';
import { connect, connectingGateway, resume } from './connecting-fixture.ts';
import type { AskedToConnect } from './connecting-fixture.ts';
import { waitFor } from '../../_support/wait-for.ts';

interface Desk extends AsyncDisposable {
  gateway: Gateway;
  browser: FakeBrowser;
  url: string;
}

async function openDesk(turns: ScriptStep[][], environment: NodeJS.ProcessEnv = {}): Promise<Desk> {
  const gateway = await connectingGateway(turns, environment);
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

const message = (fields: JsonObject = {}): JsonObject => ({ type: 'message', data: { content: 'Send it', model: 'model', ...fields } });
const send = calls(['send', { to: 'bob' }]);
const outcomesIn = ({ browser }: Desk): unknown[] =>
  browser.frames
    .filter(({ type, data }) => type === 'event' && data['type'] === 'connect.response')
    .map(({ data }) => (data['data'] as JsonObject)['outcome']);

describe('a session whose chat needs a server of its person', () => {
  it('gets the link, and the chat goes on by itself once they have connected [credentials]', async () => {
    await using desk = await openDesk([calls(['look', {}], ['send', { to: 'bob' }]), says('Sent.')]);
    const { browser, gateway, url } = desk;
    browser.send(message());
    const { data } = await browser.next('connect');
    expect(data).toEqual({
      id: expect.stringMatching(/^\w{16,}$/),
      run_id: expect.any(String),
      server: 'mail',
      name: 'Mail',
      url: expect.stringMatching(new RegExp(String.raw`^${url}/connect/[\w-]{43}$`)),
      title: 'Connect to Mail?',
      message: expect.stringContaining('Mail'),
    });
    await waitFor(() => expect(pathsSent(gateway)).toEqual(['/look']));
    const run = await call(gateway, `GET /api/runs/${String(data['run_id'])}`);
    expect(run.json()).toMatchObject({ status: 'waiting' });
    await connect(gateway);
    expect((await browser.next('assistant_end')).data).toMatchObject({ content: 'Sent.', finish_reason: 'stop' });
    expect((await browser.next('connect:cancel')).data).toEqual({ id: data['id'] });
    expect(gateway.sent.at(-1)?.headers?.['authorization']).toBe('Bearer CANARY-key');
    expect(outcomesIn(desk)).toEqual(['connected']);
    expect(JSON.stringify(browser.frames)).not.toContain('CANARY');
  });

  it('gets one link for all calls that need the same server', async () => {
    await using desk = await openDesk([calls(['send', { to: 'a' }], ['plan', {}], ['send', { to: 'b' }]), says('Done.')]);
    desk.browser.send(message());
    const first = await desk.browser.next('connect');
    const second = await desk.browser.next('connect');
    expect(new Set([first.data['server'], second.data['server']])).toEqual(new Set(['calendar', 'mail']));
    await connect(desk.gateway);
    await connect(desk.gateway, 'calendar');
    await desk.browser.next('assistant_end');
    expect(pathsSent(desk.gateway)).toEqual(['/send', '/plan', '/send']);
    expect(desk.browser.frames.filter(({ type }) => type === 'connect')).toHaveLength(2);
  });

  it('is asked for the approval of the call only when it has connected', async () => {
    await using desk = await openDesk([calls(['remove', { id: '1' }]), says('Removed.')]);
    desk.browser.send(message());
    await desk.browser.next('connect');
    await connect(desk.gateway);
    const { data } = await desk.browser.next('confirmation');
    desk.browser.send({ type: 'confirmation:result', data: { id: data['id'] ?? null, decision: 'approve', params: { id: '2' } } });
    await desk.browser.next('assistant_end');
    expect(desk.gateway.sent.map(({ body }) => body)).toEqual(['{"id":"2"}']);
  });

  it.each<[string, (desk: Desk, id: string) => void, NodeJS.ProcessEnv, string, string]>([
    [
      'says no',
      ({ browser }, id) => browser.send({ type: 'connect:result', data: { id, cancelled: true } }),
      {},
      'cancelled',
      'does not want to connect',
    ],
    ['does nothing', () => undefined, { APPROVAL_TIMEOUT_MS: '50' }, 'expired', 'within 0.05s'],
    [
      'only says that it read it',
      ({ browser }, id) => browser.send({ type: 'connect:result', data: { id } }),
      { APPROVAL_TIMEOUT_MS: '300' },
      'expired',
      'within 0.3s',
    ],
  ])('that %s gets an answer without the call', async (_what, act, environment, outcome, read) => {
    await using desk = await openDesk([send, says('So be it.')], environment);
    desk.browser.send(message());
    const { data } = await desk.browser.next('connect');
    act(desk, String(data['id']));
    expect((await desk.browser.next('assistant_end')).data).toMatchObject({ content: 'So be it.' });
    expect(lastResults(desk.gateway)).toEqual([expect.stringContaining(read)]);
    expect(outcomesIn(desk)).toEqual([outcome]);
    expect(desk.gateway.sent).toEqual([]);
  });

  it('of somebody else cannot answer, and connecting somebody else changes nothing', async () => {
    const key = 'sk-tw-fixed-administrator';
    await using gateway = await connectingGateway([send, says('Sent.')], { TOOLWHARF_ADMIN_KEY: key });
    const made = await call(gateway, 'POST /api/keys', { key, payload: { name: 'other', role: 'user' } });
    const other = made.json<{ key: string }>().key;
    const url = await listen(gateway.app);
    const browser = await connectFakeBrowser({ url, token: key });
    const stranger = await connectFakeBrowser({ url, token: other });
    browser.send(message());
    const { data } = await browser.next('connect');
    stranger.send({ type: 'connect:result', data: { id: data['id'] ?? null, cancelled: true } });
    await connect(gateway, 'mail', other);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(gateway.sent).toEqual([]);
    await connect(gateway, 'mail', key);
    await browser.next('assistant_end');
    expect(pathsSent(gateway)).toEqual(['/send']);
    browser.terminate();
    stranger.terminate();
  });

  it('that leaves while its HTTP chat waits has the run put aside instead', async () => {
    await using desk = await openDesk([send, says('Sent.')]);
    const payload = { model: 'model', session_id: desk.browser.sessionId(), messages: [{ role: 'user', content: 'Send it' }] };
    const asking = call(desk.gateway, 'POST /v1/chat/completions', { payload });
    await desk.browser.next('connect');
    desk.browser.terminate();
    const { connect: wait } = (await asking).json<AskedToConnect>();
    await connect(desk.gateway);
    expect((await resume(desk.gateway, wait)).json()).toMatchObject({ choices: [{ message: { content: 'Sent.' } }] });
  });

  it('that cancels the chat leaves nothing that waits', async () => {
    await using desk = await openDesk([send, says('Sent.')]);
    desk.browser.send(message());
    const { data } = await desk.browser.next('connect');
    desk.browser.send({ type: 'cancel', data: { run_id: data['run_id'] ?? null } });
    expect((await desk.browser.next('assistant_end')).data).toMatchObject({ finish_reason: 'cancelled' });
    await connect(desk.gateway);
    expect(desk.gateway.sent).toEqual([]);
  });
});
