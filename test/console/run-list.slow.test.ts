import type { Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import type { RunSummary } from '../../src/console/api/api-types.ts';
import { closePages, describeInChromium, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import { listen } from '../_support/build-app.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import { calls, says } from '../_support/scripted-model.ts';
import { gatewayOf, serverOf } from '../gateway/gateway.ts';
import type { Gateway } from '../gateway/gateway.ts';
import { documentWith } from '../tools/scripted-send.ts';

afterAll(closePages);

const clock = serverOf('clock', documentWith('now', 'later'));
const answers = { 'http://clock.test/now': { time: '12:00' } };

/** Three runs: one that called `now`, one in which `later` failed, and one without calls. */
async function busyGateway(): Promise<Gateway> {
  const turns = [calls(['now', {}]), says('Noon.'), calls(['later', {}]), says('Later.'), says('Hello.')];
  const gateway = await gatewayOf({ turns, servers: [clock], answers });
  for (let index = 0; index < 3; index += 1) await gateway.ask();
  return gateway;
}

const rowsOf = (page: Page) => page.locator('.runs tbody tr');
async function shows(page: Page, count: number): Promise<void> {
  await expect.poll(() => rowsOf(page).count()).toBe(count);
}

/** Runs as the gateway would list them, for what takes too long to bring about. */
function madeUp(count: number, fields: Partial<RunSummary> = {}): RunSummary[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `run-${index}`,
    status: 'completed',
    model: `model-${index}`,
    mode: 'native',
    created: new Date(Date.now() - 1_000 * index).toISOString(),
    finished: new Date().toISOString(),
    usage: null,
    ...fields,
  }));
}

