import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { listen } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import type { FakeBrowser } from '../../_support/fake-browser.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { functionModule } from '../../_support/tools-folder.ts';
import { functionGateway } from '../functions/function-gateway.ts';
import type { FunctionGateway } from '../functions/function-gateway.ts';
import { askPlainly, lastResults } from './approval-fixture.ts';

interface Desk extends AsyncDisposable {
  gateway: FunctionGateway;
  browser: FakeBrowser;
}

/** A gateway with the function `work`, and a browser that has asked for it. */
async function openDesk(execute: string, environment: NodeJS.ProcessEnv = {}): Promise<Desk> {
  const turns = [calls(['work', {}]), says('Done.')];
  const gateway = await functionGateway({ 'work.js': functionModule('work', { execute }) }, { turns, environment });
  const browser = await connectFakeBrowser({ url: await listen(gateway.app) });
  return {
    gateway,
    browser,
    async [Symbol.asyncDispose]() {
      browser.terminate();
      await gateway[Symbol.asyncDispose]();
    },
  };
}

const schema = `{ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }`;
const asking = `async (args, context) => ({ got: (await context.ask('Where to?', { message: 'A city.', schema: ${schema} })) ?? 'nothing' })`;
const start: JsonObject = { type: 'message', data: { content: 'Go.', model: 'model' } };

describe('a function that asks its user', () => {
  it.each<[JsonObject, string]>([
    [{ value: { city: 'Rome' } }, '"city": "Rome"'],
    [{ cancelled: true }, '"got": "nothing"'],
    [{ value: { city: 5 } }, 'does not match the requested schema'],
    [{ value: 'Rome' }, 'does not match the requested schema'],
  ])('gets %j from the frame `input`, and the model reads %s', async (answer, read) => {
    await using desk = await openDesk(asking);
    desk.browser.send(start);
    const asked = await desk.browser.next('input');
    expect(asked.data).toEqual({
      id: expect.any(String),
      run_id: expect.any(String),
      title: 'Where to?',
      message: 'A city.',
      schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    });
    desk.browser.send({ type: 'input:result', data: { id: asked.data['id'] ?? null, ...answer } });
    await desk.browser.next('assistant_end');
    expect(lastResults(desk.gateway)).toEqual([expect.stringContaining(read)]);
  });

  it.each([
    ['approve', 'true'],
    ['reject', 'false'],
  ])('by confirm is told %s as %s', async (decision, read) => {
    await using desk = await openDesk(`(args, context) => context.confirm('Sure?', 'Really?')`);
    desk.browser.send(start);
    const asked = await desk.browser.next('confirmation');
    expect(asked.data).toMatchObject({ tool: 'work', params: {}, title: 'Sure?', message: 'Really?' });
    desk.browser.send({ type: 'confirmation:result', data: { id: asked.data['id'] ?? null, decision } });
    await desk.browser.next('assistant_end');
    expect(lastResults(desk.gateway)).toEqual([read]);
  });

  it('gets nothing, and no answer is a no, when the user does not answer in time', async () => {
    await using desk = await openDesk(`async (args, context) => [await context.ask('a') ?? null, await context.confirm('b')]`, {
      APPROVAL_TIMEOUT_MS: '20',
    });
    desk.browser.send(start);
    await desk.browser.next('input:cancel');
    await desk.browser.next('confirmation:cancel');
    await desk.browser.next('assistant_end');
    expect(JSON.parse(String(lastResults(desk.gateway)[0]))).toEqual([null, false]);
  });

  it('fails with client_disconnected when the browser goes, and a socket that comes later cannot answer', async () => {
    await using desk = await openDesk(asking);
    const answer = askPlainly(desk.gateway, { session_id: desk.browser.sessionId() });
    await desk.browser.next('input');
    desk.browser.terminate();
    await answer;
    expect(lastResults(desk.gateway)).toEqual([expect.stringContaining('disconnected')]);
  });

  it('fails with client_unavailable where there is no session', async () => {
    await using desk = await openDesk(asking);
    const seen = await desk.gateway.ask();
    expect(seen.eventsOf('tool.result')).toMatchObject([{ error: { code: 'client_unavailable' } }]);
    const invoked = await desk.gateway.invoke('function:work');
    expect(invoked.body).toMatchObject({ error: { code: 'client_unavailable' } });
  });
});
