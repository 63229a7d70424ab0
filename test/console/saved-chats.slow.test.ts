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

  it('is searched without reading chats, also while another one is answered', async () => {
    const more = Promise.withResolvers<void>();
    const model = new ScriptedModel(says('Osaka is a city.'), [{ type: 'text', text: 'One' }, more.promise, ...says(' two.')]);
    await using gateway = await freshGateway({}, { backends: [backendOf(model)] });
    await using it = await openPage(gateway.url);
    const { page } = it;
    await ask(page, 'First');
    await page.reload();
    await page.getByText('Osaka is a city.').waitFor();
    await page.getByRole('button', { name: 'New chat' }).click();
    await page.getByLabel('Your question').fill('Second');
    await page.keyboard.press('Enter');
    await page.getByText('One').waitFor();
    await page.evaluate(() => {
      const reads: string[] = [];
      Object.assign(globalThis, { reads });
      for (const name of ['get', 'getAll', 'openCursor'] as const) {
        const before = IDBObjectStore.prototype[name] as (...given: unknown[]) => IDBRequest;
        IDBObjectStore.prototype[name] = function read(this: IDBObjectStore, ...given: unknown[]) {
          reads.push(this.name);
          return before.apply(this, given);
        } as never;
      }
    });
    const chats = page.getByRole('navigation', { name: 'Chats in this browser' });
    await chats.getByLabel('Search chats').pressSequentially('osaka');
    await expect.poll(() => chats.getByRole('link').allInnerTexts()).toEqual(['First']);
    const reads = (): Promise<string[]> => page.evaluate(() => (globalThis as unknown as { reads: string[] }).reads);
    // The first search reads the words of each chat once.
    expect((await reads()).filter((store) => store === 'texts')).toHaveLength(2);
    expect((await reads()).filter((store) => store === 'chats').length).toBeLessThanOrEqual(1);
    await chats.getByLabel('Search chats').fill('two');
    more.resolve();
    await expect.poll(() => chats.getByRole('link').allInnerTexts()).toEqual(['Second']);
    expect((await reads()).filter((store) => store === 'texts')).toHaveLength(2);
    expect(it.faults).toEqual([]);
  });

  it('can be pinned, so that it stays on top', async () => {
    await using gateway = await gatewaySaying(says('One.'), says('Two.'));
    await using it = await openPage(gateway.url, { reducedMotion: 'reduce', manage: 'closed' });
    const { page } = it;
    await ask(page, 'First');
    await page.getByRole('button', { name: 'Pin chat' }).click();
    await page.getByRole('button', { name: 'New chat' }).click();
    await ask(page, 'Second');
    const chats = page.getByRole('navigation', { name: 'Chats in this browser' });
    await expect.poll(() => chats.getByRole('heading').allInnerTexts()).toEqual(['Pinned', 'Today']);
    expect(await chats.getByRole('link').allInnerTexts()).toEqual(['First', 'Second']);
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await page.reload();
    await chats.getByRole('heading', { name: 'Pinned' }).waitFor();
    await chats.getByRole('link', { name: 'First' }).click();
    await page.getByRole('button', { name: 'Unpin chat' }).click();
    await expect.poll(() => chats.getByRole('heading').allInnerTexts()).toEqual(['Today']);
    expect(it.faults).toEqual([]);
  });

  it('is beside the other pages, which one entry opens', async () => {
    await using gateway = await gatewaySaying(says('One.'));
    await using it = await openPage(gateway.url, { manage: 'closed' });
    const { page } = it;
    await page.getByRole('link', { name: 'New chat' }).waitFor();
    expect(await page.getByRole('link', { name: 'Presets' }).count()).toBe(0);
    await page.getByText('Manage', { exact: true }).filter({ visible: true }).click();
    await page.getByRole('link', { name: 'Presets' }).click();
    await page.getByRole('heading', { name: 'Presets', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'New chat' }).click();
    await page.reload();
    await page.getByRole('link', { name: 'Presets' }).waitFor();
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
