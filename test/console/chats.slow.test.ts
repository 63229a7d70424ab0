import type { Duplex } from 'node:stream';
import type { Locator, Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import type { ModelEvent } from '../../src/core/chat/chat.ts';
import { startTimeServer } from '../../src/demo/time-server.ts';
import { backendOf } from '../_support/build-app.ts';
import { closePages, describeInChromium, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import { ScriptedModel } from '../_support/scripted-model.ts';
import type { ScriptStep } from '../_support/scripted-model.ts';
import { documentWith } from '../tools/scripted-send.ts';

afterAll(closePages);

const textOf = (text: string): ModelEvent => ({ type: 'text', text });
const end: ModelEvent[] = [{ type: 'finish', reason: 'stop' }];

function scripted(...turns: ScriptStep[][]) {
  const model = new ScriptedModel(...turns);
  return { model, parts: { backends: [backendOf(model)] } };
}

async function ask(page: Page, question: string): Promise<void> {
  await page.getByLabel('Your question').fill(question);
  await page.keyboard.press('Enter');
}

/** Whether a click would meet it, without scrolling to it first. */
function isInSight(control: Locator): Promise<boolean> {
  return control.evaluate((element) => {
    const { x, y, width, height } = element.getBoundingClientRect();
    return element.contains(document.elementFromPoint(x + width / 2, y + height / 2));
  });
}

describeInChromium('a chat', () => {
  it('begins with the model that was chosen last, and names one that is gone', async () => {
    const model = new ScriptedModel([textOf('Good day.'), ...end]);
    await using gateway = await freshGateway({ TOOLWHARF_DEMO: 'false' }, { backends: [backendOf(model, ['one', 'two'])] });
    await using it = await openPage(gateway.url);
    const { page } = it;
    const choice = page.locator('select.chat-model');
    await choice.locator('option').nth(1).waitFor({ state: 'attached' });
    expect(await choice.inputValue()).toBe('one');
    await choice.selectOption('two');
    await ask(page, 'Hello');
    await page.locator('.chat-answer .chat-foot').waitFor();
    await page.getByRole('button', { name: 'New chat' }).click();
    await page.getByRole('heading', { name: 'What would you like to know?' }).waitFor();
    expect(await choice.inputValue()).toBe('two');
    await page.goto(`${gateway.url}/?model=three`);
    await choice.getByText('three (unavailable)').waitFor({ state: 'attached' });
    expect(await choice.inputValue()).toBe('three');
  });

  it('is answered by one of many models, which is found by words of its name', async () => {
    const model = new ScriptedModel([textOf('Fine.'), ...end]);
    const models = Array.from({ length: 300 }, (_, index) => `maker-${index % 7}/model-${index}`);
    await using gateway = await freshGateway({ TOOLWHARF_DEMO: 'false' }, { backends: [backendOf(model, models)] });
    await using it = await openPage(gateway.url, { path: `/#key=${gateway.app.startKey ?? ''}` });
    const { page } = it;
    await page.getByRole('button', { name: 'Model: maker-0/model-0' }).click();
    const dialog = page.getByRole('dialog', { name: 'Model' });
    await dialog.getByRole('button', { name: 'maker-0/model-0' }).waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await page.keyboard.type('277 MAKER');
    expect(await dialog.locator('.model-list button').allInnerTexts()).toEqual(['maker-4/model-277']);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Model: maker-4/model-277' }).waitFor();
    await ask(page, 'How are you?');
    await page.locator('.chat-foot', { hasText: 'maker-4/model-277' }).waitFor();
    await page.getByRole('button', { name: 'Model: maker-4/model-277' }).click();
    expect(await dialog.getByRole('button', { name: 'maker-4/model-277' }).getAttribute('aria-current')).toBe('true');
    await dialog.getByLabel('Search models').fill('nobody');
    await dialog.getByText('No matching models.').waitFor();
    await dialog.getByLabel('Search models').fill('model-12');
    await dialog.getByRole('button', { name: 'maker-0/model-126' }).click();
    await page.getByRole('button', { name: 'Model: maker-0/model-126' }).waitFor();
    // A preset's model is chosen in the same way.
    await page.getByRole('link', { name: 'Presets' }).click();
    await page.getByRole('button', { name: 'New preset' }).click();
    await page.getByRole('button', { name: 'Model: maker-0/model-0' }).click();
    await page.keyboard.type('model-298');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Model: maker-4/model-298' }).waitFor();
    expect(it.faults).toEqual([]);
  });

  it('is told where to choose among too many functions, and of a server that is gone, without names of the API', async () => {
    const spec = documentWith(...Array.from({ length: 300 }, (_, index) => `function_${index}`));
    const connections = JSON.stringify([{ id: 'many', url: 'http://127.0.0.1:9', spec }]);
    const { parts } = scripted([textOf('Fine.'), ...end]);
    await using gateway = await freshGateway({ TOOL_SERVER_CONNECTIONS: connections }, parts);
    const headers = { authorization: `Bearer ${gateway.app.startKey ?? ''}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ id: 'short-lived', url: 'http://127.0.0.1:9', spec: documentWith('look') });
    await fetch(`${gateway.url}/api/tool-servers`, { method: 'POST', headers, body });
    await using it = await openPage(gateway.url, { reducedMotion: 'reduce' });
    const { page } = it;
    await ask(page, 'How are you?');
    const warning = page.locator('.chat-warning');
    await warning.waitFor();
    await page.getByText('Fine.').waitFor();
    expect(await warning.allInnerTexts()).toEqual([expect.stringContaining('To choose them yourself, open Tools below.')]);
    expect(await page.locator('.chat-answer').innerText()).not.toContain('tool_ids');
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await page.getByRole('button', { name: 'Tools and options' }).click();
    await page.getByRole('group', { name: 'Tools', exact: true }).getByLabel('Only these').check();
    await page.getByRole('group', { name: 'Tools', exact: true }).getByLabel('short-lived').check();
    await page.keyboard.press('Escape');
    await fetch(`${gateway.url}/api/tool-servers/short-lived`, { method: 'DELETE', headers: { authorization: headers.authorization } });
    await ask(page, 'And now?');
    const problem = page.locator('.chat-answer .problem');
    await problem.waitFor();
    expect(await problem.innerText()).toContain('A tool that this chat uses no longer exists. To choose others, open Tools below.');
    expect(await problem.innerText()).not.toContain('tool_ids');
  });

  it('is given one of many tool servers, which is found by its name', async () => {
    const spec = { openapi: '3.1.0', info: { title: 'x', version: '1' }, paths: { '/a': { get: { operationId: 'read', responses: {} } } } };
    const connections = Array.from({ length: 60 }, (_, index) => ({ id: `server-${index}`, url: 'http://127.0.0.1:9', spec }));
    const { model, parts } = scripted([textOf('Fine.'), ...end]);
    await using gateway = await freshGateway({ TOOL_SERVER_CONNECTIONS: JSON.stringify(connections) }, parts);
    await using it = await openPage(gateway.url);
    const { page } = it;
    await page.getByRole('button', { name: 'Tools and options' }).click();
    const tools = page.getByRole('group', { name: 'Tools', exact: true });
    await tools.getByLabel('Only these').check();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await tools.getByLabel('Search tools').fill('server-47');
    await tools.getByRole('checkbox').check();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Tools and options' }).getByText('Tools: 1').waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await ask(page, 'How are you?');
    await page.getByText('Fine.').waitFor();
    expect(model.requests[0]?.tools).toHaveLength(1);
  });

  it('goes on when its connection drops, and loses no text', async () => {
    const more = Promise.withResolvers<void>();
    const { parts } = scripted([textOf('One, '), more.promise, textOf('two, '), textOf('three.'), ...end]);
    await using gateway = await freshGateway({}, parts);
    const sockets: Duplex[] = [];
    gateway.app.server.server.on('upgrade', (_request, socket) => sockets.push(socket));
    await using it = await openPage(gateway.url);
    await ask(it.page, 'Count');
    await it.page.getByText('One,').waitFor();
    for (const socket of sockets) socket.destroy();
    await it.page.getByText('Connection lost').waitFor();
    // Between two texts it says that more is to come.
    await it.page.locator('.chat-answer .chat-thinking').waitFor();
    more.resolve();
    await it.page.getByText('One, two, three.').waitFor();
    await it.page.locator('.chat-answer .chat-foot').waitFor();
    expect(await it.page.locator('.chat-thinking').count()).toBe(0);
    expect(it.faults).toEqual([]);
  });

  it('can be stopped while it has no connection, and ends at the gateway when there is one again', async () => {
    const { model, parts } = scripted([textOf('One, '), new Promise(() => undefined)]);
    await using gateway = await freshGateway({}, parts);
    const sockets: Duplex[] = [];
    gateway.app.server.server.on('upgrade', (_request, socket) => sockets.push(socket));
    await using it = await openPage(gateway.url);
    const { page } = it;
    await ask(page, 'Count');
    await page.getByText('One,').waitFor();
    await page.context().setOffline(true);
    for (const socket of sockets) socket.destroy();
    await page.getByText('Connection lost').waitFor();
    await page.getByRole('button', { name: 'Stop (Esc)' }).click();
    await page.locator('.chat-answer', { hasText: 'Stopped.' }).waitFor();
    await page.getByText('Connection lost').waitFor({ state: 'detached' });
    expect(await page.locator('.chat-answer').innerText()).toContain('One,');
    expect(model.requests[0]?.signal.aborted).toBe(false);
    await page.context().setOffline(false);
    await expect.poll(() => model.requests[0]?.signal.aborted).toBe(true);
  });

  it('goes on when its page is loaded again, and loses no text', async () => {
    const more = Promise.withResolvers<void>();
    const { parts } = scripted([textOf('One, '), more.promise, textOf('two, '), textOf('three.'), ...end]);
    await using gateway = await freshGateway({}, parts);
    await using it = await openPage(gateway.url);
    const { page } = it;
    await ask(page, 'Count');
    await page.getByText('One,').waitFor();
    await page.reload();
    await page.getByText('One,').waitFor();
    await page.getByRole('button', { name: 'Stop (Esc)' }).waitFor();
    more.resolve();
    await page.getByText('One, two, three.').waitFor();
    await page.locator('.chat-answer .chat-foot').waitFor();
    expect(await page.locator('.chat-answer .problem').count()).toBe(0);
    expect(it.faults).toEqual([]);
  });

  it('goes on beside another one when their page is loaded again', async () => {
    const more = Promise.withResolvers<void>();
    const { parts } = scripted(
      [textOf('One, '), more.promise, textOf('two.'), ...end],
      [textOf('Three, '), more.promise, textOf('four.'), ...end],
    );
    await using gateway = await freshGateway({}, parts);
    await using it = await openPage(gateway.url);
    const { page } = it;
    await ask(page, 'First');
    await page.getByText('One,').waitFor();
    await page.getByRole('button', { name: 'New chat' }).click();
    await ask(page, 'Second');
    await page.getByText('Three,').waitFor();
    await page.reload();
    await page.getByText('Three,').waitFor();
    more.resolve();
    await page.getByText('Three, four.').waitFor();
    await page.getByRole('link', { name: 'First' }).click();
    await page.getByText('One, two.').waitFor();
    expect(await page.locator('.chat-answer .problem').count()).toBe(0);
    expect(it.faults).toEqual([]);
  });

  it('gives way to a new one at once, so that what is typed and sent then is not lost', async () => {
    const { parts } = scripted([textOf('One, '), new Promise(() => undefined)]);
    await using gateway = await freshGateway({}, parts);
    await using it = await openPage(gateway.url);
    const { page } = it;
    await ask(page, 'First');
    await page.getByText('One,').waitFor();
    const shown = await page.getByRole('button', { name: 'New chat' }).evaluate(async (button) => {
      (button as HTMLElement).click();
      await new Promise((resolve) => void setTimeout(resolve));
      return document.querySelector('main h1')?.textContent;
    });
    expect(shown).toBe('What would you like to know?');
  });

  it('gives way to another one that is still being read, so that nothing is sent in the wrong chat', async () => {
    const { parts } = scripted([textOf('One.'), ...end], [textOf('Two.'), ...end]);
    await using gateway = await freshGateway({}, parts);
    await using it = await openPage(gateway.url);
    const { page } = it;
    await ask(page, 'First');
    await page.locator('.chat-answer .chat-foot').waitFor();
    await page.getByRole('button', { name: 'New chat' }).click();
    await ask(page, 'Second');
    await page.locator('.chat-answer .chat-foot').waitFor();
    // Only the chat of the address is open then.
    await page.reload();
    await page.getByText('Two.').waitFor();
    const shown = await page.getByRole('link', { name: 'First' }).evaluate(async (link) => {
      (link as HTMLElement).click();
      await Promise.resolve();
      await Promise.resolve();
      return document.querySelector('main h1')?.textContent;
    });
    expect(shown).not.toBe('Second');
    await page.getByText('One.').waitFor();
  });

  it('leaves the focus in a question that is begun as soon as a new chat is there', async () => {
    const { parts } = scripted([textOf('One.'), ...end]);
    await using gateway = await freshGateway({}, parts);
    await using it = await openPage(gateway.url);
    const { page } = it;
    await ask(page, 'First');
    await page.locator('.chat-answer .chat-foot').waitFor();
    const focused = await page.getByRole('link', { name: 'New chat' }).evaluate(async (link) => {
      (link as HTMLElement).click();
      while (document.querySelector('.chat-answer') !== null) await Promise.resolve();
      document.querySelector<HTMLElement>('.composer textarea')?.focus();
      const elsewhere: string[] = [];
      document.addEventListener('focusin', ({ target }) => void elsewhere.push((target as Element).tagName));
      for (let frame = 0; frame < 5; frame += 1) await new Promise(requestAnimationFrame);
      return [document.activeElement?.tagName, ...elsewhere];
    });
    expect(new Set(focused)).toEqual(new Set(['TEXTAREA']));
  });

  it('keeps all that had come when its page is closed, and offers another try', async () => {
    const { parts } = scripted([textOf('One, '), textOf('two'), new Promise(() => undefined)], [textOf('Three.'), ...end]);
    await using gateway = await freshGateway({}, parts);
    await using it = await openPage(gateway.url);
    await ask(it.page, 'Count');
    await it.page.getByText('One, two').waitFor();
    const address = it.page.url();
    const other = await it.page.context().newPage();
    await it.page.close();
    await other.goto(address);
    await other.getByText('One, two').waitFor();
    await other.getByText('The page was closed before this answer was complete.').waitFor();
    await other.getByRole('button', { name: 'Try again' }).click();
    await other.getByText('Three.').waitFor();
    expect(it.faults).toEqual([]);
  });

  it('keeps an answer that ends just before its page is loaded again', async () => {
    const more = Promise.withResolvers<void>();
    const { parts } = scripted([textOf('One, '), more.promise, textOf('two.'), ...end]);
    await using gateway = await freshGateway({}, parts);
    await using it = await openPage(gateway.url);
    const { page } = it;
    await ask(page, 'Count');
    await page.getByText('One,').waitFor();
    // As if the page went away before anything more is written.
    await page.evaluate(() => void (IDBObjectStore.prototype.put = () => new EventTarget() as IDBRequest<IDBValidKey>));
    more.resolve();
    await page.locator('.chat-answer .chat-foot').waitFor();
    for (let times = 0; times < 2; times += 1) {
      await page.reload();
      await page.getByText('One, two.').waitFor();
    }
    expect(await page.getByText('The page was closed').count()).toBe(0);
  });

  it('folds the reasoning, and says how long it took as soon as it has ended', async () => {
    const { parts } = scripted([{ type: 'reasoning', text: 'Let me think.' }, textOf('Well, '), new Promise(() => undefined)]);
    await using gateway = await freshGateway({}, parts);
    await using it = await openPage(gateway.url);
    await ask(it.page, 'Why?');
    await it.page.getByText(/^Thought for/).click();
    await it.page.getByText('Let me think.').waitFor();
    expect(it.faults).toEqual([]);
  });

  it('stays at its end while more comes and when a question is asked, and stays where its reader has scrolled to', async () => {
    const lines = (count: number): ScriptStep[] => Array.from({ length: count }, (_, index) => textOf(`Line ${index}.\n\n`));
    const more = Promise.withResolvers<void>();
    const { parts } = scripted([...lines(60), more.promise, ...lines(30), ...end], [...lines(40), ...end]);
    await using gateway = await freshGateway({}, parts);
    await using it = await openPage(gateway.url);
    const { page } = it;
    const frame = page.locator('.chat-scroll');
    const fromEnd = (): Promise<number> =>
      frame.evaluate(({ scrollHeight, scrollTop, clientHeight }) => Math.round(scrollHeight - scrollTop - clientHeight));
    await ask(page, 'Count');
    await page.getByText('Line 59.').waitFor();
    await expect.poll(fromEnd).toBe(0);
    // A smaller window, such as one with a keyboard.
    await page.setViewportSize({ width: 360, height: 500 });
    await expect.poll(fromEnd).toBe(0);
    await frame.evaluate((element) => element.scrollTo({ top: 100 }));
    const toEnd = page.getByRole('button', { name: 'Scroll to end' });
    await toEnd.waitFor();
    more.resolve();
    await page.locator('.chat-answer .chat-foot').waitFor();
    expect(await frame.evaluate(({ scrollTop }) => scrollTop)).toBe(100);
    await toEnd.click();
    await expect.poll(fromEnd).toBe(0);
    await frame.evaluate((element) => element.scrollTo({ top: 100 }));
    await toEnd.waitFor();
    await ask(page, 'Again');
    await page.locator('.chat-answer .chat-foot').nth(1).waitFor();
    await expect.poll(fromEnd).toBe(0);
    await page.reload();
    await page.locator('.chat-answer').nth(1).waitFor();
    await expect.poll(fromEnd).toBe(0);
    expect(await toEnd.count()).toBe(0);
  });

  it('tells screen readers of each answer that is complete', async () => {
    const { parts } = scripted([textOf('First.'), ...end], [textOf('Second.'), ...end], [textOf('Third.'), ...end]);
    await using gateway = await freshGateway({}, parts);
    await using it = await openPage(gateway.url);
    const { page } = it;
    await page.locator('[aria-live]', { hasText: 'Chat' }).first().waitFor({ state: 'attached' });
    const spoken = await page.evaluateHandle(() => {
      const heard: (string | null)[] = [];
      const region = document.querySelector('[aria-live]');
      if (region !== null)
        new MutationObserver(() => heard.push(region.textContent)).observe(region, { childList: true, characterData: true, subtree: true });
      return heard;
    });
    for (const answer of ['First.', 'Second.', 'Third.']) {
      await ask(page, 'And?');
      await page.getByText(answer).waitFor();
      await page.locator('.chat-answer', { hasText: answer }).locator('.chat-foot').waitFor();
    }
    await expect.poll(async () => (await spoken.jsonValue()).map((text) => text?.trim())).toEqual(Array(3).fill('The answer is complete.'));
  });

  it('is stopped by Escape, and keeps what had come', async () => {
    const { parts } = scripted([textOf('A long story'), new Promise(() => undefined)]);
    await using gateway = await freshGateway({}, parts);
    await using it = await openPage(gateway.url);
    await ask(it.page, 'Tell me a story');
    await it.page.getByText('A long story').waitFor();
    await it.page.getByLabel('Your question').press('Escape');
    await it.page.locator('.chat-answer', { hasText: 'Stopped.' }).waitFor();
    expect(await it.page.locator('.chat-answer').innerText()).toContain('A long story');
  });

  it('is kept in this browser, with its draft, and can be deleted', async () => {
    const { parts } = scripted([textOf('Certainly.'), ...end]);
    await using gateway = await freshGateway({}, parts);
    await using it = await openPage(gateway.url);
    await ask(it.page, 'Remember this');
    await it.page.locator('.chat-answer .chat-foot').waitFor();
    await it.page.getByLabel('Your question').fill('A half thought');
    await it.page.reload();
    await it.page.getByText('Certainly.').waitFor();
    expect(await it.page.getByLabel('Your question').inputValue()).toBe('A half thought');
    await it.page.getByRole('button', { name: 'Delete chat' }).click();
    await it.page.getByRole('button', { name: 'Delete', exact: true }).click();
    await it.page.getByRole('heading', { name: 'What would you like to know?' }).waitFor();
    expect(await it.page.getByRole('link', { name: 'Remember this' }).count()).toBe(0);
  });

  it('shows in each of two tabs what is asked in the other', async () => {
    const more = Promise.withResolvers<void>();
    const { model, parts } = scripted(
      [textOf('First.'), ...end],
      [textOf('Sec'), more.promise, textOf('ond.'), ...end],
      [textOf('Third.'), ...end],
    );
    await using gateway = await freshGateway({}, parts);
    await using it = await openPage(gateway.url);
    const { page } = it;
    await ask(page, 'One?');
    await page.locator('.chat-answer .chat-foot').waitFor();
    const tab = await page.context().newPage();
    await tab.goto(page.url());
    await tab.getByText('First.').waitFor();
    await ask(tab, 'Two?');
    await page.locator('.chat-question', { hasText: 'Two?' }).waitFor();
    expect(await page.locator('.chat-answer .problem').count()).toBe(0);
    more.resolve();
    await page.locator('.chat-answer', { hasText: 'Second.' }).locator('.chat-foot').waitFor();
    await ask(page, 'Three?');
    await tab.locator('.chat-answer', { hasText: 'Third.' }).locator('.chat-foot').waitFor();
    expect(model.requests[2]?.messages.map(({ content }) => content)).toEqual(['One?', 'First.', 'Two?', 'Second.', 'Three?']);
    await page.getByRole('button', { name: 'Rename chat' }).click();
    await page.getByLabel('Chat title').fill('Numbers');
    await page.keyboard.press('Enter');
    await tab.getByRole('heading', { name: 'Numbers', level: 1 }).waitFor();
    expect(await findFaultsInAllLooks(tab)).toEqual([]);
    expect(it.faults).toEqual([]);
  });

  it('loses nothing of what is asked in two tabs', async () => {
    const { parts } = scripted(...['First.', 'Second.', 'Third.'].map((text) => [textOf(text), ...end]));
    await using gateway = await freshGateway({}, parts);
    await using it = await openPage(gateway.url);
    const { page } = it;
    // As if both were asked at the same time: neither tab hears of the other in time.
    const deafen = (): void => void (BroadcastChannel.prototype.postMessage = () => undefined);
    await page.addInitScript(deafen);
    await page.reload();
    await ask(page, 'One?');
    await page.getByText('First.').waitFor();
    const tab = await page.context().newPage();
    await tab.addInitScript(deafen);
    await tab.goto(page.url());
    await tab.getByText('First.').waitFor();
    await ask(tab, 'Two?');
    await tab.locator('.chat-answer', { hasText: 'Second.' }).locator('.chat-foot').waitFor();
    await ask(page, 'Three?');
    await page.locator('.chat-answer', { hasText: 'Third.' }).locator('.chat-foot').waitFor();
    await page.reload();
    await page.getByText('Third.').waitFor();
    await page.getByRole('button', { name: 'Previous version' }).click();
    await page.getByText('Second.').waitFor();
  });

  it('is answered again and asked differently, and shows each version with what followed it', async () => {
    const { model, parts } = scripted([textOf('First.'), ...end], [textOf('Second.'), ...end], [textOf('Third.'), ...end]);
    await using gateway = await freshGateway({}, parts);
    await using it = await openPage(gateway.url);
    const { page } = it;
    await ask(page, 'Say something');
    await page.getByText('First.').waitFor();
    await page.getByRole('button', { name: 'Regenerate' }).click();
    await page.getByText('Second.').waitFor();
    await page.getByRole('button', { name: 'Previous version' }).click();
    await page.getByText('First.').waitFor();
    await page.locator('.chat-message.user').hover();
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.keyboard.press('Escape');
    expect(await page.locator('.chat-edit').count()).toBe(0);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('textbox', { name: 'Your question' }).first().fill('Say something else');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('Third.').waitFor();
    expect(model.requests.at(-1)?.messages).toMatchObject([{ role: 'user', content: 'Say something else' }]);
  });

  it('asks before a call that needs it: arguments can be changed, and the call rejected with a reason', async () => {
    const time = await startTimeServer({ host: '127.0.0.1', port: 0 });
    const connections = [{ id: 'time', url: time.url, config: { needs_approval: true } }];
    await using gateway = await freshGateway({ TOOL_SERVER_CONNECTIONS: JSON.stringify(connections) });
    await using it = await openPage(gateway.url);
    const { page } = it;
    await page.getByRole('button', { name: 'What time is it in Osaka?' }).click();
    const question = page.getByLabel('Your input is needed');
    await question.waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await question.getByRole('button', { name: 'Edit arguments' }).click();
    await page.setViewportSize({ width: 360, height: 500 });
    const allow = question.getByRole('button', { name: 'Approve' });
    expect(await page.locator('.questions').evaluate(({ scrollHeight, clientHeight }) => scrollHeight > clientHeight)).toBe(true);
    expect(await isInSight(allow)).toBe(true);
    await page.setViewportSize({ width: 1280, height: 800 });
    await question.getByRole('button', { name: 'Edit as JSON' }).click();
    await question.locator('textarea').fill('{"timezone": "Europe/Oslo"}');
    await allow.click();
    await page.locator('.chat-answer .chat-foot').waitFor();
    await page.locator('.chat-sources .chip').click();
    await page.getByRole('dialog').getByText('Europe/Oslo').first().waitFor();
    await page.keyboard.press('Escape');
    await page.reload();
    const card = page.locator('.call');
    await card.getByText('timezone: Europe/Oslo').waitFor();
    await card.getByText('approved with changes').click();
    await card.getByRole('group', { name: 'Arguments', exact: true }).getByText('Europe/Oslo').waitFor();
    await card.getByRole('group', { name: 'Arguments from the model' }).getByText('Asia/Tokyo').waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);

    await ask(page, 'What time is it in Osaka?');
    await question.getByRole('button', { name: 'Reject…' }).click();
    await question.getByLabel('Message to the model').fill('Not now.');
    await question.getByRole('button', { name: 'Reject' }).click();
    await expect.poll(() => page.locator('.chip', { hasText: 'rejected' }).count()).toBe(1);
    expect(it.faults).toEqual([]);
    await time.close();
  });

  it('shows a long question from its beginning, and all of it where that is wanted', async () => {
    const { model, parts } = scripted([textOf('Read.'), ...end]);
    await using gateway = await freshGateway({}, parts);
    await using it = await openPage(gateway.url);
    const { page } = it;
    const text = Array.from({ length: 3_000 }, (_, index) => (index % 10 === 5 ? '' : `Line ${index} of a log that somebody pasted.`)).join(
      '\n',
    );
    // As by pasting: typed it would take long.
    await page.getByLabel('Your question').evaluate((field: HTMLTextAreaElement, pasted) => {
      field.value = pasted;
      field.dispatchEvent(new InputEvent('input', { bubbles: true }));
    }, text);
    await page.getByLabel('Your question').press('Enter');
    await page.locator('.chat-answer .chat-foot').waitFor();
    expect(model.requests[0]?.messages.at(-1)?.content).toBe(text);
    const bubble = page.locator('.chat-question');
    const heightOf = (): Promise<number> => bubble.evaluate((element) => element.getBoundingClientRect().height);
    expect(await heightOf()).toBeLessThan(400);
    expect((await bubble.textContent())?.length).toBeLessThan(10_000);
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await page.getByRole('button', { name: `Show all ${text.length.toLocaleString('en')} characters` }).click();
    await bubble.getByText('Line 2999 of').waitFor();
    expect(await bubble.locator('.chat-question-piece').evaluateAll((pieces) => pieces.map((piece) => piece.textContent).join('\n'))).toBe(
      text,
    );
    expect(await heightOf()).toBeGreaterThan(20_000);
    await page.getByRole('button', { name: 'Show less' }).click();
    expect(await heightOf()).toBeLessThan(400);
    expect(it.faults).toEqual([]);
  });

  it('is asked about a call on the page of its run, too', async () => {
    const time = await startTimeServer({ host: '127.0.0.1', port: 0 });
    const connections = [{ id: 'time', url: time.url, config: { needs_approval: true } }];
    await using gateway = await freshGateway({ TOOL_SERVER_CONNECTIONS: JSON.stringify(connections) });
    await using it = await openPage(gateway.url);
    const { page } = it;
    await page.getByRole('button', { name: 'What time is it in Osaka?' }).click();
    const question = page.getByLabel('Your input is needed');
    await question.waitFor();
    await page.getByRole('link', { name: 'Runs' }).click();
    await page.locator('.runs tbody').getByRole('link', { name: 'demo' }).click();
    await page.locator('.run-step').first().waitFor();
    await question.waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await question.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('End: completed').waitFor();
    expect(await question.count()).toBe(0);
    await page.getByRole('link', { name: 'Open chat' }).click();
    await page.locator('.call.done').getByText('approved').waitFor();
    expect(it.faults).toEqual([]);
    await time.close();
  });

  it('calls a server of this browser by itself, which the page itself may not ask', async () => {
    const time = await startTimeServer({ host: '127.0.0.1', port: 0 });
    await using gateway = await freshGateway({ TOOL_SERVER_CONNECTIONS: '[]' });
    await using it = await openPage(gateway.url);
    const { page } = it;
    await page.getByRole('button', { name: 'Tools and options' }).click();
    await page.getByLabel('Server URL').fill('ftp://192.168.1.20');
    await page.getByRole('button', { name: 'Add' }).click();
    await page.getByText('Enter an http:// or https:// URL').waitFor();
    await page.getByLabel('Server URL').fill(` ${time.url.replace('http://', '')} `);
    await page.getByRole('button', { name: 'Add' }).click();
    await page.getByText(/\d+ functions/).waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await ask(page, 'What time is it in Osaka?');
    await page.locator('.call.done').waitFor();
    expect(it.foreign.filter((url) => !url.startsWith(time.url))).toEqual([]);
    expect(it.foreign.length).toBeGreaterThanOrEqual(2);
    expect(it.faults).toEqual([]);
    const isRefused = await page.evaluate(
      (url) =>
        fetch(url).then(
          () => false,
          () => true,
        ),
      time.url,
    );
    expect(isRefused).toBe(true);
    await time.close();
  });
});
