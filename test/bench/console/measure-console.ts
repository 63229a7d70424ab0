import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { residentMegabytes } from '../child-process.ts';
import { adminKey, startGateway } from '../gateway-process.ts';
import { answers, longText } from './answer-markdown.ts';
import { largeResultQuestion, startConsoleBackend } from './console-backend.ts';
import { measureFirstLoad } from './measure-first-load.ts';
import type { FirstLoad } from './measure-first-load.ts';
import { growTimeline, openTimeline, scrollTimeline } from './measure-timeline.ts';
import { watchTasks } from './watch-tasks.ts';
import type { Tasks } from './watch-tasks.ts';

/** One repetition of a case. */
export interface Watched extends Tasks {
  /** Of the document, of every kind. */
  nodes: number;
  /** Whether the page itself could be scrolled sideways. */
  isSideways: boolean;
}

export interface ConsoleResults {
  firstLoad: FirstLoad;
  /** By case; one entry a repetition. */
  cases: Record<string, Watched[]>;
  /** Of JavaScript, after a collection: with one chat, and when fifty have been opened. */
  heapMb: { one: number; fifty: number } | undefined;
  /** Resident memory of the gateway: at rest after its start, and ten seconds after pages were loaded; undefined where there is no /proc. */
  gatewayMb: { before: number | undefined; after: number | undefined };
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const viewport = { width: 1280, height: 800 };
const patienceMs = 120_000;
const chatsOpened = 50;
const paints = 9;
/** As at rest in `cold`. */
const restMs = 10_000;

export async function measureConsole(
  folder: string,
  { repetitions, pattern = '', note }: { repetitions: number; pattern?: string; note: (text: string) => void },
): Promise<ConsoleResults | undefined> {
  const path = process.env['CHROMIUM_PATH'];
  if (path === undefined || !existsSync(path)) {
    note('CHROMIUM_PATH names no Chromium: the console is not measured.');
    return undefined;
  }
  const isWanted = (name: string): boolean => new RegExp(pattern).test(name);
  execFileSync(process.execPath, [here('../../../src/packaging/keep-bundle.js')]);
  const backend = await startConsoleBackend();
  const gateway = await startGateway({
    // As `npm start` runs it, once its bundle is made.
    file: here('../../../src/start.js'),
    backendUrl: backend.url,
    folder,
    environment: { TOOL_SERVER_CONNECTIONS: JSON.stringify([{ id: 'harbour', url: backend.url }]) },
  });
  const browser = await chromium.launch({ executablePath: path, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
  const openContext = (): Promise<BrowserContext> => browser.newContext({ viewport, locale: 'en-GB' });
  const at = (place: string): string => `${gateway.url}${place}#key=${adminKey}`;
  const cases: Record<string, Watched[]> = {};
  /** What is done on one page, one after the other; each is a case. */
  const watch = async (place: string, steps: Record<string, (page: Page) => Promise<unknown>>): Promise<void> => {
    const context = await openContext();
    const page = await context.newPage();
    page.setDefaultTimeout(patienceMs);
    try {
      await page.goto(at(place));
      await page.locator('main h1').first().waitFor();
      for (const [name, work] of Object.entries(steps)) {
        const tasks = await watchTasks(browser, page, () => work(page));
        (cases[name] ??= []).push({ ...tasks, ...(await shapeOf(page)) });
        note(`  ${name}: ${tasks.longestCpuMs.toFixed(0)} ms of computing, ${tasks.longestMs.toFixed(0)} ms in all`);
      }
    } finally {
      await context.close();
    }
  };
  try {
    await pause(restMs);
    const before = residentMegabytes(gateway.pid);
    const firstLoad = await measureFirstLoad(openContext, at('/'), paints);
    note(`  first paint: ${firstLoad.allFirstPaintMs.map((ms) => ms.toFixed(0)).join(', ')} ms`);
    await pause(restMs);
    const gatewayMb = { before, after: residentMegabytes(gateway.pid) };
    for (const name of [...Object.keys(answers), largeResultQuestion].filter(isWanted))
      for (let turn = 0; turn < repetitions; turn += 1) await watch('/', { [name]: (page) => followAnswer(page, name) });
    for (let turn = 0; turn < repetitions; turn += 1) {
      if (isWanted(keptChat)) await watch('/', { [keptChat]: openKeptChat });
      if (!isWanted('a timeline')) continue;
      const long = 'a timeline of 10,000 events';
      await watch('/console/runs', { [`${long}, opened`]: openTimeline, [`${long}, scrolled`]: scrollTimeline });
      await watch('/console/runs', { 'a timeline that grows to 10,000 events': growTimeline });
    }
    const heapMb = isWanted('heap') ? await measureHeap(browser, at('/')) : undefined;
    return { firstLoad, cases, heapMb, gatewayMb };
  } finally {
    await browser.close();
    await gateway.end();
    backend.close();
  }
}

async function ask(page: Page, question: string): Promise<void> {
  await page.getByLabel('Your question').fill(question);
  await page.keyboard.press('Enter');
}

/** Asks, follows the answer to its end, and opens the result of a call where that is the point. */
async function followAnswer(page: Page, name: string): Promise<void> {
  await ask(page, name);
  await page.locator('.chat-answer .chat-foot').waitFor();
  if (name === largeResultQuestion) {
    await page.locator('.call summary').click();
    await page.locator('.call-content').waitFor();
  }
  await untilStill(page);
}

/** A long text is shown over some frames. */
async function untilStill(page: Page): Promise<void> {
  for (let [before, now] = [-1, 0]; now !== before; [before, now] = [now, await lengthOf(page)]) await page.waitForTimeout(500);
}

const lengthOf = (page: Page): Promise<number> => page.evaluate(() => document.querySelector('main')?.textContent.length ?? 0);

const keptChat = 'a kept chat of 60,000 tokens, opened';

/** Twenty long answers that this browser has kept. */
async function openKeptChat(page: Page): Promise<void> {
  const text = longText(3_000).join('');
  await page.evaluate(async (answerText) => {
    const parentOf = (index: number): string | undefined => (index === 0 ? undefined : `m${index - 1}`);
    const messages = Array.from({ length: 40 }, (_, index) =>
      index % 2 === 0
        ? { id: `m${index}`, parent: parentOf(index), role: 'user', text: 'And then?' }
        : {
            id: `m${index}`,
            parent: parentOf(index),
            role: 'assistant',
            state: 'done',
            parts: [{ kind: 'text', text: answerText }],
            sources: [],
            warnings: [],
            started: 0,
            finished: 1,
          },
    );
    const chat = {
      id: 'kept',
      title: 'Kept',
      updated: 0,
      settings: {},
      messages: Object.fromEntries(messages.map((message) => [message.id, message])),
      leaf: 'm39',
    };
    const opening = indexedDB.open('toolwharf', 1);
    opening.addEventListener('upgradeneeded', () => opening.result.createObjectStore('chats', { keyPath: 'id' }));
    await new Promise((resolve) => opening.addEventListener('success', resolve));
    const kept = opening.result.transaction('chats', 'readwrite').objectStore('chats').put(chat);
    await new Promise((resolve) => kept.addEventListener('success', resolve));
    opening.result.close();
    history.pushState(null, '', '/console/chats/kept');
  }, text);
  await page.locator('.chat-answer .chat-foot').last().waitFor();
  await untilStill(page);
}

async function shapeOf(page: Page): Promise<{ nodes: number; isSideways: boolean }> {
  return page.evaluate(() => {
    const walker = document.createTreeWalker(document, NodeFilter.SHOW_ALL);
    let nodes = 1;
    while (walker.nextNode() !== null) nodes += 1;
    const frames = [document.documentElement, ...document.querySelectorAll('main, .chat-scroll')];
    return { nodes, isSideways: frames.some((frame) => frame.scrollWidth > frame.clientWidth) };
  });
}

async function measureHeap(browser: Browser, url: string): Promise<{ one: number; fifty: number }> {
  const context = await browser.newContext({ viewport });
  const page = await context.newPage();
  page.setDefaultTimeout(patienceMs);
  await page.goto(url);
  const session = await context.newCDPSession(page);
  const heapMb = async (): Promise<number> => {
    await session.send('HeapProfiler.collectGarbage');
    const { usedSize } = await session.send('Runtime.getHeapUsage');
    return usedSize / 1024 / 1024;
  };
  const openNew = async (index: number): Promise<void> => {
    await page.getByRole('link', { name: 'New chat' }).first().click();
    await page.getByRole('heading', { name: 'What would you like to know?' }).waitFor();
    await ask(page, `a short answer # ${index}`);
    await page.locator('.chat-answer .chat-foot').waitFor();
  };
  await openNew(0);
  const one = await heapMb();
  for (let index = 1; index < chatsOpened; index += 1) await openNew(index);
  const fifty = await heapMb();
  await context.close();
  return { one, fifty };
}
