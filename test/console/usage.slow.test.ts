import { readFileSync } from 'node:fs';
import { afterAll, expect, it } from 'vitest';
import { dayAgo } from '../../src/console/pages/usage/usage-sums.ts';
import { closePages, describeInChromium, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';

afterAll(closePages);

const adminKey = 'sk-tw-administrator';

describeInChromium('the page of usage', () => {
  it('shows the usage of models, people and tools by day, filters by one of them, and exports it', async () => {
    await using gateway = await freshGateway({ TOOLWHARF_ADMIN_KEY: adminKey });
    const send = async (path: string, body: object, headers: Record<string, string> = {}): Promise<Record<string, unknown>> => {
      const answer = await fetch(gateway.url + path, {
        method: 'POST',
        headers: { 'x-api-key': adminKey, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });
      expect(answer.ok).toBe(true);
      return (await answer.json()) as Record<string, unknown>;
    };
    await send('/api/presets', { id: 'clerk', base_model: 'demo', tools: [] });
    const users = { from: 'header', name: 'x-user', name_header: 'x-name' };
    const { key } = await send('/api/keys', { name: 'Frontend', role: 'user', users });
    const ask = (model: string, headers: Record<string, string>): Promise<object> =>
      send('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'What time is it in Osaka?' }] }, headers);
    await ask('demo', { 'x-api-key': String(key), 'x-user': '1', 'x-name': 'Ada' });
    await ask('demo', { 'x-api-key': String(key), 'x-user': '2', 'x-name': 'Bob' });
    await ask('clerk', {});

    await using it = await openPage(gateway.url, { path: `/console/usage#key=${adminKey}` });
    const { page } = it;
    const row = (name: string): Promise<string[]> =>
      page
        .getByRole('group', { name: /^Usage by (?!day)/ })
        .getByRole('row')
        .filter({ hasText: name })
        .getByRole('cell')
        .allInnerTexts();
    await page.getByRole('rowheader', { name: 'demo' }).waitFor();
    expect((await row('demo'))[0]).toBe('2');
    await page.getByRole('img', { name: /^Requests by day: 3 in 30 days, at most 3 in one/ }).waitFor();
    await page.getByLabel('Show').selectOption('demo');
    await page.getByRole('img', { name: /^Requests by day: 2 in 30 days/ }).waitFor();
    await page.getByText('By day (UTC)').click();
    const days = page.getByRole('group', { name: 'Usage by day' }).getByRole('row');
    expect(await days.count()).toBe(2);
    expect(await days.nth(1).getByRole('cell').first().innerText()).toBe('2');
    expect(await findFaultsInAllLooks(page)).toEqual([]);

    await page.getByLabel('Group by').selectOption('user');
    await page.getByRole('rowheader', { name: 'Ada' }).waitFor();
    expect((await row('Bob'))[0]).toBe('1');
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export CSV' }).click();
    const saved = await saving;
    expect(saved.suggestedFilename()).toBe(`usage-by-user-${dayAgo(29)}-${dayAgo(0)}.csv`);
    const lines = readFileSync(await saved.path(), 'utf8')
      .trim()
      .split('\r\n');
    expect(lines[0]).toBe('Day,Person,ID,Requests,Tokens in,Tokens out,Tool calls,Failures');
    expect(lines.find((line) => line.includes(',Ada,'))).toMatch(new RegExp(`^${dayAgo(0)},Ada,key_\\w+/1,1,\\d+,\\d+,1,0$`));
    await page.getByLabel('Group by').selectOption('key');
    await page.getByRole('rowheader', { name: 'Frontend' }).waitFor();
    await page.getByRole('rowheader', { name: 'TOOLWHARF_ADMIN_KEY' }).waitFor();
    await page.getByLabel('Group by').selectOption('tool');
    await page.getByRole('rowheader', { name: /^time\// }).waitFor();
    await page.getByRole('img', { name: /^Failures by day: 0/ }).waitFor();

    await page.getByLabel('Period').selectOption('');
    await page.getByLabel('First day').fill(dayAgo(11));
    await page.getByLabel('Last day').fill(dayAgo(10));
    await page.getByRole('heading', { name: 'No usage in this period' }).waitFor();
    await page.getByLabel('Period').selectOption('7');
    await page
      .getByRole('img', { name: /in 7 days/ })
      .first()
      .waitFor();
    expect(it.faults).toEqual([]);
  });
});
