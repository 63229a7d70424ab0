import type { Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import { startTimeServer } from '../../src/demo/time-server.ts';
import { closePages, describeInChromium, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';

afterAll(closePages);

/** The accessible name, or else the text, of the focused element. */
function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    const element = document.activeElement as HTMLInputElement | null;
    return element?.ariaLabel ?? element?.labels?.[0]?.innerText ?? element?.innerText ?? '';
  });
}

/** Presses Tab until the named element has the focus. */
async function goTo(page: Page, name: string | RegExp, key = 'Tab'): Promise<void> {
  const passed: string[] = [];
  for (let presses = 0; presses < 80; presses++) {
    await page.keyboard.press(key);
    const here = await focused(page);
    if (typeof name === 'string' ? here.trim() === name : name.test(here)) return;
    passed.push(here.slice(0, 30));
  }
  throw new Error(`Pressing ${key} never focuses ${String(name)}, only: ${passed.join(' | ')}`);
}

const goBackTo = (page: Page, name: string | RegExp): Promise<void> => goTo(page, name, 'Shift+Tab');

describeInChromium('a chat by keyboard alone', () => {
  it('asks, approves, rejects, edits and renames, and never loses the focus', async () => {
    const time = await startTimeServer({ host: '127.0.0.1', port: 0 });
    const connections = [{ id: 'time', url: time.url, config: { needs_approval: true } }];
    await using gateway = await freshGateway({ TOOL_SERVER_CONNECTIONS: JSON.stringify(connections) });
    await using it = await openPage(gateway.url);
    const { page } = it;
    const { keyboard } = page;
    const expectFocusOnQuestion = async (): Promise<void> => {
      await expect.poll(() => focused(page)).toBe('Your question');
    };
    const answered = (count: number): Promise<void> =>
      page
        .locator('.chat-answer .chat-foot')
        .nth(count - 1)
        .waitFor();

    await page.getByRole('button', { name: 'What time is it in Osaka?' }).waitFor();
    await expectFocusOnQuestion();
    await keyboard.type('What time is it in Osaka?');
    await keyboard.press('Enter');

    // Approve the call with other arguments.
    await page.getByLabel('Your input is needed').waitFor();
    await goBackTo(page, 'Edit arguments');
    await keyboard.press('Enter');
    await goBackTo(page, /^timezone/);
    await keyboard.press('Control+A');
    await keyboard.type('Europe/Oslo');
    await goTo(page, 'Approve');
    await keyboard.press('Enter');
    await answered(1);
    await expectFocusOnQuestion();

    // Open the call and its source.
    await goBackTo(page, /^format_current_time/);
    await keyboard.press('Enter');
    await page.locator('.call-content').waitFor();
    await goTo(page, /^time\/format_current_time/);
    await keyboard.press('Enter');
    await page.getByRole('dialog').getByText('Europe/Oslo').first().waitFor();
    await keyboard.press('Escape');
    await expect.poll(() => focused(page)).toMatch(/^time\/format_current_time/);

    // Regenerate the answer, and reject its call with a reason.
    await goTo(page, 'Regenerate');
    await keyboard.press('Enter');
    await page.getByLabel('Your input is needed').waitFor();
    await expectFocusOnQuestion();
    await goBackTo(page, 'Reject…');
    await keyboard.press('Enter');
    await expect.poll(() => focused(page)).toBe('Message to the model');
    await keyboard.type('Not now.');
    await goTo(page, 'Reject');
    await keyboard.press('Enter');
    await page.locator('.call.failed').waitFor();
    await answered(1);
    await expectFocusOnQuestion();
    await goBackTo(page, 'Previous version');
    await keyboard.press('Enter');
    await page.locator('.call.done').waitFor();

    // Edit the question.
    await goBackTo(page, 'Edit');
    await keyboard.press('Enter');
    await expect.poll(() => focused(page)).toBe('Your question');
    await keyboard.press('Control+A');
    await keyboard.type('What can you do?');
    await goTo(page, 'Send');
    await keyboard.press('Enter');
    await answered(1);
    await expectFocusOnQuestion();
    expect(await page.locator('.chat-question').innerText()).toBe('What can you do?');

    // Rename the chat, open the options, and start a new chat.
    await goBackTo(page, 'Rename chat');
    await keyboard.press('Enter');
    await expect.poll(() => focused(page)).toBe('Chat title');
    await keyboard.type('By keyboard');
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'By keyboard' }).waitFor();
    await expectFocusOnQuestion();
    await goBackTo(page, 'Tools and options');
    await keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Tools and options' }).waitFor();
    await goTo(page, /^How the model uses tools/);
    await keyboard.press('Escape');
    await expect.poll(() => focused(page)).toBe('Tools and options');
    await goBackTo(page, 'New chat');
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'What would you like to know?' }).waitFor();
    await expectFocusOnQuestion();
    expect(it.faults).toEqual([]);
    await time.close();
  });
});