describeInChromium('the list of runs', () => {
  it('is narrowed by its address, which the controls write, and the way back leads through', async () => {
    await using gateway = await busyGateway();
    const url = await listen(gateway.app);
    await using it = await openPage(url, { path: '/console/runs' });
    const { page } = it;
    await shows(page, 3);
    await page.getByLabel('With errors').check();
    await shows(page, 1);
    expect(new URL(page.url()).search).toBe('?errors=true');
    await rowsOf(page).getByText('1 error').waitFor();
    await page.getByText('More filters').click();
    await page.getByLabel('Function').fill('now');
    await page.getByLabel('Function').press('Enter');
    await page.getByText('No matching runs.').waitFor();
    await page.goBack();
    await shows(page, 1);
    await page.goBack();
    await shows(page, 3);
    await page.goto(`${url}/console/runs?tool=now&server=clock&status=completed&period=1h`);
    await shows(page, 1);
    expect(await page.getByLabel('Function').inputValue()).toBe('now');
    expect(await page.getByLabel('Status').inputValue()).toBe('completed');
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await shows(page, 3);
    expect(it.faults).toEqual([]);
  });

  it('leads from a run back to the list as it was', async () => {
    await using gateway = await busyGateway();
    const url = await listen(gateway.app);
    await using it = await openPage(url, { path: '/console/runs?tool=now' });
    await it.page.getByRole('main').getByRole('link', { name: 'model', exact: true }).click();
    await it.page.locator('.run-step').first().waitFor();
    await it.page.getByRole('main').getByRole('link', { name: 'Runs' }).click();
    await shows(it.page, 1);
    expect(new URL(it.page.url()).search).toBe('?tool=now');
  });

  it('gets new runs on top without moving what is read, and without taking the focus', async () => {
    await using gateway = await freshGateway();
    let runs = madeUp(40);
    await using it = await openPage(gateway.url);
    const { page } = it;
    await page.route('**/api/runs?*', (route) => route.fulfill({ json: { data: runs, next: null } }));
    await page.goto(`${gateway.url}/console/runs`);
    const read = page.getByRole('link', { name: 'model-25', exact: true });
    await read.focus();
    await read.evaluate((link) => link.scrollIntoView({ block: 'center' }));
    const topOf = (): Promise<number> => read.evaluate((link) => Math.round(link.getBoundingClientRect().top));
    const before = await topOf();
    runs = [...madeUp(3, { model: 'newest' }).map((run) => ({ ...run, id: `new-${run.id}` })), ...runs];
    await shows(page, 43);
    expect(await rowsOf(page).first().textContent()).toContain('newest');
    expect(Math.abs((await topOf()) - before)).toBeLessThan(4);
    expect(await read.evaluate((link) => link === document.activeElement)).toBe(true);
    expect(await page.evaluate(() => document.querySelectorAll('*').length)).toBeLessThan(2_000);
  });

  it('says what a running run does, and ends it', async () => {
    const gate = Promise.withResolvers<void>();
    await using gateway = await gatewayOf({ turns: [[gate.promise, ...says('Never.')]], servers: [clock], answers });
    const url = await listen(gateway.app);
    const asked = gateway.ask();
    await using it = await openPage(url, { path: '/console/runs' });
    const { page } = it;
    await page.getByText('asking the model').waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await page.getByRole('button', { name: 'Cancel run of model' }).click();
    await rowsOf(page).getByText('cancelled', { exact: true }).waitFor();
    gate.resolve();
    await asked;
  });

  it('stays while the gateway does not answer, says so, and goes on when it does', async () => {
    await using gateway = await busyGateway();
    const url = await listen(gateway.app);
    await using it = await openPage(url, { path: '/console/runs' });
    const { page } = it;
    await shows(page, 3);
    await page.route('**/api/runs?*', (route) => route.abort());
    await page.getByText('The gateway is not responding.').waitFor();
    expect(await rowsOf(page).count()).toBe(3);
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await page.unroute('**/api/runs?*');
    await page.getByText('The gateway is not responding.').waitFor({ state: 'detached' });
  });

  it('asks nothing while it is paused or cannot be seen, and at once when it can', async () => {
    await using gateway = await busyGateway();
    const url = await listen(gateway.app);
    await using it = await openPage(url, { path: '/console/runs' });
    const { page } = it;
    await shows(page, 3);
    const show = (state: string): Promise<void> =>
      page.evaluate((visibility) => {
        Object.defineProperty(document, 'visibilityState', { value: visibility, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
      }, state);
    let asked = 0;
    await page.clock.install();
    await show('hidden');
    page.on('request', (request) => (asked += request.url().includes('/api/runs?') ? 1 : 0));
    await page.clock.runFor(60_000);
    expect(asked).toBe(0);
    await show('visible');
    await expect.poll(() => asked).toBe(1);
    await page.getByRole('button', { name: 'Pause' }).click();
    await expect.poll(() => asked).toBe(2);
    await page.clock.runFor(60_000);
    expect(asked).toBe(2);
  });

  it('calls keys and people by their names', async () => {
    const adminKey = 'sk-tw-administrator';
    await using gateway = await freshGateway({ TOOLWHARF_ADMIN_KEY: adminKey });
    const post = async (path: string, body: object, headers: Record<string, string>): Promise<Record<string, unknown>> => {
      const options = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
      return (await (await fetch(gateway.url + path, options)).json()) as Record<string, unknown>;
    };
    const users = { from: 'header', name: 'x-user', name_header: 'x-name' };
    const made = await post('/api/keys', { name: 'Open WebUI', role: 'user', users }, { 'x-api-key': adminKey });
    const question = { model: 'demo', messages: [{ role: 'user', content: 'Hello' }] };
    const frontend = { 'x-api-key': String(made['key']) };
    await post('/v1/chat/completions', question, { ...frontend, 'x-user': '1', 'x-name': 'Ada' });
    await post('/v1/chat/completions', question, { ...frontend, 'x-user': '2' });
    await using it = await openPage(gateway.url, { path: `/console/runs#key=${adminKey}` });
    const { page } = it;
    await shows(page, 2);
    await rowsOf(page).getByText('Ada, Open WebUI').waitFor();
    await rowsOf(page).getByText('2, Open WebUI').waitFor();
    await page.getByText('More filters').click();
    const suggested = page.locator('datalist option', { hasText: 'Ada, Open WebUI' });
    expect(await suggested.getAttribute('value')).toBe(`${String(made['id'])}/1`);
    await rowsOf(page).filter({ hasText: 'Ada, Open WebUI' }).getByRole('link', { name: 'demo' }).click();
    await page.locator('.run-facts').getByText('Ada, Open WebUI').waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    // Not by somebody who sees no names.
    const asked: string[] = [];
    await using other = await openPage(gateway.url);
    other.page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await other.page.goto(
      `${gateway.url}/console/runs#key=${String((await post('/api/keys', { name: 'Bob', role: 'user' }, { 'x-api-key': adminKey }))['key'])}`,
    );
    await other.page.getByText('No runs yet').waitFor();
    expect(asked).not.toContain('/api/users');
    expect([...it.faults, ...other.faults]).toEqual([]);
  });

  it('keeps hostile names and errors as text, and looks well with them', async () => {
    await using gateway = await freshGateway();
    const hostile = `<img src=x onerror="document.title='taken'">${'W'.repeat(200)}`;
    const error = { code: 'internal_error', message: hostile };
    const runs = [
      ...madeUp(1, { model: hostile, tools: [hostile], status: 'failed', error, caller: hostile }),
      ...madeUp(1, { id: 'b', model: '', tools: [hostile] }),
    ];
    await using it = await openPage(gateway.url);
    await it.page.route('**/api/runs?*', (route) => route.fulfill({ json: { data: runs, next: '1.a' } }));
    await it.page.goto(`${gateway.url}/console/runs`);
    await rowsOf(it.page).getByText(hostile).first().waitFor();
    expect(await it.page.locator('main img').count()).toBe(0);
    expect(await findFaultsInAllLooks(it.page)).toEqual([]);
    expect(it.faults).toEqual([]);
  });

  it('leads on to older runs and back to the newest, and says where none of a thousand is meant', async () => {
    await using gateway = await freshGateway();
    await using it = await openPage(gateway.url);
    const { page } = it;
    await page.route('**/api/runs?*', (route) => {
      const isSecond = new URL(route.request().url()).searchParams.get('after') === '5.a';
      return route.fulfill({ json: isSecond ? { data: madeUp(2), next: null } : { data: [], next: '5.a' } });
    });
    await page.goto(`${gateway.url}/console/runs?model=rare`);
    await page.getByText('No matches in the latest 1,000 runs').waitFor();
    await page.getByRole('link', { name: 'Older runs' }).click();
    await shows(page, 2);
    expect(new URL(page.url()).search).toBe('?model=rare&after=5.a');
    await page.getByRole('link', { name: 'Newest runs' }).click();
    await page.getByText('No matches in the latest 1,000 runs').waitFor();
  });

  it('is one click from an answer in chat to its run, and one back', async () => {
    await using gateway = await freshGateway();
    await using it = await openPage(gateway.url);
    const { page } = it;
    await page.getByRole('button', { name: 'What time is it in Osaka?' }).click();
    await page.getByRole('link', { name: 'Run', exact: true }).click();
    await page.locator('.run-step').first().waitFor();
    await page.getByRole('link', { name: 'Open chat' }).click();
    await page.locator('.chat-foot').first().waitFor();
    expect(it.faults).toEqual([]);
  });
});
