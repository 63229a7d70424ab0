import type { Locator, Page, Request } from 'playwright-core';
import { startTimeServer } from '../../../src/demo/time-server.ts';
import { openPage } from '../../_support/chromium.ts';
import { freshGateway } from '../../_support/fresh-gateway.ts';

/** How long somebody reads and aims before each action, and presses a key, in milliseconds. */
const aimMs = 2_000;
const keyMs = 80;

interface Step {
  name: string;
  /** Reading, aiming and typing. */
  personMs: number;
  /** From the action to what it leads to, while a request was running, and while none was. */
  gatewayMs: number;
  pageMs: number;
}

interface Tried {
  fn: string;
  /** What is typed, by the label of its field. */
  typed?: readonly [label: string, text: string];
}

interface Action {
  name: string;
  /** What the person does before they aim at it. */
  first?: () => Promise<void>;
  action: () => Promise<void>;
  /** What it leads to. */
  result: Locator;
}

/** Plays a person who has the address of a tool server in the clipboard, until one of its functions has answered. */
export async function timePerson({ fn, typed }: Tried): Promise<Step[]> {
  const server = await startTimeServer({ host: '127.0.0.1', port: 0 });
  await using gateway = await freshGateway({ TOOL_SERVER_CONNECTIONS: '[]' });
  await using it = await openPage(gateway.url, { path: `/console/tool-servers#key=${gateway.app.startKey ?? ''}` });
  const { page } = it;
  await page.getByText('No tool servers yet').waitFor();
  await page.evaluate((copied) => navigator.clipboard.writeText(copied), server.url);
  const steps: Step[] = [];
  const requests = recordRequests(page);
  const act = async ({ name, first, action, result }: Action): Promise<void> => {
    const begun = performance.now();
    await first?.();
    await page.waitForTimeout(aimMs);
    const [acted, since] = [performance.now(), Date.now()];
    await action();
    await result.waitFor();
    const waitedMs = performance.now() - acted;
    const gatewayMs = Math.min(waitedMs, busyBetween(requests, since, Date.now()));
    steps.push({ name, personMs: acted - begun, gatewayMs, pageMs: waitedMs - gatewayMs });
  };

  const add = page.getByRole('button', { name: 'Add 7 functions' });
  const tryIt = page.locator('.report-functions li', { hasText: fn }).getByRole('button', { name: 'Try', exact: true });
  const callIt = page.getByRole('button', { name: 'Run' });
  const answer = page.getByRole('heading', { name: /^Succeeded/ });
  const enterField = async (): Promise<void> => {
    await page.waitForTimeout(aimMs);
    await page.getByLabel(/^Paste the URL/).click();
  };
  const type = async ([label, text]: readonly [string, string]): Promise<void> => {
    await page.waitForTimeout(aimMs);
    await page.getByLabel(label).click();
    await page.keyboard.press('Control+A', { delay: keyMs });
    await page.keyboard.type(text, { delay: keyMs });
  };
  await act({ name: 'Paste the URL', first: enterField, action: () => page.keyboard.press('Control+V'), result: add });
  await act({ name: 'Add', action: () => add.click(), result: tryIt });
  await act({ name: 'Try', action: () => tryIt.click(), result: callIt });
  const called = { action: () => callIt.click(), result: answer };
  if (typed === undefined) await act({ name: 'Run', ...called });
  else await act({ name: `Type ${typed[1]}, and Run`, first: () => type(typed), ...called });
  await server.close();
  return steps;
}

export function printSteps(title: string, steps: readonly Step[]): void {
  const row = (name: string, { personMs, gatewayMs, pageMs }: Omit<Step, 'name'>): object => ({
    step: name,
    'person, s': (personMs / 1_000).toFixed(2),
    'gateway, ms': Math.round(gatewayMs),
    'page, ms': Math.round(pageMs),
    'in all, s': ((personMs + gatewayMs + pageMs) / 1_000).toFixed(2),
  });
  const sum = (of: (step: Step) => number): number => steps.reduce((total, step) => total + of(step), 0);
  const whole = { personMs: sum((step) => step.personMs), gatewayMs: sum((step) => step.gatewayMs), pageMs: sum((step) => step.pageMs) };
  console.log(title);
  console.table([...steps.map((step) => row(step.name, step)), row('in all', whole)]);
}

interface Interval {
  from: number;
  /** Undefined while it is running. */
  to?: number;
}

function recordRequests(page: Page): readonly Interval[] {
  const known = new Map<Request, Interval>();
  const recorded: Interval[] = [];
  page.on('request', (request) => {
    const interval = { from: Date.now() };
    known.set(request, interval);
    recorded.push(interval);
  });
  const end = (request: Request): void => void Object.assign(known.get(request) ?? {}, { to: Date.now() });
  page.on('requestfinished', end);
  page.on('requestfailed', end);
  return recorded;
}

/** How long at least one request was running. */
function busyBetween(intervals: readonly Interval[], start: number, end: number): number {
  let busyMs = 0;
  let reached = start;
  for (const { from, to = end } of intervals.toSorted((one, other) => one.from - other.from)) {
    const [first, last] = [Math.max(from, reached), Math.min(to, end)];
    if (last <= first) continue;
    busyMs += last - first;
    reached = last;
  }
  return busyMs;
}
