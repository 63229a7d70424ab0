import type { Page } from 'playwright-core';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import type { ModelEvent } from '../../src/core/chat/chat.ts';
import { backendOf } from '../_support/build-app.ts';
import { closePages, describeInChromium, findBarriers, openPage } from '../_support/chromium.ts';
import type { WatchedPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import { says, ScriptedModel } from '../_support/scripted-model.ts';
import type { ScriptStep } from '../_support/scripted-model.ts';

afterAll(closePages);

const adminKey = 'sk-tw-administrator';
const textOf = (text: string): ModelEvent => ({ type: 'text', text });

/** The chat of somebody whose key can be deleted meanwhile. */
async function chatOf(...turns: ScriptStep[][]): Promise<{ it: WatchedPage; model: ScriptedModel; deleteKey: () => Promise<void> }> {
  const model = new ScriptedModel(...turns);
  const gateway = await freshGateway({ TOOLWHARF_ADMIN_KEY: adminKey }, { backends: [backendOf(model)] });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };
  const made = await fetch(`${gateway.url}/api/keys`, { method: 'POST', headers, body: JSON.stringify({ name: 'ada', role: 'user' }) });
  const { id, key } = (await made.json()) as { id: string; key: string };
  const it = await openPage(gateway.url, { path: `/#key=${key}`, reducedMotion: 'reduce' });
  onTestFinished(() => it[Symbol.asyncDispose]());
  await it.page.getByRole('heading', { name: 'What would you like to know?' }).waitFor();
  await it.settled();
  return {
    it,
    model,
    async deleteKey() {
      await fetch(`${gateway.url}/api/keys/${id}`, { method: 'DELETE', headers: { authorization: `Bearer ${adminKey}` } });
    },
  };
}

async function ask(page: Page, question: string): Promise<void> {
  await page.getByLabel('Your question').fill(question);
  await page.keyboard.press('Enter');
}

async function enterKey(page: Page): Promise<void> {
  await page.getByLabel('Key', { exact: true }).fill(adminKey);
  await page.getByRole('button', { name: 'Use this key' }).click();
}

const dialog = (page: Page) => page.getByRole('dialog', { name: 'Enter your API key' });

describeInChromium('a chat whose key is refused', () => {
  it('has another one entered for a question, and answers that then', async () => {
    const { it, model, deleteKey } = await chatOf(says('Good day.'), says('And good night.'));
    const { page } = it;
    await ask(page, 'Hello');
    await page.getByText('Good day.').waitFor();
    await deleteKey();
    await ask(page, 'Bye');
    await dialog(page).getByText('was not accepted').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await enterKey(page);
    await page.getByText('And good night.').waitFor();
    expect(model.requests.at(-1)?.messages.map(({ content }) => content)).toEqual(['Hello', 'Good day.', 'Bye']);
    expect(await page.locator('.chat-answer .problem').count()).toBe(0);
    expect(it.faults).toEqual([]);
  });

  it('asks for another one while its answer is running, and keeps what is being typed', async () => {
    const { it, deleteKey } = await chatOf([textOf('One, '), new Promise(() => undefined)], says('One, two.'));
    const { page } = it;
    await ask(page, 'Count');
    await page.getByText('One,').waitFor();
    await page.getByLabel('Your question').fill('And then');
    await deleteKey();
    await dialog(page).getByText('was not accepted').waitFor();
    await enterKey(page);
    expect(await page.getByLabel('Your question').inputValue()).toBe('And then');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('One, two.').waitFor();
    expect(it.faults).toEqual([]);
  });

  it('says what is missing when none is entered, and asks again', async () => {
    const { it, deleteKey } = await chatOf(says('Good day.'));
    const { page } = it;
    await deleteKey();
    await ask(page, 'Hello');
    await dialog(page).getByRole('button', { name: 'Cancel' }).click();
    const problem = page.locator('.chat-answer .problem');
    await problem.getByText('was not accepted').waitFor();
    // As it is kept.
    await page.reload();
    await dialog(page).getByRole('button', { name: 'Cancel' }).click();
    await problem.getByText('was not accepted').waitFor();
    await problem.getByRole('button', { name: 'Try again' }).click();
    await dialog(page).waitFor();
    await enterKey(page);
    await page.getByText('Good day.').waitFor();
    expect(it.faults).toEqual([]);
  });

  it('asks for one at once where there is none', async () => {
    const { it } = await chatOf(says('Good day.'));
    const { page } = it;
    await page.evaluate(() => localStorage.clear());
    await page.reload();
    await dialog(page).getByRole('button', { name: 'Cancel' }).click();
    await ask(page, 'Hello');
    await dialog(page).waitFor({ timeout: 3_000 });
    await enterKey(page);
    await page.getByText('Good day.').waitFor();
    expect(it.faults).toEqual([]);
  });
});
