import { afterAll, expect, it } from 'vitest';
import { backendOf } from '../_support/build-app.ts';
import { closePages, describeInChromium, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import { mcpHttpServer } from '../_support/mcp-http-server.ts';
import { calls, says, ScriptedModel } from '../_support/scripted-model.ts';
import { toolOf } from '../tools/mcp/scripted-peer.ts';

afterAll(closePages);

describeInChromium('the palette', () => {
  it('opens chats, pages, servers, functions and models by words, by keyboard alone', async () => {
    const model = new ScriptedModel(says('Fine.'), says('Very fine.'));
    await using gateway = await freshGateway({}, { backends: [backendOf(model, ['one', 'two'])] });
    await using it = await openPage(gateway.url, { path: `/#key=${gateway.app.startKey ?? ''}`, reducedMotion: 'reduce' });
    const { page } = it;
    await page.getByLabel('Your question').fill('How are you?');
    await page.keyboard.press('Enter');
    await page.locator('.chat-answer .chat-foot').waitFor();
    const palette = page.getByRole('dialog', { name: 'Go to' });
    const go = async (words: string, name: string): Promise<void> => {
      await page.keyboard.press('Control+K');
      await palette.getByRole('option', { name: 'New chat' }).waitFor();
      await page.keyboard.type(words);
      await palette.getByRole('option', { name, selected: true }).waitFor();
      await page.keyboard.press('Enter');
      await palette.waitFor({ state: 'detached' });
    };
    await go('presets', 'Presets');
    await page.getByRole('heading', { name: 'Presets', level: 1 }).waitFor();
    await go('how YOU', 'How are you?');
    await page.getByText('Fine.').waitFor();
    await go('format_current', 'format_current_time');
    await page.waitForURL('**/console/tool-servers/time');
    await go('two model', 'two');
    await expect.poll(() => page.locator('select.chat-model').inputValue()).toBe('two');
    await page.keyboard.press('Control+K');
    await palette.getByRole('option').nth(1).waitFor();
    await page.keyboard.press('ArrowDown');
    await palette.getByRole('option', { name: 'How are you?', selected: true }).waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await page.keyboard.type('nothing like this');
    await palette.getByText('No matches.').waitFor();
    await page.keyboard.press('Escape');
    await palette.waitFor({ state: 'detached' });
    expect(it.faults).toEqual([]);
  });

  it('is one of the shortcuts, which a question mark lists', async () => {
    await using gateway = await freshGateway();
    await using it = await openPage(gateway.url, { reducedMotion: 'reduce' });
    const { page } = it;
    await page.getByLabel('Your question').fill('What?');
    await page.keyboard.press('?');
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.getByRole('link', { name: 'New chat' }).focus();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('New chat').waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.keyboard.press('/');
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('TEXTAREA');
    await page.goto(`${gateway.url}/console/presets`);
    await page.getByRole('heading', { name: 'Presets', level: 1 }).waitFor();
    await page.keyboard.press('Control+Shift+O');
    await page.getByRole('heading', { name: 'What would you like to know?' }).waitFor();
    expect(it.faults).toEqual([]);
  });
});

describeInChromium('a question that is edited', () => {
  it('is sent by Enter', async () => {
    const model = new ScriptedModel(says('One.'), says('Two.'));
    await using gateway = await freshGateway({}, { backends: [backendOf(model)] });
    await using it = await openPage(gateway.url);
    const { page } = it;
    await page.getByLabel('Your question').fill('First');
    await page.keyboard.press('Enter');
    await page.locator('.chat-answer .chat-foot').waitFor();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('line');
    await page.keyboard.press('Enter');
    await page.getByText('Two.').waitFor();
    expect(model.requests[1]?.messages.at(-1)?.content).toBe('First\nline');
  });
});

describeInChromium('an approval that waits while another window is in front', () => {
  it('is a notification, after the person has allowed them when they were first of use', async () => {
    const server = await mcpHttpServer([toolOf('pay', { inputSchema: { type: 'object', properties: {} } })], {
      onCall: () => ({ content: [{ type: 'text', text: 'Paid.' }] }),
    });
    const connection = { id: 'bank', type: 'mcp', url: server.url, config: { needs_approval: true } };
    const model = new ScriptedModel(calls(['pay', {}]), says('One.'), calls(['pay', {}]), says('Two.'));
    const settings = { TOOL_SERVER_CONNECTIONS: JSON.stringify([connection]) };
    await using gateway = await freshGateway(settings, { backends: [backendOf(model)] });
    await using it = await openPage(gateway.url, { reducedMotion: 'reduce' });
    const { page } = it;
    await page.addInitScript(() => {
      const shown: string[] = [];
      class Doubled extends EventTarget {
        static permission = 'default';
        static requestPermission = (): Promise<string> => Promise.resolve('granted');
        constructor(title: string, { body: text }: { body: string }) {
          super();
          shown.push(`${title}: ${text}`);
        }
      }
      Object.assign(globalThis, { Notification: Doubled, shown });
    });
    await page.reload();
    const ask = async (question: string): Promise<void> => {
      await page.getByLabel('Your question').fill(question);
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Approve' }).waitFor();
    };
    await ask('Time?');
    const offer = page.getByRole('button', { name: 'Notify me when input is needed' });
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await offer.click();
    await offer.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('One.').waitFor();
    const shown = (): Promise<string[]> => page.evaluate(() => (globalThis as unknown as { shown: string[] }).shown);
    expect(await shown()).toEqual([]);
    await page.evaluate(() => void Object.defineProperty(document, 'visibilityState', { value: 'hidden' }));
    await ask('And now?');
    await expect.poll(shown).toEqual(['Your input is needed: Time?']);
    expect(it.faults).toEqual([]);
  });
});
