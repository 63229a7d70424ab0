import { afterAll, expect, it } from 'vitest';
import { closePages, describeInChromium, findBarriers, findFaultsInAllLooks, looks, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';

afterAll(closePages);

/** Whether it is on top of all else, and no dialog beside it keeps it from being used. */
function isUsable(element: Element): boolean {
  const { x, y, width, height } = element.getBoundingClientRect();
  return element.contains(document.elementFromPoint(x + width / 2, y + height / 2));
}

describeInChromium('the shell', () => {
  it('shows its frame before its script is there, wide and narrow', async () => {
    await using gateway = await freshGateway();
    await using it = await openPage(gateway.url, { path: '/docs' });
    const { page } = it;
    await page.route('**/console/assets/*.js', (route) => route.abort());
    await page.goto(gateway.url);
    const brand = page.locator('.brand').filter({ visible: true });
    for (const width of [1280, 360]) {
      await page.setViewportSize({ width, height: 740 });
      expect(await brand.allInnerTexts()).toEqual(['toolwharf']);
    }
    await page.unroute('**/console/assets/*.js');
    await page.goto(gateway.url);
    await page.getByRole('heading', { name: 'What would you like to know?' }).waitFor();
    expect(await brand.allInnerTexts()).toEqual(['toolwharf']);
  });

  it('keeps the key of the link of a start, and takes it out of the address', async () => {
    await using gateway = await freshGateway();
    const { startKey = '' } = gateway.app;
    await using it = await openPage(gateway.url, { path: `/#key=${startKey}` });
    await it.page.getByRole('heading', { name: 'What would you like to know?' }).waitFor();
    expect(it.page.url()).toBe(`${gateway.url}/`);
    expect(await it.page.evaluate(() => localStorage.getItem('toolwharf.key'))).toBe(startKey);
  });

  it('asks for a key where the gateway needs one, once', async () => {
    await using gateway = await freshGateway({ TOOLWHARF_ADMIN_KEY: 'sk-tw-secret' });
    await using it = await openPage(gateway.url);
    const { page } = it;
    await page.getByText('Ask your administrator for one.').waitFor();
    const field = page.getByLabel('Key', { exact: true });
    await field.fill('sk-tw-other');
    await page.keyboard.press('Enter');
    await page.getByText('was not accepted').waitFor();
    // Copied from a text that has made quotes of its own.
    await field.fill('“sk-tw-secret”');
    await page.keyboard.press('Enter');
    expect(await field.evaluate((input: HTMLInputElement) => input.validity.patternMismatch)).toBe(true);
    await field.fill('sk-tw-secret');
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Use this key' }).click();
    await page.getByRole('button', { name: 'What time is it in Osaka?' }).click();
    await page.locator('.chat-answer .chat-foot').waitFor();
    await page.reload();
    await page.locator('.chat-answer .chat-foot').waitFor();
    expect(await page.getByLabel('Key', { exact: true }).count()).toBe(0);
  });

  it.each(['light', 'dark'] as const)(
    'fits into 360 pixels, has its pages in a drawer, and nothing serious for axe (%s)',
    async (colorScheme) => {
      await using gateway = await freshGateway();
      await using it = await openPage(gateway.url, { viewport: { width: 360, height: 740 }, colorScheme, reducedMotion: 'reduce' });
      const { page } = it;
      await page.getByRole('button', { name: 'What time is it in Osaka?' }).click();
      await page.locator('.chat-answer .chat-foot').waitFor();
      await page.locator('.call summary').click();
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
      expect(await findBarriers(page)).toEqual([]);
      await page.getByRole('button', { name: 'Menu' }).click();
      await page.getByRole('dialog', { name: 'Menu' }).getByRole('link', { name: 'What time is it in Osaka?' }).waitFor();
      expect(await findBarriers(page)).toEqual([]);
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Tools and options' }).click();
      expect(await findBarriers(page)).toEqual([]);
      expect(it.faults).toEqual([]);
    },
  );

  it('is used by keyboard alone: a question, its call, its source', async () => {
    await using gateway = await freshGateway();
    await using it = await openPage(gateway.url);
    const { page } = it;
    await page.getByRole('button', { name: 'What time is it in Osaka?' }).waitFor();
    await page.keyboard.type('What time is it in Osaka?');
    await page.keyboard.press('Enter');
    await page.locator('.chat-answer .chat-foot').waitFor();
    const focusOn = async (selector: string): Promise<void> => {
      for (
        let presses = 0;
        presses < 40 && !(await page.evaluate((wanted) => document.activeElement?.matches(wanted), selector));
        presses++
      )
        await page.keyboard.press('Shift+Tab');
      expect(await page.evaluate((wanted) => document.activeElement?.matches(wanted), selector)).toBe(true);
    };
    await focusOn('.chat-sources .chip');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByText('Asia/Tokyo').first().waitFor();
    await page.keyboard.press('Escape');
    expect(await page.getByRole('dialog').count()).toBe(0);
    await focusOn('.call summary');
    await page.keyboard.press('Enter');
    await page.locator('.call-content').waitFor();
  });

  it('shows and tells messages where they can be read and closed, also while a dialog or the menu is open', async () => {
    await using gateway = await freshGateway();
    await using it = await openPage(gateway.url, { reducedMotion: 'reduce' });
    const { page } = it;
    await page.getByRole('button', { name: 'What time is it in Osaka?' }).click();
    await page.locator('.chat-sources .chip').first().click();
    const dialog = page.getByRole('dialog');
    const copy = dialog.getByRole('button', { name: 'Copy as JSON' }).first();
    await copy.click();
    await dialog.getByRole('status').getByText('Copied').waitFor({ state: 'attached' });
    await page.evaluate(() => (navigator.clipboard.writeText = () => Promise.reject(new Error('The clipboard is closed.'))));
    await copy.click();
    const message = page.locator('.toast', { hasText: 'The clipboard is closed.' });
    await message.waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    for (const { viewport } of looks) {
      await page.setViewportSize(viewport);
      expect(await message.evaluate(isUsable)).toBe(true);
    }
    // The message moves out of the dialog, and into the menu, one frame after these open or close.
    await page.keyboard.press('Escape');
    await expect.poll(() => message.evaluate(isUsable)).toBe(true);
    await page.setViewportSize({ width: 360, height: 740 });
    await page.getByRole('button', { name: 'Menu' }).click();
    await expect.poll(() => message.evaluate(isUsable)).toBe(true);
    await page.keyboard.press('Escape');
    await message.getByRole('button', { name: 'Close message' }).click();
    await message.waitFor({ state: 'detached' });
    expect(it.faults).toEqual([]);
  });

  it('asks before a form that was begun is left by accident, and leaves one that was not', async () => {
    await using gateway = await freshGateway();
    await using it = await openPage(gateway.url, { path: `/console/presets#key=${gateway.app.startKey ?? ''}`, reducedMotion: 'reduce' });
    const { page } = it;
    const form = page.getByRole('dialog', { name: 'New preset' });
    const question = page.getByRole('dialog', { name: 'Discard your changes?' });
    const open = async (): Promise<void> => {
      await page.getByRole('button', { name: 'New preset' }).click();
      await form.getByLabel('Model', { exact: false }).first().waitFor();
    };
    const leave = [
      () => page.keyboard.press('Escape'),
      () => page.mouse.click(5, 5),
      () => form.getByRole('button', { name: 'Close' }).click(),
    ];
    for (const way of leave) {
      await open();
      await way();
      await form.waitFor({ state: 'detached' });
    }
    await open();
    await form.getByLabel('System prompt').fill('You are a clerk.');
    for (const way of leave) {
      await way();
      await question.waitFor();
      expect(await findBarriers(page)).toEqual([]);
      await page.keyboard.press('Escape');
      await question.waitFor({ state: 'detached' });
      expect(await form.getByLabel('System prompt').inputValue()).toBe('You are a clerk.');
    }
    await page.keyboard.press('Escape');
    await question.getByRole('button', { name: 'Discard' }).click();
    await form.waitFor({ state: 'detached' });
    await open();
    await form.getByLabel('System prompt').fill('You are a clerk.');
    await form.getByRole('button', { name: 'Cancel' }).click();
    await form.waitFor({ state: 'detached' });
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(it.faults).toEqual([]);
  });

  it('has one heading of the first level where there is nothing to show, and a title that says so', async () => {
    await using gateway = await freshGateway();
    await using it = await openPage(gateway.url, { path: '/', reducedMotion: 'reduce' });
    const { page } = it;
    await page.getByRole('button', { name: 'What time is it in Osaka?' }).click();
    await page.locator('.chat-answer .chat-foot').waitFor();
    const places: [path: string, heading: string, title: string][] = [
      ['/console/chats/none', 'This chat is not in this browser', 'Chat not found'],
      ['/console/nowhere', 'Page not found', 'Page not found'],
      ['/console/tool-servers/none', 'none', 'Tool servers'],
      ['/console/runs/none', 'Run', 'Runs'],
    ];
    for (const [path, heading, title] of places) {
      await page.evaluate((to) => history.pushState(null, '', to), path);
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      expect(await page.locator('h1').count()).toBe(1);
      await expect.poll(() => page.title()).toBe(`${title} – toolwharf`);
      expect(await findFaultsInAllLooks(page)).toEqual([]);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.route('**/console/assets/*.js', (route) => route.abort());
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByText('This page can’t be loaded').waitFor();
    expect(await page.locator('h1').allInnerTexts()).toEqual(['Usage']);
  });

  it('shows an unknown page as such, and lets every address be opened directly', async () => {
    await using gateway = await freshGateway();
    await using it = await openPage(gateway.url, { path: '/console/nowhere' });
    await it.page.getByRole('heading', { name: 'Page not found' }).waitFor();
    await it.page.getByRole('link', { name: 'Start a chat' }).click();
    await it.page.getByRole('heading', { name: 'What would you like to know?' }).waitFor();
  });
});
