import type { Page } from 'playwright-core';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import type { ModelBackend } from '../../src/core/models/model.ts';
import { authorizationServer, passwordOf } from '../_support/authorization-server.ts';
import { backendOf } from '../_support/build-app.ts';
import { closePages, describeInChromium, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import type { WatchedPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import { generatedBy } from '../_support/scripted-model.ts';
import { waitFor } from '../_support/wait-for.ts';
import { consoleClient, environmentFor } from '../gateway/sign-in/login-fixture.ts';

afterAll(closePages);

const adminKey = 'sk-tw-administrator';

interface Scene extends WatchedPage {
  url: string;
  keyOf: (name: string) => Promise<string>;
}

async function scene({ path = '/', model }: { path?: string; model?: ModelBackend } = {}): Promise<Scene> {
  const gateway = await freshGateway({ TOOLWHARF_ADMIN_KEY: adminKey }, model && { backends: [backendOf(model)] });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const it = await openPage(gateway.url, { path: `${path}#key=${adminKey}`, reducedMotion: 'reduce' });
  onTestFinished(() => it[Symbol.asyncDispose]());
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };
  const keyOf = async (name: string): Promise<string> => {
    const body = JSON.stringify({ name, role: 'user' });
    return ((await (await fetch(`${gateway.url}/api/keys`, { method: 'POST', headers, body })).json()) as { key: string }).key;
  };
  return { ...it, url: gateway.url, keyOf };
}

const keptIn = (page: Page): Promise<string | null> => page.evaluate(() => localStorage.getItem('toolwharf.key'));
const question = (page: Page) => page.getByRole('dialog', { name: 'Use the key from this link?' });

describeInChromium('a link with a key', () => {
  it('asks, with both names, before it replaces another key, and changes nothing on Cancel', async () => {
    const { page, url, keyOf, faults } = await scene();
    const side = page.getByRole('region', { name: 'Side bar' });
    await side.getByText('administrator', { exact: true }).waitFor();
    await page.goto(`${url}/console/runs#key=${await keyOf('Mallory')}`);
    await question(page).getByText('You are signed in as administrator. This link contains the key of Mallory.').waitFor();
    expect(page.url()).toBe(`${url}/console/runs`);
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await question(page).getByRole('button', { name: 'Cancel' }).click();
    await question(page).waitFor({ state: 'detached' });
    expect(await keptIn(page)).toBe(adminKey);
    await side.getByText('administrator', { exact: true }).waitFor();
    expect(faults).toEqual([]);
  });

  it('replaces the key on confirmation, and the console shows the new name', async () => {
    const { page, url, keyOf } = await scene();
    const other = await keyOf('Bob');
    await page.getByRole('region', { name: 'Side bar' }).getByText('administrator', { exact: true }).waitFor();
    // Follow the link in an open tab.
    await page.evaluate((key) => (location.hash = `key=${key}`), other);
    await question(page).getByRole('button', { name: 'Use the key of Bob' }).click();
    await page.getByRole('region', { name: 'Side bar' }).getByText('Bob', { exact: true }).waitFor();
    expect(await keptIn(page)).toBe(other);
    expect(page.url()).toBe(`${url}/`);
  });

  it('does not ask when it has the current key, and is not used when the gateway rejects its key', async () => {
    const { page, url } = await scene();
    await page.goto(`${url}/console/runs#key=${adminKey}`);
    await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor();
    expect(await question(page).count()).toBe(0);
    await page.evaluate(() => (location.hash = 'key=sk-tw-unknown'));
    await page.getByText('was not accepted by this gateway. You are still signed in as administrator.').first().waitFor();
    expect(await keptIn(page)).toBe(adminKey);
  });

  it('asks before it replaces a sign-in', async () => {
    const authorization = await authorizationServer({ offersRegistration: false, clients: [consoleClient] });
    const gateway = await freshGateway({ ...environmentFor(authorization.url), TOOLWHARF_ADMIN_KEY: adminKey });
    onTestFinished(() => gateway[Symbol.asyncDispose]());
    await using it = await openPage(gateway.url, { path: '/console/runs' });
    const { page } = it;
    await page.getByRole('dialog', { name: 'Sign in' }).getByRole('button', { name: 'Sign in' }).click();
    await page.locator('input[name=account]').fill('ada');
    await page.locator('input[name=password]').fill(passwordOf('ada'));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Yes' }).click();
    await page.getByRole('region', { name: 'Side bar' }).getByText('ada').waitFor();
    await page.goto(`${gateway.url}/#key=${adminKey}`);
    await question(page).getByText('You are signed in as ada. This link contains the key of administrator.').waitFor();
    expect(await keptIn(page)).toBeNull();
  });

  it('is not clickable in an answer, in any encoding and path, while other links are', async () => {
    let answer = '';
    const model = generatedBy(async function* () {
      yield { type: 'text', text: answer };
      yield { type: 'finish', reason: 'stop' };
    });
    const { page, url } = await scene({ model });
    const own = ['/#key=sk-tw-x', '/console#key=sk-tw-x', '/a/b/#a=1&key=sk-tw-x', '/#%6Bey=sk-tw-x', '/#&#107;ey=sk-tw-x'];
    const links = own.map((path, index) => `[own ${index}](${url}${path}) <${url}${path}>`);
    answer = `${links.join('\n\n')}\n\n[runs](${url}/console/runs#key-facts) [other](https://other.example/#key=1)`;
    await page.getByLabel('Your question').fill('Links?');
    await page.keyboard.press('Enter');
    await page.getByText('own 4').waitFor();
    const hrefs = () => page.locator('main a[target=_blank]').evaluateAll((found) => found.map((link) => link.getAttribute('href')));
    await waitFor(async () => expect(await hrefs()).toEqual([`${url}/console/runs#key-facts`, 'https://other.example/#key=1']));
  });
});
