import type { Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import { backendOf } from '../_support/build-app.ts';
import { closePages, describeInChromium, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import { says, ScriptedModel } from '../_support/scripted-model.ts';

afterAll(closePages);

async function ask(page: Page, question: string): Promise<void> {
  await page.getByLabel('Your question').fill(question);
  await page.keyboard.press('Enter');
}

describeInChromium('chats on the server', () => {
  it('are the same in two browsers, whichever writes, and are deleted in both', async () => {
    const model = new ScriptedModel(says('Fine.'), says('Very fine.'));
    await using gateway = await freshGateway({ CONSOLE_CHATS: 'true' }, { backends: [backendOf(model)] });
    const revisions = async (): Promise<number[]> => {
      const { data } = (await (await fetch(`${gateway.url}/api/console/chats`)).json()) as { data: { revision: number }[] };
      return data.map(({ revision }) => revision);
    };
    await using first = await openPage(gateway.url);
    await ask(first.page, 'How are you?');
    await first.page.getByText('Fine.').waitFor();
    await expect.poll(revisions).toEqual([1]);
    await using second = await openPage(gateway.url, { viewport: { width: 1000, height: 800 } });
    await second.page.getByRole('link', { name: 'How are you?' }).click();
    await second.page.getByText('Fine.').waitFor();
    await ask(second.page, 'And now?');
    await second.page.getByText('Very fine.').waitFor();
    await expect.poll(revisions).toEqual([2]);
    await first.page.reload();
    await first.page.getByText('Very fine.').waitFor();
    await first.page.getByRole('button', { name: 'Delete chat' }).click();
    await first.page.getByRole('button', { name: 'Delete', exact: true }).click();
    await expect.poll(revisions).toEqual([]);
    await second.page.goto(gateway.url);
    await second.page.getByRole('link', { name: 'New chat' }).waitFor();
    await second.page.getByRole('link', { name: 'How are you?' }).waitFor({ state: 'detached' });
    expect([...first.faults, ...second.faults]).toEqual([]);
  });
});
