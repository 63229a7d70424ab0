import type { BrowserContext } from 'playwright-core';
import { median } from '../measure-latency.ts';

export interface FirstLoad {
  /** Of all responses until nothing more was asked for, bodies as they were compressed, with their heads. */
  kilobytes: number;
  requests: number;
  /** First contentful paint, in milliseconds after the navigation; each in a new profile with an empty cache. */
  firstPaintMs: number;
  allFirstPaintMs: number[];
  /** Until the page could be typed into. */
  usableMs: number;
}

export async function measureFirstLoad(openContext: () => Promise<BrowserContext>, url: string, times: number): Promise<FirstLoad> {
  const paints: number[] = [];
  const usable: number[] = [];
  let kilobytes = 0;
  let requests = 0;
  // The first load is no measure: the console may have to be made, and the browser has just started.
  for (let turn = -1; turn < times; turn += 1) {
    const context = await openContext();
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send('Network.enable');
    let bytes = 0;
    let finished = 0;
    session.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength;
      finished += 1;
    });
    await page.goto(url, { waitUntil: 'networkidle' });
    await page.getByLabel('Your question').waitFor();
    const [paint, end] = await page.evaluate(() => {
      const first = performance.getEntriesByName('first-contentful-paint')[0];
      const loaded = performance.getEntriesByType('resource').filter(({ name }) => /chat-page|schema-form/.test(name));
      return [first?.startTime ?? Infinity, Math.max(...loaded.map((entry) => (entry as PerformanceResourceTiming).responseEnd))];
    });
    await context.close();
    if (turn < 0) continue;
    paints.push(paint);
    usable.push(end);
    [kilobytes, requests] = [bytes / 1_000, finished];
  }
  return { kilobytes, requests, firstPaintMs: median(paints), allFirstPaintMs: paints, usableMs: median(usable) };
}
