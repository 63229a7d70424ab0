import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import { backendOf } from '../_support/build-app.ts';
import { closePages, describeInChromium, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import type { FreshGateway } from '../_support/fresh-gateway.ts';
import { calls, says, ScriptedModel } from '../_support/scripted-model.ts';

afterAll(closePages);

function gatewaySaying(...turns: ReturnType<typeof says>[]): Promise<FreshGateway> {
  return freshGateway({}, { backends: [backendOf(new ScriptedModel(...turns))] });
}

async function ask(page: Page, question: string): Promise<void> {
  await page.getByLabel('Your question').fill(question);
  await page.keyboard.press('Enter');
  await page.locator('.chat-answer .chat-foot').last().waitFor();
}

describeInChromium('a chat that is saved in this browser', () => {
  it('can be renamed, and keeps its name', async () => {
    await using gateway = await gatewaySaying(says('Fine.'), says('Still fine.'));
    await using it = await openPage(gateway.url);
    const { page } = it;
    await ask(page, 'How are you?');
    await page.getByRole('button', { name: 'Rename chat' }).click();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await page.getByLabel('Chat title').press('Escape');
    await page.getByRole('heading', { name: 'How are you?' }).waitFor();
    await page.getByRole('button', { name: 'Rename chat' }).click();
    await page.getByLabel('Chat title').fill('Well-being');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Well-being' }).waitFor();
    await expect.poll(() => page.title()).toBe('Well-being – toolwharf');
    await page.reload();
    await page.getByRole('link', { name: 'Well-being' }).waitFor();
    await ask(page, 'And now?');
    await page.getByRole('heading', { name: 'Well-being' }).waitFor();
    await expect.poll(() => page.title()).toBe('Well-being – toolwharf');
    await page.getByRole('button', { name: 'New chat' }).click();
    await expect.poll(() => page.title()).toBe('Chat – toolwharf');
    await page.goto(`${gateway.url}/console/chats/elsewhere`);
    await page.getByRole('link', { name: 'Start a new chat' }).click();
    await page.getByRole('heading', { name: 'What would you like to know?' }).waitFor();
    expect(it.faults).toEqual([]);
  });

  it('is found by the words of its title, its questions and its answers', async () => {
    const cities = ['Osaka', 'Bergen', 'Lima', 'Accra', 'Quito', 'Perth'];
    await using gateway = await gatewaySaying(...cities.map((city) => says(`${city} is a **city**.`)));
    await using it = await openPage(gateway.url);
    const { page } = it;
    for (const index of cities.keys()) {
      await ask(page, `Question ${index}`);
      await page.getByRole('button', { name: 'New chat' }).click();
      await page.getByRole('heading', { name: 'What would you like to know?' }).waitFor();
    }
    const chats = page.getByRole('navigation', { name: 'Chats in this browser' });
    const search = chats.getByLabel('Search chats');
    await search.fill('lima CITY');
    await expect.poll(() => chats.getByRole('link').allInnerTexts()).toEqual(['Question 2']);
    await search.fill('question 4');
    await expect.poll(() => chats.getByRole('link').allInnerTexts()).toEqual(['Question 4']);
    await search.fill('Atlantis');
    await chats.getByText('No matching chats.').waitFor();
    await search.fill('');
    await expect.poll(() => chats.getByRole('link').count()).toBe(cities.length);
    expect(it.faults).toEqual([]);
  });

  it('can be exported as a file with its questions, calls and answers', async () => {
    const call = calls(['list_time_zones_list_time_zones_get', {}], ['no_such_function', { fence: '```' }]);
    await using gateway = await gatewaySaying(call, says('There are *many*.'));
    await using it = await openPage(gateway.url);
    const { page } = it;
    await ask(page, 'Which time zones are there?');
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export chat' }).click();
    const file = await saving;
    expect(file.suggestedFilename()).toBe('Which time zones are there.md');
    const text = await readFile(await file.path(), 'utf8');
    expect(text).toMatch(
      /^# Which time zones are there\?\n\n## Question\n\nWhich time zones are there\?\n\n## Answer from model\n\nCalled `list_time/,
    );
    expect(text).toContain('"Asia/Tokyo"');
    expect(text).toContain('````\n{"fence":"```"}\n````\n\nError: ');
    expect(text.endsWith('\n\nThere are *many*.\n')).toBe(true);
    expect(it.faults).toEqual([]);
  });
});
