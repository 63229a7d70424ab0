import { afterAll, expect, it, onTestFinished } from 'vitest';
import { pages } from '../../src/console/pages.ts';
import { closePages, describeInChromium, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import type { WatchedPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';

afterAll(closePages);

const adminKey = 'sk-tw-administrator';

async function openAsUser(path: string, environment: NodeJS.ProcessEnv = {}): Promise<WatchedPage> {
  const gateway = await freshGateway({ TOOLWHARF_ADMIN_KEY: adminKey, ...environment });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };
  const send = (route: string, body: object): Promise<Response> =>
    fetch(gateway.url + route, { method: 'POST', headers, body: JSON.stringify(body) });
  await send('/api/presets', { id: 'clerk', base_model: 'demo', system: 'You are a clerk.' });
  const { key } = (await (await send('/api/keys', { name: 'ada', role: 'user' })).json()) as { key: string };
  const it = await openPage(gateway.url, { path: `${path}#key=${key}`, reducedMotion: 'reduce' });
  onTestFinished(() => it[Symbol.asyncDispose]());
  return it;
}

describeInChromium('a user’s key', () => {
  it('sees only the pages that it may use, while a gateway that is open on this machine shows them all', async () => {
    const { page } = await openAsUser('/');
    const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
    await page.getByRole('link', { name: 'Settings' }).waitFor({ state: 'detached' });
    expect(await links.allInnerTexts()).toEqual(['Connect a program', 'Runs', 'Your accounts', 'Connected programs', 'Presets', 'Usage']);

    await using open = await freshGateway();
    await using it = await openPage(open.url);
    await it.settled();
    const all = it.page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
    await expect.poll(() => all.count()).toBe(pages.length - 1);
  });

  it.each([
    '/console/tool-servers',
    '/console/tool-servers/time',
    '/console/models',
    '/console/keys',
    '/console/health',
    '/console/settings',
  ])('is told that %s is for administrators, and sees only a button to use another key', async (path) => {
    const { page, faults } = await openAsUser(path);
    const main = page.getByRole('main');
    await main.getByRole('heading', { name: 'For administrators only' }).waitFor();
    await main.getByText('You don’t have access to this page').waitFor();
    expect(await main.getByRole('button').allInnerTexts()).toEqual(['Use another key']);
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await main.getByRole('button', { name: 'Use another key' }).click();
    await page.getByLabel('Key', { exact: true }).fill(adminKey);
    await page.getByRole('button', { name: 'Use this key' }).click();
    await main.getByRole('heading', { name: 'For administrators only' }).waitFor({ state: 'detached' });
    await main.getByRole('heading', { level: 1 }).waitFor();
    expect(faults).toEqual([]);
  });

  it('asks for nothing that it may not see, on any page', async () => {
    const it = await openAsUser('/');
    const refused: string[] = [];
    it.page.on('response', (response) => {
      if (response.status() === 401 || response.status() === 403) refused.push(`${new URL(it.page.url()).pathname}: ${response.url()}`);
    });
    for (const { path } of pages) {
      await it.page.goto(new URL(path, it.page.url()).href);
      await it.page.getByRole('heading', { level: 1 }).first().waitFor();
      await it.settled();
    }
    expect(refused).toEqual([]);
  });

  it('is told to ask the administrator about a backend that is down, without a link to the health page', async () => {
    const { page } = await openAsUser('/', { OPENAI_API_BASE_URLS: 'http://127.0.0.1:9/v1', TOOLWHARF_DEMO: 'true' });
    const missing = page.locator('.missing');
    await missing.getByText('The backend openai is not responding').waitFor();
    expect(await missing.getByRole('link').count()).toBe(0);
    expect(await missing.innerText()).toContain('Ask your administrator');
    expect(await missing.innerText()).not.toContain('ollama pull');
    expect(await findFaultsInAllLooks(page)).toEqual([]);
  });

  it('can use presets but not create them', async () => {
    const { page } = await openAsUser('/console/presets');
    await page.getByRole('rowheader', { name: 'clerk' }).waitFor();
    await page.getByRole('button', { name: 'New preset' }).waitFor({ state: 'detached' });
    expect(await page.getByRole('main').getByRole('button').count()).toBe(0);
    await page.getByRole('link', { name: 'Chat with clerk' }).click();
    await page.locator('select.chat-model').getByText('clerk').waitFor({ state: 'attached' });
    expect(await page.locator('select.chat-model').inputValue()).toBe('clerk');
  });
});
