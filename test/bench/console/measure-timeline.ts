import type { Page } from 'playwright-core';

const eventCount = 10_000;
const created = '2026-01-01T00:00:00.000Z';
const at = (ms: number): string => new Date(Date.parse(created) + ms).toISOString();

/** The gateway logs fewer events of a run, so the answer to the page's question is made here. */
function runOf(count: number, status: 'running' | 'completed'): string {
  const events = Array.from({ length: count }, (_, index) => {
    const id = `c${index >> 1}`;
    const tool = `tool_${index >> 1}`;
    return index % 2 === 0
      ? { type: 'tool.call', time: at(index), data: { id, tool, args: { berth: index, words: 'as they are asked for' }, server: 's' } }
      : {
          type: 'tool.result',
          time: at(index),
          data: { id, tool, duration_ms: 1, response: { items: [index, 'a ship', { of: 'some length' }] } },
        };
  });
  const finished = status === 'completed' ? at(count) : null;
  return JSON.stringify({ id: 'long', status, model: 'mock', mode: 'native', created, finished, usage: null, events });
}

export async function openTimeline(page: Page): Promise<void> {
  const body = runOf(eventCount, 'completed');
  await page.route('**/api/runs/long', (route) => route.fulfill({ contentType: 'application/json', body }));
  await showTimeline(page);
}

/** From the beginning to the end by the wheel, and back and forth by jumps. */
export const scrollTimeline = (page: Page): Promise<void> => scroll(page, 6_000);

/** Five hundred events more each time that the page asks, while it is scrolled. */
export async function growTimeline(page: Page): Promise<void> {
  let count = eventCount - 4_000;
  await page.route('**/api/runs/long', (route) => {
    count = Math.min(count + 500, eventCount);
    return route.fulfill({ contentType: 'application/json', body: runOf(count, count < eventCount ? 'running' : 'completed') });
  });
  await showTimeline(page);
  const end = page.getByText('completed', { exact: true });
  while ((await end.count()) === 0) await scroll(page, 1_500);
  await page.locator('.run-steps').evaluate((list) => list.scrollTo({ top: list.scrollHeight }));
  await page.getByText(`tool_${eventCount / 2 - 1}`, { exact: true }).waitFor();
}

async function showTimeline(page: Page): Promise<void> {
  // Without a load, which is not what is measured here.
  await page.evaluate(() => {
    history.pushState(null, '', '/console/runs/long');
  });
  await page.locator('.run-step').first().waitFor();
}

async function scroll(page: Page, pixels: number): Promise<void> {
  const list = page.locator('.run-steps');
  await list.hover();
  for (let moved = 0; moved < pixels; moved += 300) {
    await page.mouse.wheel(0, 300);
    await page.waitForTimeout(16);
  }
  for (const share of [0.5, 1, 0.1, 0.9, 0, 1]) {
    await list.evaluate((element, part) => element.scrollTo({ top: element.scrollHeight * part }), share);
    await page.waitForTimeout(50);
  }
}
