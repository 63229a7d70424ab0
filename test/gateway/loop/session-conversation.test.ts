import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { listen } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import type { FakeBrowser } from '../../_support/fake-browser.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { functionModule } from '../../_support/tools-folder.ts';
import { functionGateway } from '../functions/function-gateway.ts';
import type { FunctionGateway } from '../functions/function-gateway.ts';
import { textOfMessage } from '../gateway.ts';

const parameters = '{ type: "object", properties: { to: {} } }';
const files = {
  'a.js': functionModule('keep', {
    parameters,
    execute: '({ to }, { state, chatId }) => { const old = state.get("v") ?? "nothing"; state.set("v", to); return `${old} in ${chatId}` }',
  }),
  'b.js': functionModule('change', {
    parameters,
    execute:
      'async (_, { updateTools, updateInstructions }) => { await updateTools(["function:keep"]); await updateInstructions("Be a pirate."); }',
  }),
  'c.js': functionModule('go', { parameters, execute: '() => handoff("clerk")', more: 'default: false' }),
  'd.js': functionModule('pay', { parameters, execute: '() => "paid"', more: 'needsApproval: true' }),
};

interface Meeting extends AsyncDisposable {
  gateway: FunctionGateway;
  connect(): Promise<FakeBrowser>;
}

async function meet(...turns: ScriptStep[][]): Promise<Meeting> {
  const gateway = await functionGateway(files, { turns });
  for (const payload of [
    { id: 'clerk', base_model: 'model', tools: [], system: 'You are the clerk.' },
    { id: 'boss', base_model: 'model', tools: ['function:go'] },
  ])
    await gateway.app.server.inject({ method: 'POST', url: '/api/presets', headers: { host: '127.0.0.1' }, payload });
  const url = await listen(gateway.app);
  const browsers: FakeBrowser[] = [];
  return {
    gateway,
    async connect() {
      const browser = await connectFakeBrowser({ url });
      browsers.push(browser);
      return browser;
    },
    async [Symbol.asyncDispose]() {
      for (const browser of browsers) browser.terminate();
      await gateway[Symbol.asyncDispose]();
    },
  };
}

async function say(browser: FakeBrowser, content: string, more: JsonObject = {}): Promise<void> {
  browser.send({ type: 'message', data: { model: 'model', content, ...more } });
  await browser.next('assistant_end');
}

const lastResult = ({ model }: FunctionGateway): string | undefined =>
  model.requests
    .at(-1)
    ?.messages.filter(({ role }) => role === 'tool')
    .map(textOfMessage)
    .at(-1);
const offered = ({ model }: FunctionGateway): string[] => (model.requests.at(-1)?.tools ?? []).map(({ name }) => name);

describe.each([
  ['with a chat_id', { chat_id: 'c' }],
  ['of a session without a chat_id', {}],
])('a conversation %s', (_, more) => {
  it('keeps the state of functions, and no other conversation sees it [S3-18, S1-7]', async () => {
    const turn = [calls(['keep', { to: 'apple' }]), says('ok')];
    await using meeting = await meet(...turn, ...turn, ...turn);
    const { gateway } = meeting;
    const browser = await meeting.connect();
    await say(browser, 'first', more);
    await say(browser, 'second', more);
    expect(lastResult(gateway)).toBe(`apple in ${'chat_id' in more ? 'c' : 'undefined'}`);
    await say(await meeting.connect(), 'first', 'chat_id' in more ? { chat_id: 'another' } : {});
    expect(lastResult(gateway)).toMatch(/^nothing/);
  });

  it('keeps changed tools and instructions [S3-15, S1-7]', async () => {
    await using meeting = await meet(calls(['change', {}]), says('ok'), says('Arr'), says('Hello'));
    const { gateway } = meeting;
    const browser = await meeting.connect();
    await say(browser, 'first', more);
    await say(browser, 'second', more);
    expect(offered(gateway)).toEqual(['keep']);
    expect(gateway.model.requests.at(-1)?.messages.map(textOfMessage)[0]).toBe('Be a pirate.');
    await say(await meeting.connect(), 'first', 'chat_id' in more ? { chat_id: 'another' } : {});
    expect(offered(gateway)).toContain('change');
  });

  it('continues under the preset that took it over [S3-16, S1-7]', async () => {
    await using meeting = await meet(calls(['go', {}]), says('I am the clerk.'), says('Still the clerk.'));
    const { gateway } = meeting;
    const browser = await meeting.connect();
    await say(browser, 'first', { ...more, model: 'boss' });
    await say(browser, 'second', { ...more, model: 'boss' });
    const read = gateway.model.requests.at(-1)?.messages.map(textOfMessage);
    expect(read).toEqual(['You are the clerk.', expect.stringContaining('first'), 'I am the clerk.', 'second']);
  });

  it('asks once for a call whose approval is remembered [S2-11, S1-7]', async () => {
    const turn = [calls(['pay', {}]), says('ok')];
    await using meeting = await meet(...turn, ...turn);
    const browser = await meeting.connect();
    browser.send({ type: 'message', data: { model: 'model', content: 'first', ...more } });
    const { data } = await browser.next('confirmation');
    browser.send({ type: 'confirmation:result', data: { id: data['id'] ?? null, decision: 'approve', remember: true } });
    await browser.next('assistant_end');
    await say(browser, 'second', more);
    expect(lastResult(meeting.gateway)).toBe('paid');
    expect(browser.framesOf('confirmation')).toHaveLength(1);
  });
});

it('a chat whose chat_id is written like a session is no part of its conversation', async () => {
  const turn = [calls(['keep', { to: 'apple' }]), says('ok')];
  await using meeting = await meet(...turn, ...turn, ...turn);
  const browser = await meeting.connect();
  await say(browser, 'first');
  for (const chatId of [`session:${browser.sessionId()}`, `chat:session:${browser.sessionId()}`]) {
    await meeting.gateway.ask({ chat_id: chatId });
    expect(lastResult(meeting.gateway)).toMatch(/^nothing/);
  }
});

it('a chat over HTTP that names the session is no part of its conversation', async () => {
  const turn = [calls(['keep', { to: 'apple' }]), says('ok')];
  await using meeting = await meet(...turn, ...turn);
  const browser = await meeting.connect();
  await say(browser, 'first');
  await meeting.gateway.ask({ session_id: browser.sessionId() });
  expect(lastResult(meeting.gateway)).toMatch(/^nothing/);
});
