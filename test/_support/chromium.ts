import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContextOptions, ConsoleMessage, Page, Request } from 'playwright-core';
import { describeUnless } from './missing.ts';
import { waitFor } from './wait-for.ts';

/** Where a Chromium is: nothing is looked for elsewhere, and nothing downloaded. */
const path = process.env['CHROMIUM_PATH'];
const isThere = path !== undefined && path !== '' && existsSync(path);

/** Tests in a real browser. */
export function describeInChromium(title: string, tests: () => void): void {
  describeUnless(isThere ? undefined : 'CHROMIUM_PATH names no Chromium', title, tests);
}

/** What Chromium does without. */
const disabledFeatures = [
  // The list under its address bar: two more renderers for each page, which take more time than the page.
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  // What Playwright disables: only the last list counts.
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'TcpPortRandomizationWin',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
];

let browser: Promise<Browser> | undefined;

/** One process for all files that a worker tests; each page has a profile of its own. */
function launch(): Promise<Browser> {
  if (!isThere) throw new Error('These tests need a Chromium: set CHROMIUM_PATH to its program, such as /usr/bin/chromium.');
  browser ??= chromium.launch({ executablePath: path, args: ['--no-sandbox', `--disable-features=${disabledFeatures.join(',')}`] });
  return browser;
}

/** After the tests of a file. The process serves the next file of the worker, and ends with the worker. */
export async function closePages(): Promise<void> {
  for (const context of (await browser)?.contexts() ?? []) await context.close();
}

export async function closeChromium(): Promise<void> {
  await (await browser)?.close();
  browser = undefined;
}

export interface WatchedPage {
  page: Page;
  /** Breaches of the page's policy, faults of its scripts, and what it has logged as an error. */
  faults: string[];
  /** Requests to others than the gateway. */
  foreign: string[];
  /** Resolves when everything that was asked for is there and shown, and nothing was asked for because of it. */
  settled(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A page of a new profile at `url`, the address of a gateway. */
export async function openPage(
  url: string,
  { path: at = '/', ...options }: BrowserContextOptions & { path?: string } = {},
): Promise<WatchedPage> {
  const watched = await watchedPage(url, options);
  await watched.page.goto(url + at);
  return watched;
}

/** A page without content, without a policy, and without a network; requests are counted all the same. */
export async function openBarePage(): Promise<WatchedPage> {
  const watched = await watchedPage('about:', {});
  await watched.page.context().setOffline(true);
  return watched;
}

async function watchedPage(url: string, options: BrowserContextOptions): Promise<WatchedPage> {
  const context = await (await launch()).newContext({ locale: 'en-GB', timezoneId: 'UTC', ...options });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const faults: string[] = [];
  const foreign: string[] = [];
  const open = new Set<Request>();
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) =>
      console.error(`policy: ${violatedDirective} ${blockedURI} ${sample}`),
    );
  });
  const page = await context.newPage();
  page.on('console', (message: ConsoleMessage) => {
    if (message.type() === 'error' && !isExpected(message.text())) faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(error.stack ?? error.message));
  page.on('request', (request: Request) => {
    open.add(request);
    if (!request.url().startsWith(url) && !/^(?:data|blob):/.test(request.url())) foreign.push(request.url());
  });
  page.on('requestfinished', (request) => void open.delete(request));
  page.on('requestfailed', (request) => void open.delete(request));
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.setDefaultTimeout(45_000);
  const settled = (): Promise<void> =>
    waitFor(async () => {
      if (open.size === 0) await page.evaluate(threeFrames);
      if (open.size > 0) throw new Error(`${[...open].map((request) => request.url()).join(', ')} is not answered`);
    });
  return { page, faults, foreign, settled, [Symbol.asyncDispose]: () => context.close() };
}

/** What an answer changes is shown by the first one, and what the page asks for then is under way after the second. */
const threeFrames = async (): Promise<void> => {
  for (let frame = 0; frame < 3; frame += 1) await new Promise((resolve) => void requestAnimationFrame(resolve));
};

/** Chromium logs each answer that is an error; what the page makes of it is another matter. */
function isExpected(text: string): boolean {
  return text.startsWith('Failed to load resource') || text.startsWith('WebSocket connection to');
}

const axe = readFileSync(fileURLToPath(new URL('../../node_modules/axe-core/axe.min.js', import.meta.url)), 'utf8');

/** What stands in the way of people with disabilities, a line each: rule and elements. */
export async function findBarriers(page: Page): Promise<string[]> {
  // Moving colours would be measured half-way. Other looks are there from the next frame on, and may begin to move then.
  await page.evaluate(async () => {
    for (let frame = 0; frame < 3; frame += 1) {
      await new Promise((resolve) => void requestAnimationFrame(resolve));
      for (const animation of document.getAnimations())
        if (animation.effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY) animation.finish();
    }
  });
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe);
  return page.evaluate(async () => {
    const { axe: checker } = globalThis as unknown as {
      axe: {
        run(
          options: object,
        ): Promise<{ violations: { id: string; impact: string; nodes: { target: string[]; failureSummary: string }[] }[] }>;
      };
    };
    const { violations } = await checker.run({ resultTypes: ['violations'] });
    return violations.flatMap(({ id, impact, nodes }) =>
      ['serious', 'critical'].includes(impact)
        ? nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary}`)
        : [],
    );
  });
}

/** Where the page scrolls sideways: the page itself, and each part but those that are made for it, which the keyboard reaches. */
export function findSidewaysScroll(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('*')].flatMap((element) => {
      const isWider = element.scrollWidth > element.clientWidth + 1;
      const isPage = element === document.documentElement || element.tagName === 'BODY';
      const scrolls = isPage || (['auto', 'scroll'].includes(getComputedStyle(element).overflowX) && (element as HTMLElement).tabIndex < 0);
      const isField = element.matches('input, textarea, select');
      return isWider && scrolls && !isField
        ? [`${element.tagName} ${element.className}: ${element.scrollWidth} in ${element.clientWidth}`]
        : [];
    }),
  );
}

/** Widths and colours that every page has to do with. */
export const looks = [
  { name: '360 px, dark', viewport: { width: 360, height: 740 }, colorScheme: 'dark' },
  { name: '360 px, light', viewport: { width: 360, height: 740 }, colorScheme: 'light' },
  { name: 'wide, dark', viewport: { width: 1280, height: 800 }, colorScheme: 'dark' },
  { name: 'wide, light', viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
] as const;

/** What is wrong with a page as it stands, in every look. */
export async function findFaultsInAllLooks(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const { name, viewport, colorScheme } of looks) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    const faults = [...(await findBarriers(page)), ...(await findSidewaysScroll(page))];
    found.push(...faults.map((fault) => `${name}: ${fault}`));
  }
  return found;
}
