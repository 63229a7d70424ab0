import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext, BrowserContextOptions, ConsoleMessage, Page, Request } from 'playwright-core';
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

/** One process for all files that a worker tests. */
function launch(): Promise<Browser> {
  if (!isThere) throw new Error('These tests need a Chromium: set CHROMIUM_PATH to its program, such as /usr/bin/chromium.');
  // The pages of a profile have one renderer.
  const args = ['--no-sandbox', '--renderer-process-limit=1', `--disable-features=${disabledFeatures.join(',')}`];
  browser ??= chromium.launch({ executablePath: path, args });
  return browser;
}

/** What a page has for itself while it is open. */
interface Profile {
  context: BrowserContext;
  /** Keeps the renderer of the profile, which would end with its last page. */
  home: Page;
}

/**
 * Profiles without a page, by their options. A new one costs as much as everything else that it takes to open a page: a renderer is started, and the
 * console loaded and compiled.
 */
const free = new Map<string, Profile[]>();

async function takeProfile(url: string, options: BrowserContextOptions): Promise<Profile> {
  const found = free.get(JSON.stringify(options))?.pop();
  if (found !== undefined) return found;
  const context = await newContext(options);
  const home = await context.newPage();
  // Any page of the origin that runs nothing.
  await home.goto(`${url}/console/assets/none`);
  return { context, home };
}

/** Forgets all that pages can keep, and what a test has set. */
async function leaveProfile({ context, home }: Profile, url: string, options: BrowserContextOptions): Promise<void> {
  for (const page of context.pages()) if (page !== home) await page.close();
  const session = await context.newCDPSession(home);
  await session.send('Storage.clearDataForOrigin', { origin: url, storageTypes: 'all' });
  await session.detach();
  await context.clearCookies();
  await context.setOffline(false);
  const key = JSON.stringify(options);
  free.set(key, [...(free.get(key) ?? []), { context, home }]);
}

/** After the tests of a file: closes what these have left open. The process serves the next file of the worker, and ends with the worker. */
export async function closePages(): Promise<void> {
  const kept = new Set([...free.values()].flat().map(({ context }) => context));
  for (const context of (await browser)?.contexts() ?? []) if (!kept.has(context)) await context.close();
}

export async function closeChromium(): Promise<void> {
  await (await browser)?.close();
  browser = undefined;
  free.clear();
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

/** A page at `url`, the address of a gateway, in a profile that knows nothing of it, but that the list of pages in the side bar is open. */
export async function openPage(
  url: string,
  { path: at = '/', manage = 'open', ...options }: BrowserContextOptions & { path?: string; manage?: 'open' | 'closed' } = {},
): Promise<WatchedPage> {
  const profile = await takeProfile(url, options);
  // A profile that is used again may have been elsewhere.
  if (!profile.home.url().startsWith(`${url}/`)) await profile.home.goto(`${url}/console/assets/none`);
  if (manage === 'open') await profile.home.evaluate(() => localStorage.setItem('toolwharf.manage', 'open'));
  const watched = await watchedPage(url, profile.context, () => leaveProfile(profile, url, options));
  await watched.page.goto(url + at);
  return watched;
}

/** A page without content, without a policy, and without a network; requests are counted all the same. */
export async function openBarePage(): Promise<WatchedPage> {
  const context = await newContext({});
  await context.setOffline(true);
  return watchedPage('about:', context, () => context.close());
}

async function newContext(options: BrowserContextOptions): Promise<BrowserContext> {
  const context = await (await launch()).newContext({ locale: 'en-GB', timezoneId: 'UTC', ...options });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) =>
      console.error(`policy: ${violatedDirective} ${blockedURI} ${sample}`),
    );
  });
  return context;
}

async function watchedPage(url: string, context: BrowserContext, leave: () => Promise<void>): Promise<WatchedPage> {
  const faults: string[] = [];
  const foreign: string[] = [];
  const open = new Set<Request>();
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
  return { page, faults, foreign, settled, [Symbol.asyncDispose]: leave };
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

/** The rules of axe that look at colours. */
const colourRules = ['color-contrast', 'link-in-text-block'];

/** What stands in the way of people with disabilities, a line each: rule and elements; by all rules, or only those given. */
export async function findBarriers(page: Page, rules?: readonly string[]): Promise<string[]> {
  // Moving colours would be measured half-way. Other looks are there from the next frame on, and may begin to move then.
  await page.evaluate(async () => {
    for (let frame = 0; frame < 3; frame += 1) {
      await new Promise((resolve) => void requestAnimationFrame(resolve));
      for (const animation of document.getAnimations())
        if (animation.effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY) animation.finish();
    }
  });
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe);
  return page.evaluate(async (runOnly) => {
    const { axe: checker } = globalThis as unknown as {
      axe: {
        run(
          options: object,
        ): Promise<{ violations: { id: string; impact: string; nodes: { target: string[]; failureSummary: string }[] }[] }>;
      };
    };
    const { violations } = await checker.run({ resultTypes: ['violations'], ...(runOnly !== undefined && { runOnly }) });
    return violations.flatMap(({ id, impact, nodes }) =>
      ['serious', 'critical'].includes(impact)
        ? nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary}`)
        : [],
    );
  }, rules);
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
  const widths = new Set<number>();
  for (const { name, viewport, colorScheme } of looks) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    // In other colours a page of the same width has nothing else than before.
    const rules = widths.has(viewport.width) ? colourRules : undefined;
    widths.add(viewport.width);
    const faults = [...(await findBarriers(page, rules)), ...(await findSidewaysScroll(page))];
    found.push(...faults.map((fault) => `${name}: ${fault}`));
  }
  return found;
}
