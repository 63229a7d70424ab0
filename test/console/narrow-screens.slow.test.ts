import { afterAll, expect, it, onTestFinished } from 'vitest';
import { closePages, describeInChromium, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import type { WatchedPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import type { FreshGateway } from '../_support/fresh-gateway.ts';

afterAll(closePages);

const key = 'sk-tw-administrator';

async function startGateway(): Promise<FreshGateway> {
  const gateway = await freshGateway({ TOOLWHARF_ADMIN_KEY: key });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  return gateway;
}

async function send(url: string, method: string, body: object): Promise<void> {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const answer = await fetch(url, { method, headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
}

async function openNarrow(url: string, path: string): Promise<WatchedPage> {
  const it = await openPage(url, { path: `${path}#key=${key}`, viewport: { width: 360, height: 740 }, reducedMotion: 'reduce' });
  onTestFinished(() => it[Symbol.asyncDispose]());
  return it;
}

describeInChromium('at 360 pixels', () => {
  it('keys show who uses them, their limits and their last valid day', async () => {
    const { url } = await startGateway();
    const limits = { requests_per_minute: 60 };
    await send(`${url}/api/keys`, 'POST', { name: 'reports', role: 'user', limits, models: ['demo'], expires_at: '2099-12-31' });
    const { page } = await openNarrow(url, '/console/keys');
    const row = page.getByRole('row', { name: /reports/ });
    for (const text of ['a program or person', '60 requests per minute', '1 model only', '31 Dec 2099'])
      await row.getByText(text).waitFor();
    expect(await row.getByRole('cell').count()).toBeGreaterThan(4);
    // Cells without a value are hidden.
    const admin = page.getByRole('row', { name: /TOOLWHARF_ADMIN_KEY/ });
    expect(await admin.innerText()).not.toMatch(/Limits|Until/);
    expect(await findFaultsInAllLooks(page)).toEqual([]);
  });

  it('the usage table shows the number of calls', async () => {
    const { url } = await startGateway();
    const messages = [{ role: 'user', content: 'What time is it in Osaka?' }];
    await send(`${url}/v1/chat/completions`, 'POST', { model: 'demo', messages });
    const { page } = await openNarrow(url, '/console/usage');
    const cells = page.getByRole('group', { name: 'Usage by model' }).getByRole('row', { name: /demo/ }).getByRole('cell');
    await cells.first().waitFor();
    expect(await cells.count()).toBe(5);
    expect(await cells.nth(3).isVisible()).toBe(true);
    expect(await findFaultsInAllLooks(page)).toEqual([]);
  });

  it('both actions of a connected account are on one line', async () => {
    const { url } = await startGateway();
    const spec = {
      openapi: '3.1.0',
      info: { title: 'Mail', version: '1' },
      paths: { '/send': { post: { operationId: 'send', responses: {} } } },
    };
    const server = { url: 'http://127.0.0.1:9', spec, auth_type: 'bearer', per_user: true };
    for (const name of ['Mail', 'Calendar'])
      await send(`${url}/api/tool-servers`, 'POST', { ...server, id: name.toLowerCase(), info: { name } });
    await send(`${url}/api/credentials/mail`, 'PUT', { key: 'a key of my own' });
    const { page } = await openNarrow(url, '/console/accounts');
    const row = page.getByRole('row', { name: /Mail/ });
    const [first, second] = [row.getByRole('button').first(), row.getByRole('button').last()];
    await second.waitFor();
    const middleOf = async (button: typeof first): Promise<number> => {
      const { y, height } = (await button.boundingBox()) ?? { y: Number.NaN, height: 0 };
      return y + height / 2;
    };
    expect(Math.abs((await middleOf(first)) - (await middleOf(second)))).toBeLessThan(4);
    await row.getByText('your API key').waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
  });
});
