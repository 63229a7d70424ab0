import type { Page } from 'playwright-core';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { authorizationServer, passwordOf } from '../_support/authorization-server.ts';
import type { AuthorizationServer } from '../_support/authorization-server.ts';
import { backendOf } from '../_support/build-app.ts';
import { closePages, describeInChromium, findBarriers, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import type { FreshGateway } from '../_support/fresh-gateway.ts';
import { says, ScriptedModel } from '../_support/scripted-model.ts';
import { consoleClient, environmentFor } from '../gateway/sign-in/login-fixture.ts';

afterAll(closePages);

async function scene(model?: ScriptedModel): Promise<{ gateway: FreshGateway; authorization: AuthorizationServer }> {
  const authorization = await authorizationServer({ offersRegistration: false, clients: [consoleClient] });
  const gateway = await freshGateway(environmentFor(authorization.url), model && { backends: [backendOf(model)] });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  return { gateway, authorization };
}

/** Signs in at the provider, which asks a new browser for the password and then for consent. */
async function signInAt(page: Page, account: string): Promise<void> {
  await page.locator('input[name=account]').fill(account);
  await page.locator('input[name=password]').fill(passwordOf(account));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Yes' }).click();
}

const question = 'What time is it in Osaka?';

describeInChromium('the console of a gateway with an OpenID provider', () => {
  it('asks people to sign in, answers their question, and lets them sign out', async () => {
    const { gateway, authorization } = await scene();
    await using it = await openPage(gateway.url, { path: '/console/runs?status=failed' });
    const { page } = it;
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    await dialog.waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await signInAt(page, 'ada');

    await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor();
    expect(page.url()).toBe(`${gateway.url}/console/runs?status=failed`);
    const side = page.getByRole('region', { name: 'Side bar' });
    await side.getByText('ada').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await side.getByRole('link', { name: 'New chat' }).click();
    await page.getByRole('button', { name: question }).click();
    await page.locator('.chat-answer .chat-foot').waitFor();
    // No token is in storage that scripts can read.
    const kept = await page.evaluate(() => JSON.stringify([localStorage, sessionStorage, document.cookie]));
    expect(kept).toContain('toolwharf.signed-in');
    expect(kept).not.toContain('eyJ');

    // After a reload they are still signed in, without a dialog or a rejected request.
    const refused: string[] = [];
    page.on('response', (response) => response.status() === 401 && refused.push(response.url()));
    await page.reload();
    await page.locator('.chat-answer .chat-foot').waitFor();
    await side.getByText('ada').waitFor();
    // Requests wait for the token, however long it takes.
    await page.route('**/login/token', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      await route.continue();
    });
    await page.reload();
    await page.getByRole('textbox').fill('And in Oslo?');
    await page.keyboard.press('Enter');
    await page.locator('.chat-answer .chat-foot').nth(1).waitFor();
    expect(refused).toEqual([]);

    await side.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await dialog.waitFor();
    expect(page.url()).toBe(`${gateway.url}/`);
    expect(await page.evaluate(() => localStorage.getItem('toolwharf.signed-in'))).toBeNull();
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    // They are signed out at the provider, too.
    await page.locator('input[name=account]').waitFor();
    expect(it.faults).toEqual([]);
    expect(it.foreign.every((url) => url.startsWith(authorization.url))).toBe(true);
  });

  it('continues a running answer after a reload', async () => {
    const more = Promise.withResolvers<void>();
    const { gateway } = await scene(new ScriptedModel([{ type: 'text', text: 'One, ' }, more.promise, ...says('two.')]));
    await using it = await openPage(gateway.url);
    const { page } = it;
    await page.getByRole('dialog', { name: 'Sign in' }).getByRole('button', { name: 'Sign in' }).click();
    await signInAt(page, 'ada');
    await page.getByRole('textbox').fill('Count');
    await page.keyboard.press('Enter');
    await page.getByText('One,').waitFor();
    await page.getByRole('link', { name: 'Your accounts' }).click();
    await page.getByRole('heading', { name: 'Your accounts', level: 1 }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Your accounts', level: 1 }).waitFor();
    more.resolve();
    await page.getByRole('link', { name: 'Count', exact: true }).click();
    await page.getByText('One, two.').waitFor();
    expect(await page.locator('.chat-answer .problem').count()).toBe(0);
    expect(it.faults).toEqual([]);
  });

  it('accepts a key instead', async () => {
    const { gateway } = await scene();
    const key = await gateway.app.createFirstKey();
    await using it = await openPage(gateway.url);
    const { page } = it;
    await page.getByText('Use an API key instead').click();
    await page.getByLabel('Key', { exact: true }).fill(key ?? '');
    await page.getByRole('button', { name: 'Use this key' }).click();
    await page.getByRole('button', { name: question }).click();
    await page.locator('.chat-answer .chat-foot').waitFor();
    await page.getByRole('region', { name: 'Side bar' }).getByRole('button', { name: 'Sign out' }).waitFor();
  });

  it('renews an expired token, also for its socket, and asks for a sign-in when it cannot', async () => {
    const { gateway, authorization } = await scene();
    authorization.accessTokenSeconds = 12;
    await using it = await openPage(gateway.url);
    const { page } = it;
    let workers = 0;
    page.on('worker', () => workers++);
    await page.getByRole('dialog', { name: 'Sign in' }).getByRole('button', { name: 'Sign in' }).click();
    await signInAt(page, 'ada');
    await page.getByRole('button', { name: question }).click();
    await page.locator('.chat-answer .chat-foot').waitFor();
    await expect.poll(() => authorization.grants('refresh_token').length).toBeGreaterThanOrEqual(2);
    await page.getByRole('textbox').fill('And in Oslo?');
    await page.keyboard.press('Enter');
    await page.locator('.chat-answer .chat-foot').nth(1).waitFor();
    // The session of the first question is still open.
    expect(workers).toBe(1);
    expect(await page.getByRole('dialog', { name: 'Sign in' }).count()).toBe(0);

    // When the provider has ended the sign-in, the page asks again.
    await authorization.endAllGrants();
    await page.getByRole('dialog', { name: 'Sign in' }).waitFor({ timeout: 20_000 });
    expect(it.faults).toEqual([]);
  });
});
