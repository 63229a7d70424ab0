import { afterAll, expect, it } from 'vitest';
import { pages } from '../../src/console/pages.ts';
import { closePages, describeInChromium, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import type { WatchedPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import type { FreshGateway } from '../_support/fresh-gateway.ts';

const closings: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closings.toReversed()) await close();
  await closePages();
});

interface Visit {
  gateway: FreshGateway;
  key: string;
  /** The `:id` of each route that has one. */
  ids: Readonly<Record<string, string>>;
}

const nowhere = { chats: 'nowhere', models: 'nowhere', 'tool-servers': 'nowhere', runs: 'nowhere' };

async function startGateway(): Promise<FreshGateway> {
  const gateway = await freshGateway();
  closings.push(() => gateway[Symbol.asyncDispose]());
  return gateway;
}

async function send(url: string, key: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json', 'x-api-key': key };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  expect(response.ok).toBe(true);
  return response;
}

/** Callers and the data that they see. */
const visits = {
  'on a new gateway': async (): Promise<Visit> => {
    const gateway = await startGateway();
    return { gateway, key: gateway.app.startKey ?? '', ids: nowhere };
  },
  'on a gateway with data on every page': async (): Promise<Visit> => {
    const gateway = await startGateway();
    const start = gateway.app.startKey ?? '';
    const made = (await (await send(`${gateway.url}/api/keys`, start, { name: 'administrator', role: 'admin' })).json()) as { key: string };
    const { key } = made;
    const users = { from: 'header', name: 'x-openwebui-user-id' };
    await send(`${gateway.url}/api/keys`, key, { name: 'A frontend with many users', role: 'user', users });
    await send(`${gateway.url}/api/presets`, key, { id: 'clerk', base_model: 'demo', system: 'You are a clerk.' });
    const server = { id: 'mail', url: 'http://127.0.0.1:9', spec: mail, auth_type: 'bearer', per_user: true, info: { name: 'Mail' } };
    await send(`${gateway.url}/api/tool-servers`, key, server);
    const question = { role: 'user', content: 'What time is it in Osaka?' };
    const chat = await send(`${gateway.url}/v1/chat/completions`, key, { model: 'demo', messages: [question] });
    return { gateway, key, ids: { ...nowhere, 'tool-servers': 'time', runs: chat.headers.get('x-toolwharf-run-id') ?? '' } };
  },
  'with a user’s key': async (): Promise<Visit> => {
    const gateway = await startGateway();
    const start = gateway.app.startKey ?? '';
    const admin = (await (await send(`${gateway.url}/api/keys`, start, { name: 'administrator', role: 'admin' })).json()) as {
      key: string;
    };
    const user = (await (await send(`${gateway.url}/api/keys`, admin.key, { name: 'user', role: 'user' })).json()) as { key: string };
    return { gateway, key: user.key, ids: { ...nowhere, 'tool-servers': 'time' } };
  },
};

const mail = {
  openapi: '3.1.0',
  info: { title: 'Mail', version: '1' },
  paths: { '/whoami': { get: { operationId: 'whoami', responses: { 200: { description: 'The account' } } } } },
};

interface Open extends Visit {
  it: WatchedPage;
}

const opened = new Map<string, Promise<Open>>();

/** Looking at a page changes nothing, so the cases of a visit share one gateway and one browser profile, which loads the console only once. */
function openOnce(name: keyof typeof visits): Promise<Open> {
  const open = async (): Promise<Open> => {
    const visit = await visits[name]();
    const it = await openPage(visit.gateway.url, { path: `/#key=${visit.key}`, reducedMotion: 'reduce' });
    closings.push(() => it[Symbol.asyncDispose]());
    return { ...visit, it };
  };
  const found = opened.get(name) ?? open();
  opened.set(name, found);
  return found;
}

const routes = pages.flatMap(({ path, routes = [path] }) => routes);

const cases = (Object.keys(visits) as (keyof typeof visits)[]).flatMap((name) => routes.map((route) => [route, name] as const));

describeInChromium('every page of the console', () => {
  it.each(cases)('%s passes axe and never scrolls sideways, at any width and theme, %s', async (route, name) => {
    const { gateway, ids, it } = await openOnce(name);
    const path = route.replace(/([\w-]+)\/:id/, (_, kind: string) => {
      const id = ids[kind];
      if (id === undefined) throw new Error(`Say here which ${kind} to show for ${route}.`);
      return `${kind}/${id}`;
    });
    it.faults.length = 0;
    await it.page.goto(gateway.url + path);
    await it.settled();
    // Wait for the page itself, not its loading state.
    await it.page.locator('main :is(h1, h2, [role=alert])').first().waitFor();
    expect(await findFaultsInAllLooks(it.page)).toEqual([]);
    expect(it.faults).toEqual([]);
    expect(it.foreign).toEqual([]);
  });

  it('is reported when an image has no text alternative or a line is too wide', async () => {
    await using gateway = await freshGateway();
    await using it = await openPage(gateway.url);
    await it.page.getByRole('heading', { name: 'What would you like to know?' }).waitFor();
    expect(await findFaultsInAllLooks(it.page)).toEqual([]);
    await it.page.evaluate(() => {
      const line = document.createElement('p');
      line.style.minWidth = '500px';
      line.textContent = 'wide';
      document.querySelector('main h1')?.append(document.createElement('img'), line);
    });
    const found = (await findFaultsInAllLooks(it.page)).join('\n');
    expect(found).toContain('image-alt');
    expect(found).toMatch(/360 px, dark: .* in 3\d\d/);
  });
});
