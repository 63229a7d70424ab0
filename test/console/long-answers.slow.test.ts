import type { Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import type { ModelEvent } from '../../src/core/chat/chat.ts';
import { backendOf } from '../_support/build-app.ts';
import { closePages, describeInChromium, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import { ScriptedModel } from '../_support/scripted-model.ts';
import type { ScriptStep } from '../_support/scripted-model.ts';

afterAll(closePages);

const end: ModelEvent = { type: 'finish', reason: 'stop' };
const piecesOf = (text: string): ScriptStep[] => (text.match(/[^]{1,2000}/g) ?? []).map((piece) => ({ type: 'text', text: piece }));
const lines = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => line(index)).join('\n');

async function ask(page: Page, question: string): Promise<void> {
  await page.getByLabel('Your question').fill(question);
  await page.keyboard.press('Enter');
}

const wholeText = (page: Page): Promise<string> => page.evaluate(() => document.querySelector('.markdown')?.textContent ?? '');

/** Long answers come on the screen over some frames. */
async function untilShown(page: Page, last: string): Promise<void> {
  await page.locator('.chat-answer .chat-foot').waitFor();
  await expect.poll(async () => (await wholeText(page)).includes(last)).toBe(true);
}

describeInChromium('a long answer', () => {
  it('changes only its end while it grows, and is followed to its end', async () => {
    const more = Promise.withResolvers<void>();
    const text = lines(3_000, (index) => `Sentence **${index}** of the answer.\n`);
    const model = new ScriptedModel([...piecesOf(text), more.promise, ...piecesOf(lines(20, (index) => `Later ${index}.\n`)), end]);
    await using gateway = await freshGateway({}, { backends: [backendOf(model)] });
    await using it = await openPage(gateway.url);
    const { page } = it;
    await ask(page, 'Tell me more');
    await expect.poll(async () => (await wholeText(page)).includes('Sentence 2999 of')).toBe(true);
    const parts = await page.locator('.markdown-part').count();
    await page.evaluate(() => {
      const changed = new Set<Element>();
      Object.assign(globalThis, { changed });
      new MutationObserver((records) => {
        for (const { target } of records) {
          const part = (target instanceof Element ? target : target.parentElement)?.closest('.markdown-part');
          if (part != null) changed.add(part);
        }
      }).observe(document.querySelector('.markdown') as Element, { subtree: true, childList: true, characterData: true, attributes: true });
    });
    more.resolve();
    await untilShown(page, 'Later 19.');
    expect(parts).toBeGreaterThan(3);
    expect(await page.evaluate(() => (globalThis as unknown as { changed: Set<Element> }).changed.size)).toBeLessThanOrEqual(2);
    expect(await page.locator('.chat-scroll').evaluate((frame) => frame.scrollHeight - frame.scrollTop - frame.clientHeight)).toBeLessThan(
      80,
    );
    expect(it.faults).toEqual([]);
  });

  it('that comes at once appears over several frames, and its code is copied as a whole', async () => {
    const code = lines(4_000, (index) => `const value_${index} = '<b>';`);
    const model = new ScriptedModel([{ type: 'text', text: `\`\`\`ts\n${code}\n\`\`\`\n\nThe end.` }, end]);
    await using gateway = await freshGateway({}, { backends: [backendOf(model)] });
    await using it = await openPage(gateway.url);
    const { page } = it;
    await page.evaluate(() => {
      const added: number[] = [];
      Object.assign(globalThis, { added });
      let before = 0;
      const look = (): void => {
        const now = document.querySelector('.markdown')?.textContent.length ?? 0;
        if (now !== before) added.push(now - before);
        before = now;
        requestAnimationFrame(look);
      };
      look();
    });
    await ask(page, 'Write code');
    await untilShown(page, 'The end.');
    const added = await page.evaluate(() => (globalThis as unknown as { added: number[] }).added);
    expect(Math.max(...added)).toBeLessThan(20_000);
    await page.locator('.markdown').getByRole('button', { name: 'Copy code' }).click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(code);
    expect(it.faults).toEqual([]);
  });
});

describeInChromium('no answer scrolls the page sideways on a telephone', () => {
  const wide: Record<string, string> = {
    'a line without spaces': `${'x'.repeat(50_000)} last`,
    'a code block of one line': `\`\`\`\n${'y'.repeat(50_000)}\n\`\`\`\n\nlast`,
    'a table of many columns': `|${'column|'.repeat(60)}\n|${'-|'.repeat(60)}\n|${'a_cell_of_some_width|'.repeat(60)}\n\nlast`,
    'a wide cell': `| a |\n|---|\n| ${'z'.repeat(5_000)} |\n\nlast`,
    'deep quotes': `${'> '.repeat(300)}deep\n\nlast`,
    'deep lists': `${lines(40, (index) => `${' '.repeat(index * 2)}- level ${index}`)}\n\nlast`,
    'deep numbers': `${lines(20, (index) => `${' '.repeat(index * 10)}${'1'.repeat(8)}. level ${index}`)}\n\nlast`,
    'an address': `https://l.example/${'a'.repeat(5_000)} and \`${'c'.repeat(5_000)}\` last`,
    'a heading': `# ${'h'.repeat(3_000)}\n\nlast`,
  };

  it.each(Object.entries(wide))('%s', async (_name, text) => {
    const model = new ScriptedModel([{ type: 'reasoning', text }, ...piecesOf(text), end]);
    await using gateway = await freshGateway({}, { backends: [backendOf(model)] });
    await using it = await openPage(gateway.url, { viewport: { width: 360, height: 740 } });
    const { page } = it;
    await ask(page, `${'q'.repeat(2_000)} ${'w '.repeat(20)}`);
    await untilShown(page, 'last');
    await page.locator('.chat-reasoning summary').click();
    await page.locator('.chat-reasoning .markdown').waitFor();
    const wider = await page.evaluate(() =>
      [document.documentElement, ...document.querySelectorAll('main, .chat-scroll, .chat-answer, .chat-message, .chat-head')]
        .filter((box) => box.scrollWidth > box.clientWidth)
        .map((box) => `${box.tagName}.${box.className}: ${box.scrollWidth} of ${box.clientWidth}`),
    );
    expect(wider).toEqual([]);
  });
});
