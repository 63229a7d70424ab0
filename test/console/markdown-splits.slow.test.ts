import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { closePages, describeInChromium, openBarePage } from '../_support/chromium.ts';
import type { WatchedPage } from '../_support/chromium.ts';
import { findForeignMarkup } from '../_support/find-markup.ts';
import { deepTexts, hostileTexts } from './hostile-texts.ts';

/**
 * The part that shows Markdown, alone on a page without any policy: what became markup would act here.
 */
let bundle = '';
let watched: WatchedPage;
let page: Page;

beforeAll(async () => {
  const source = (path: string): string => JSON.stringify(fileURLToPath(new URL(`../../src/console/${path}`, import.meta.url)));
  const entry = `import { h, render } from 'preact';
import { Markdown } from ${source('parts/markdown/markdown.tsx')};
globalThis.show = (text, place) => render(h(Markdown, { text }), place);`;
  const build = await rolldown({
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    platform: 'browser',
    tsconfig: false,
    transform: { jsx: { runtime: 'automatic', importSource: 'preact' }, define: { 'import.meta': '{}' } },
    input: 'entry',
    plugins: [{ name: 'entry', resolveId: (id) => (id === 'entry' ? id : null), load: (id) => (id === 'entry' ? entry : null) }],
  });
  const { output } = await build.generate({ format: 'iife' });
  await build.close();
  bundle = output[0].code;
});
afterAll(closePages);

/** Shows a text as it comes: in each of the ways, one after the other, pieces of it. Gives what it was in the end, each different one once. */
async function showInPieces(
  text: string,
  ways: 'one character at a time' | 'every two pieces',
): Promise<{ shown: string[]; markup: string[] }> {
  const shown = await page.evaluate(
    ([whole, way]) => {
      const { show } = globalThis as unknown as { show: (text: string, place: Element) => void };
      const results = new Set<string>();
      const newPlace = (): Element => document.body.appendChild(document.createElement('div'));
      document.body.replaceChildren();
      // Nothing is taken away, so that all that ever stood there is looked at.
      if (way === 'one character at a time') {
        const place = newPlace();
        for (let end = 0; end <= whole.length; end++) {
          show(whole.slice(0, end), place);
          document.body.append(...[...place.children].map((child) => child.cloneNode(true)));
        }
        results.add(place.innerHTML);
      } else
        for (let end = 0; end <= whole.length; end++) {
          const place = newPlace();
          show(whole.slice(0, end), place);
          show(whole, place);
          results.add(place.innerHTML);
        }
      const place = newPlace();
      show(whole, place);
      results.add(place.innerHTML);
      return [...results];
    },
    [text, ways] as const,
  );
  return { shown, markup: [...new Set(await findForeignMarkup(page))] };
}

describeInChromium('hostile Markdown', () => {
  beforeAll(async () => {
    watched = await openBarePage();
    page = watched.page;
    // Each frame of the screen has its share of text; here one begins with each text.
    await page.evaluate(() => {
      globalThis.requestAnimationFrame = (begin) => (begin(0), 0);
    });
    await page.addScriptTag({ content: bundle });
    await page.evaluate(() => document.querySelector('script')?.remove());
  });

  it.each(Object.entries(hostileTexts))('with %s is text in every split, and the same in all of them', async (_what, text) => {
    for (const ways of ['one character at a time', 'every two pieces'] as const) {
      const { shown, markup } = await showInPieces(text, ways);
      expect(markup).toEqual([]);
      expect(shown).toHaveLength(1);
    }
    expect(watched.faults).toEqual([]);
    expect(watched.foreign).toEqual([]);
  });

  it.each(Object.entries(deepTexts))('with very deep %s is text, whole and cut anywhere', async (_what, text) => {
    for (const end of [1, 2, 3, 5].map((part) => Math.floor(text.length / part))) {
      await page.evaluate(
        (piece) => {
          const { show } = globalThis as unknown as { show: (text: string, place: Element) => void };
          document.body.replaceChildren();
          show(piece, document.body.appendChild(document.createElement('div')));
        },
        text.slice(0, end),
      );
      expect(await findForeignMarkup(page)).toEqual([]);
    }
    expect(watched.faults).toEqual([]);
    expect(watched.foreign).toEqual([]);
  });

  it('would be found if it were markup', async () => {
    for (const text of [hostileTexts['handlers of events'], hostileTexts['styles'], hostileTexts['frames and objects']]) {
      await page.evaluate((html) => (document.body.innerHTML = html), text ?? '');
      expect(await findForeignMarkup(page)).not.toEqual([]);
    }
    await page.evaluate(() => {
      document.body.innerHTML =
        '<a href="javascript:alert(1)">a</a><a href="//evil.example">b</a><img src="https://evil.example/p.png" alt="">';
    });
    expect(await findForeignMarkup(page)).toEqual([
      '<a href="javascript:alert(1)">',
      '<a href="//evil.example">',
      '<img src="https://evil.example/p.png">',
    ]);
    await expect.poll(() => watched.faults.join()).toContain('dialog');
    await expect.poll(() => watched.foreign.join()).toContain('evil.example');
  });
});
