import { afterAll, expect, it } from 'vitest';
import { closePages, describeInChromium, findBarriers, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';

afterAll(closePages);

const question = { model: 'demo', messages: [{ role: 'user', content: 'What time is it in Osaka?' }] };
const chat = (url: string): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(question) });

describeInChromium('the page of runs', () => {
  it('shows what a run did and why, on one axis', async () => {
    await using gateway = await freshGateway();
    await chat(gateway.url);
    await using it = await openPage(gateway.url, { path: '/console/runs' });
    const { page } = it;
    await page.getByRole('link', { name: 'demo' }).first().click();
    await page.getByText('format_current_time_format_time_post').first().waitFor();
    expect(await page.locator('.run-step').count()).toBe(5);
    expect(await findBarriers(page)).toEqual([]);
    await page.getByText('format_current_time_format_time_post').first().click();
    await page.getByRole('dialog').getByText('Raw events').click();
    await page.getByRole('dialog').getByText('tool.result').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    expect(it.faults).toEqual([]);
  });

  it('lists a run that begins while it is looked at, and finds runs by their status', async () => {
    await using gateway = await freshGateway();
    await using it = await openPage(gateway.url, { path: '/console/runs' });
    const { page } = it;
    await page.getByText('No runs yet').waitFor();
    await chat(gateway.url);
    await page.getByRole('link', { name: 'demo' }).waitFor();
    await page.getByLabel('Status').selectOption('failed');
    await page.getByText('No matching runs.').waitFor();
  });

  it('stays small with ten thousand events', async () => {
    await using gateway = await freshGateway();
    await using it = await openPage(gateway.url, { path: '/console/runs' });
    const { page } = it;
    const created = '2026-01-01T00:00:00.000Z';
    const at = (ms: number): string => new Date(Date.parse(created) + ms).toISOString();
    const events = Array.from({ length: 5_000 }, (_, index) => [
      { type: 'tool.call', time: at(index), data: { id: `c${index}`, tool: `tool_${index}`, args: {}, server: 's' } },
      { type: 'tool.result', time: at(index + 1), data: { id: `c${index}`, tool: `tool_${index}`, duration_ms: 1, response: 'done' } },
    ]).flat();
    const run = { id: 'long', status: 'completed', model: 'demo', mode: 'native', created, finished: at(5_000), usage: null, events };
    await page.route('**/api/runs/long', (route) => route.fulfill({ json: run }));
    await page.goto(`${gateway.url}/console/runs/long`);
    await page.getByText('tool_0', { exact: true }).waitFor();
    await page.locator('.run-steps').evaluate((list) => list.scrollTo({ top: list.scrollHeight }));
    await page.getByText('tool_4999', { exact: true }).waitFor();
    expect(await page.evaluate(() => document.querySelectorAll('*').length)).toBeLessThan(2_000);
    expect(it.faults).toEqual([]);
  });
});
