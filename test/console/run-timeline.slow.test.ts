import type { Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import type { JsonObject } from '../../src/shared/json/json.ts';
import { listen } from '../_support/build-app.ts';
import { closePages, describeInChromium, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import type { WatchedPage } from '../_support/chromium.ts';
import { calls, says } from '../_support/scripted-model.ts';
import type { ScriptStep } from '../_support/scripted-model.ts';
import { askPlainly, bank, bankAnswers, call } from '../gateway/approvals/approval-fixture.ts';
import { gatewayOf, selects, serverOf } from '../gateway/gateway.ts';
import type { Gateway, GatewayOptions } from '../gateway/gateway.ts';
import { documentWith } from '../tools/scripted-send.ts';

afterAll(closePages);

const usage: ScriptStep = { type: 'usage', usage: { prompt_tokens: 340, completion_tokens: 25, total_tokens: 365 } };
const clock = serverOf('clock', documentWith('now', 'later'));
const answers = { 'http://clock.test/now': { time: '12:00' }, ...bankAnswers };

const gatewayWith = (options: GatewayOptions): Promise<Gateway> => gatewayOf({ servers: [clock, bank], answers, ...options });

/** The page of the latest run. */
async function openRun(gateway: Gateway, url: string): Promise<WatchedPage> {
  const { data } = (await gateway.get('/api/runs?limit=1')).json<{ data: { id: string }[] }>();
  const it = await openPage(url, { path: `/console/runs/${data[0]?.id}` });
  await it.page.locator('.run-step').first().waitFor();
  return it;
}

/** The steps in words, a line each. */
const stepsIn = (page: Page): Promise<string[]> =>
  page.locator('.run-step').evaluateAll((steps) => steps.map((step) => (step as HTMLElement).innerText.replaceAll(/\s+/g, ' ').trim()));

const closed = async (page: Page): Promise<void> => {
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
};

describeInChromium('the timeline of a run', () => {
  it('has a request, its native call and the answer, in words that need no documentation', async () => {
    await using gateway = await gatewayWith({ turns: [[usage, ...calls(['now', { city: 'Osaka' }])], says('Noon.')] });
    const url = await listen(gateway.app);
    await gateway.ask();
    await using it = await openRun(gateway, url);
    const [begin, request, call, answer, end] = await stepsIn(it.page);
    expect(begin).toContain('The model calls functions itself. 5 functions offered.');
    expect(request).toMatch(/^Ask the model 340 in, 25 out Round 1 of at most 10\. 5 functions offered\. .*→ 1 call/);
    expect(call).toMatch(/^now clock \{"city":"Osaka"\} → \{"time":"12:00"\}/);
    expect(answer).toContain('5 characters');
    expect(end).toContain('End: completed');
    await it.page.getByRole('button', { name: /^now/ }).click();
    const dialog = it.page.getByRole('dialog');
    await dialog.getByText('Arguments from the model').waitFor();
    await dialog.getByText('Result, 16 B').waitFor();
    await dialog.getByText('Raw events').click();
    await dialog.getByText('tool.result', { exact: true }).waitFor();
    await dialog.getByRole('button', { name: 'Previous step' }).click();
    await dialog.getByText('Time to first token').waitFor();
    await dialog.getByText('Tokens in').waitFor();
    await closed(it.page);
    await it.page.getByLabel('Steps to show').selectOption('raw');
    await it.page.getByText('model.response').first().waitFor();
    await it.page.getByRole('button', { name: 'Copy run as JSON' }).click();
    const copied = JSON.parse(await it.page.evaluate(() => navigator.clipboard.readText())) as { events: { type: string }[] };
    expect(copied.events[0]?.type).toBe('run.start');
    expect(it.faults).toEqual([]);
  });

  it('says what was chosen by a prompt, what was left out, and why', async () => {
    const turns = [selects(['now', {}], ['invented', {}]), says('Noon.')];
    await using gateway = await gatewayWith({ turns });
    const url = await listen(gateway.app);
    await gateway.ask({ params: { function_calling: 'default' } });
    await using it = await openRun(gateway, url);
    const steps = await stepsIn(it.page);
    expect(steps[0]).toContain('A prompt asks the model which functions to call');
    expect(steps[1]).toMatch(/^Ask what to call/);
    expect(steps[2]).toMatch(/^Selected: now .*Dropped: invented \(no such function is offered\)/);
    await it.page.getByRole('button', { name: /^Selected: now/ }).click();
    await it.page.getByRole('dialog').getByText('What time is it?').waitFor();
    expect(it.faults).toEqual([]);
  });

  it('shows who was waited for, and the arguments that a person changed', async () => {
    await using gateway = await gatewayWith({ turns: [calls(['pay', { amount: 5 }]), says('Paid.')] });
    const url = await listen(gateway.app);
    const { approval } = await askPlainly(gateway);
    await using waiting = await openRun(gateway, url);
    expect((await stepsIn(waiting.page)).find((step) => step.startsWith('pay'))).toContain('needs approval');
    const panel = waiting.page.getByRole('region', { name: 'Waiting for input' });
    await panel.getByText('pay is waiting for approval').waitFor();
    await panel.getByRole('group', { name: 'Arguments to approve' }).getByText('5', { exact: true }).waitFor();
    expect(await panel.getByRole('button', { name: 'Approve' }).count()).toBe(0);
    expect(await findFaultsInAllLooks(waiting.page)).toEqual([]);
    const path = `POST /api/runs/${approval.run_id}/approvals/${approval.calls[0]?.id}`;
    const payload = { decision: 'approve', token: approval.token, arguments: { amount: 3 } };
    expect((await call(gateway, path, { payload })).statusCode).toBe(200);
    // The page that is open goes on by itself.
    await waiting.page.getByText('End: completed').waitFor();
    expect(await panel.count()).toBe(0);
    expect((await stepsIn(waiting.page)).find((step) => step.startsWith('pay'))).toMatch(/approved with changes {"amount":3} →/);
    await waiting.page.getByRole('button', { name: /^pay/ }).click();
    const dialog = waiting.page.getByRole('dialog');
    await dialog.getByRole('group', { name: 'Approved arguments' }).getByText('3', { exact: true }).waitFor();
    await dialog.getByRole('group', { name: 'Arguments', exact: true }).getByText('5', { exact: true }).waitFor();
    await dialog.getByText(/^approval /).waitFor();
    expect(waiting.faults).toEqual([]);
  });

  it('shows errors with their cure, and what is known of a call that failed', async () => {
    await using gateway = await gatewayWith({ turns: [calls(['later', {}]), says('It failed.')] });
    const url = await listen(gateway.app);
    await gateway.ask();
    await using it = await openRun(gateway, url);
    const failing = (await stepsIn(it.page)).find((step) => step.startsWith('later')) ?? '';
    expect(failing).toContain('tool_error');
    await it.page.getByLabel('Steps to show').selectOption('problem');
    expect(await stepsIn(it.page)).toEqual([failing]);
    await it.page.getByRole('button', { name: /^later/ }).click();
    await it.page.getByRole('dialog').locator('.problem').getByText('tool_error').waitFor();
    expect(await findFaultsInAllLooks(it.page)).toEqual([]);
    expect(it.faults).toEqual([]);
  });

  it('shows the limit that ended the calls, and the request that follows from it', async () => {
    await using gateway = await gatewayWith({ turns: [calls(['now', {}]), says('Enough.')] });
    const url = await listen(gateway.app);
    await gateway.ask({ params: { max_tool_rounds: 1 } });
    await using it = await openRun(gateway, url);
    const steps = await stepsIn(it.page);
    expect(steps.find((step) => step.startsWith('Limit reached'))).toContain('The limit for rounds of calls per answer is 1.');
    expect(steps.find((step) => step.startsWith('Ask for the answer'))).toContain('The last round is over');
  });

  it('nests what an assistant did that was called as a tool', async () => {
    const turns = [calls(['scribe', { request: 'When?' }]), calls(['now', {}]), says('Noon.'), says('He says noon.')];
    await using gateway = await gatewayWith({ turns });
    const payload = { id: 'scribe', name: 'Scribe', base_model: 'model', description: 'Knows the time', tools: ['server:clock'] };
    await call(gateway, 'POST /api/presets', { payload });
    const url = await listen(gateway.app);
    await gateway.ask({ tool_ids: ['preset:scribe'] });
    await using it = await openRun(gateway, url);
    const depths = await it.page
      .locator('.run-step')
      .evaluateAll((steps) =>
        steps.map((step) => `${/depth-(\d)/.exec(step.className)?.[1]} ${step.querySelector('.run-step-title')?.firstChild?.textContent}`),
      );
    expect(depths).toEqual([
      '0 Start',
      '0 Ask the model',
      '0 scribe',
      '1 Ask the model',
      '1 now',
      '1 Ask the model',
      '0 Ask the model',
      '0 End: completed',
    ]);
  });

  it('keeps hostile names, results and errors as text', async () => {
    const hostile = '<img src=x onerror="document.title=\'taken\'">';
    await using gateway = await gatewayWith({ turns: [calls([hostile, { note: hostile }]), says('Hm.')] });
    const url = await listen(gateway.app);
    await gateway.ask();
    await using it = await openRun(gateway, url);
    await it.page.getByRole('button', { name: new RegExp('^<img') }).click();
    await it.page.getByRole('dialog').getByText('Arguments from the model').waitFor();
    expect(await it.page.locator('main img, dialog img').count()).toBe(0);
    expect(await it.page.title()).not.toBe('taken');
    expect(it.faults).toEqual([]);
    expect(it.foreign).toEqual([]);
  });

  it('grows while the run goes on, and the run can be cancelled from there', async () => {
    const gate = Promise.withResolvers<void>();
    await using gateway = await gatewayWith({ turns: [calls(['now', {}]), [gate.promise, ...says('Never.')]] });
    const url = await listen(gateway.app);
    const asked = gateway.ask();
    await expect.poll(async () => (await gateway.get('/api/runs?status=running')).json<{ data: JsonObject[] }>().data.length).toBe(1);
    await using it = await openRun(gateway, url);
    await it.page.locator('.run-step-time').getByText('running').first().waitFor();
    await it.page.getByRole('button', { name: 'Cancel' }).click();
    await it.page.getByText('End: cancelled').waitFor();
    await it.page.getByText('run_cancelled').first().waitFor();
    expect(await it.page.getByRole('button', { name: 'Cancel', exact: true }).count()).toBe(0);
    gate.resolve();
    await asked;
  });

  it('says that a run is not there, and does not ask again', async () => {
    await using gateway = await gatewayWith({ turns: [] });
    const url = await listen(gateway.app);
    await using it = await openPage(url);
    let asked = 0;
    it.page.on('request', (request) => (asked += request.url().endsWith('/api/runs/gone') ? 1 : 0));
    await it.page.clock.install();
    await it.page.goto(`${url}/console/runs/gone`);
    await it.page.getByText('There is no run gone. Runs are kept for 24 hours.').waitFor();
    await it.page.clock.runFor(60_000);
    expect(asked).toBe(1);
    await it.page.getByRole('button', { name: 'Try again' }).click();
    await expect.poll(() => asked).toBe(2);
  });

  it('can be read with the keyboard alone', async () => {
    await using gateway = await gatewayWith({ turns: [calls(['now', {}]), says('Noon.')] });
    const url = await listen(gateway.app);
    await gateway.ask();
    await using it = await openRun(gateway, url);
    const { page } = it;
    const isOn = (name: RegExp): Promise<boolean> =>
      page.evaluate((text) => new RegExp(text).test(document.activeElement?.textContent ?? ''), name.source);
    for (let presses = 0; presses < 40 && !(await isOn(/^nowclock/)); presses += 1) await page.keyboard.press('Tab');
    expect(await isOn(/^nowclock/)).toBe(true);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByText('Tool server').waitFor();
    await closed(page);
    expect(await isOn(/^nowclock/)).toBe(true);
    await page.keyboard.press('ArrowUp');
    expect(await isOn(/^Ask the model/)).toBe(true);
    for (let presses = 0; presses < 9; presses += 1) await page.keyboard.press('ArrowDown');
    expect(await isOn(/^End: completed/)).toBe(true);
    expect(await findFaultsInAllLooks(page)).toEqual([]);
  });
});
