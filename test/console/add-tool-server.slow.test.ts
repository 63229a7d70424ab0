import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { startTimeServer } from '../../src/demo/time-server.ts';
import type { JsonObject } from '../../src/shared/json/json.ts';
import { closePages, describeInChromium, findBarriers, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import type { WatchedPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import type { FreshGateway } from '../_support/fresh-gateway.ts';
import { authorizationServer } from '../_support/authorization-server.ts';
import { protectedMcpServer } from '../_support/protected-servers.ts';
import { mcpHttpServer } from '../_support/mcp-http-server.ts';
import { documentWith } from '../tools/scripted-send.ts';
import { textResult, toolOf } from '../tools/mcp/scripted-peer.ts';

afterAll(closePages);

interface Desk {
  gateway: FreshGateway;
  it: WatchedPage;
  page: Page;
}

/** The page of tool servers, as an administrator sees it. */
async function desk(options: Parameters<typeof openPage>[1] = {}, environment: NodeJS.ProcessEnv = {}): Promise<Desk> {
  const gateway = await freshGateway(environment);
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const it = await openPage(gateway.url, { path: `/console/tool-servers#key=${gateway.app.startKey ?? ''}`, ...options });
  onTestFinished(() => it[Symbol.asyncDispose]());
  return { gateway, it, page: it.page };
}

type Answer = { status?: number; body: string | JsonObject; type?: string };

/** A server of one's own making, on a port of this machine until the test has ended. Undefined is a 404. */
async function siteWith(answer: (path: string, request: IncomingMessage) => Answer | undefined): Promise<string> {
  const server = createServer((request, response) => {
    const {
      status = 200,
      body,
      type = 'application/json',
    } = answer(request.url ?? '', request) ?? { status: 404, body: 'not here', type: 'text/plain' };
    response.writeHead(status, { 'content-type': type }).end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function paste(page: Page, text: string): Promise<void> {
  await page.evaluate((copied) => navigator.clipboard.writeText(copied), text);
  await page.getByLabel(/^Paste the URL/).focus();
  await page.keyboard.press('Control+V');
}

const dialog = (page: Page) => page.getByRole('dialog', { name: 'Add a tool server' });

describeInChromium('from a pasted address to a tool that answered', () => {
  it('takes four actions', async () => {
    const other = await startTimeServer({ host: '127.0.0.1', port: 0 });
    onTestFinished(() => other.close());
    const { page, it } = await desk();
    const steps: string[] = [];
    const act = async (step: string, work: () => Promise<unknown>): Promise<void> => {
      await work();
      steps.push(step);
    };
    await act('paste the address', () => paste(page, other.url));
    await page.getByText('per request').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await act('Add', () => page.getByRole('button', { name: 'Add 7 functions' }).click());
    const line = page.locator('.report-functions li', { hasText: 'get_current_utc' });
    await act('Try', () => line.getByRole('button', { name: 'Try', exact: true }).click());
    await act('Run', () => page.getByRole('button', { name: 'Run' }).click());
    await page.getByRole('heading', { name: /^Succeeded/ }).waitFor();
    expect(steps).toEqual(['paste the address', 'Add', 'Try', 'Run']);
    expect(it.faults).toEqual([]);
  });

  it('and to a chat that uses it', async () => {
    const other = await startTimeServer({ host: '127.0.0.1', port: 0 });
    onTestFinished(() => other.close());
    const { page } = await desk({}, { TOOL_SERVER_CONNECTIONS: '[]' });
    await page.getByText('No tool servers yet').waitFor();
    await paste(page, `${other.url}/openapi.json`);
    await page.getByRole('button', { name: 'Add 7 functions' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).waitFor();
    await page.getByRole('link', { name: 'New chat' }).click();
    await page.getByRole('button', { name: 'What time is it in Osaka?' }).click();
    await page.locator('.chat-answer .chat-foot').waitFor();
    expect(await page.locator('.call').count()).toBeGreaterThan(0);
    expect(await page.locator('.chat-answer').textContent()).toContain('Asia/Tokyo');
  });

  it('needs no mouse', async () => {
    const site = await siteWith((path) =>
      path === '/openapi.json' ? { body: documentWith('look') } : path === '/look' ? { body: { seen: 'a lighthouse' } } : undefined,
    );
    const { page } = await desk();
    const focusOn = async (name: RegExp): Promise<void> => {
      const isThere = (): Promise<boolean> =>
        page.evaluate(
          ([source = '', flags]) => {
            const { activeElement: at } = document;
            const label = at?.getAttribute('aria-label') ?? at?.textContent ?? '';
            return new RegExp(source, flags).test(label.trim());
          },
          [name.source, name.flags],
        );
      for (let presses = 0; presses < 60 && !(await isThere()); presses++) await page.keyboard.press('Tab');
      expect(await isThere()).toBe(true);
    };
    await focusOn(/^Paste the URL/);
    await page.keyboard.type(site.replace('http://', ''));
    await page.keyboard.press('Enter');
    await page.getByText('per request').waitFor();
    await focusOn(/^Add 1 function$/);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Delete', exact: true }).waitFor();
    await focusOn(/^Try$/);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Try look' }).waitFor();
    await focusOn(/^Run$/);
    await page.keyboard.press('Enter');
    await page.getByText('a lighthouse').waitFor();
    await page.keyboard.press('Escape');
    expect(await page.getByRole('dialog').count()).toBe(0);
  });
});

describeInChromium('the preview of an address', () => {
  it('finds a document that is elsewhere, and adds it from there', async () => {
    const site = await siteWith((path) => (path === '/v3/api-docs' ? { body: documentWith('look') } : undefined));
    const { page, gateway } = await desk();
    await paste(page, site);
    await page.getByText('Document: v3/api-docs').waitFor();
    await page.getByRole('button', { name: 'Add 1 function' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).waitFor();
    const headers = { 'x-api-key': gateway.app.startKey ?? '' };
    const { data } = (await (await fetch(`${gateway.url}/api/tool-servers`, { headers })).json()) as {
      data: { url: string; report: object }[];
    };
    expect(data.find(({ url }) => url === site)).toMatchObject({ report: { ok: true, document_url: `${site}/v3/api-docs` } });
  });

  it.each([
    ['a document without a file extension', '/schema/', '/schema/'],
    ['a page that displays a document', '/docs', '/hidden/spec'],
  ])('takes %s', async (_, given, place) => {
    const page = `<div id="swagger-ui"></div><script>SwaggerUIBundle({ url: '/hidden/spec' })</script>`;
    const site = await siteWith((path) =>
      path === place
        ? { body: { ...documentWith('look'), servers: [{ url: '/' }] } }
        : path === '/docs'
          ? { body: page, type: 'text/html' }
          : undefined,
    );
    const { page: shown } = await desk();
    await paste(shown, `${site}${given}`);
    if (given !== place) await shown.getByText(`Document: ${site}${place}`).waitFor();
    await shown.getByRole('button', { name: 'Add 1 function' }).click();
    await shown.getByRole('button', { name: 'Delete', exact: true }).waitFor();
  });

  it('asks for the path of a document that it cannot find', async () => {
    const site = await siteWith((path) => (path === '/very/own.spec' ? { body: documentWith('look') } : undefined));
    const { page, gateway } = await desk();
    await paste(page, site);
    await dialog(page).getByRole('alert').getByText('Set "path" to the path of the document').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await dialog(page).getByLabel('Path of the OpenAPI document').fill('very/own.spec');
    await page.getByRole('button', { name: 'Add 1 function' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).waitFor();
    const headers = { 'x-api-key': gateway.app.startKey ?? '' };
    const { data } = (await (await fetch(`${gateway.url}/api/tool-servers`, { headers })).json()) as { data: { url: string }[] };
    expect(data.find(({ url }) => url === site)).toMatchObject({ path: 'very/own.spec' });
  });

  it('knows an MCP server, at its address and at its root', async () => {
    const mcp = await mcpHttpServer([toolOf('look')], { onCall: () => textResult('a lighthouse') });
    const { page } = await desk();
    for (const address of [mcp.url, new URL(mcp.url).origin]) {
      await paste(page, address);
      await page.getByRole('button', { name: 'Add 1 function' }).waitFor();
      expect(await dialog(page).locator('.chip', { hasText: 'MCP' }).count()).toBe(1);
      if (address === mcp.url) await page.keyboard.press('Escape');
    }
    await page.getByRole('button', { name: 'Add 1 function' }).click();
    await page.getByRole('button', { name: 'Try', exact: true }).click();
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByRole('tab', { name: 'Response' }).click();
    await page.getByRole('tabpanel').getByText('a lighthouse').waitFor();
  });

  it('says what a site is that is neither', async () => {
    const site = await siteWith(() => ({ body: '<!doctype html><title>Shop</title>', type: 'text/html' }));
    const { page } = await desk();
    await paste(page, site);
    const alert = dialog(page).getByRole('alert');
    await alert.getByText('No tool server was found at this URL.').waitFor();
    expect(await alert.textContent()).toMatch(/As OpenAPI: .*HTML page.*As MCP: /);
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Add anyway' }).waitFor();
  });

  it('takes an address out of its quotes, and says of what is none that it is none', async () => {
    const { page } = await desk();
    const address = await page.locator('.tool-servers-url').first().textContent();
    await page.getByRole('button', { name: 'Add a tool server' }).click();
    const dialog = page.getByRole('dialog');
    const field = dialog.getByRole('textbox', { name: /^URL/ });
    for (const text of ['ftp://example.com', 'htp://127.0.0.1', 'my server', 'http://']) {
      await field.fill(text);
      await dialog.getByText('Enter an http:// or https:// URL').waitFor();
      expect(await dialog.getByRole('button', { name: 'Add' }).isDisabled()).toBe(true);
      await field.fill('');
      await dialog.getByText('Enter an http:// or https:// URL').waitFor({ state: 'detached' });
    }
    for (const text of [`"${address}",`, `<${address}>`, ` ${address}\n`]) {
      await field.fill(text);
      await dialog.getByText('per request').waitFor();
      await field.fill('');
      await dialog.getByText('per request').waitFor({ state: 'detached' });
    }
  });

  it('asks for a key where the server wants one, and tells a wrong one', async () => {
    const openapi = documentWith('look');
    const site = await siteWith((path, { headers }) => {
      if (headers.authorization !== 'Bearer right-key') return { status: 401, body: { error: 'who are you?' } };
      return path === '/openapi.json' ? { body: openapi } : path === '/look' ? { body: { seen: headers.authorization } } : undefined;
    });
    const { page } = await desk();
    await paste(page, site);
    const field = dialog(page).getByRole('textbox', { name: 'API key' });
    await field.waitFor();
    expect(await field.evaluate((element) => element === document.activeElement)).toBe(true);
    expect(await findBarriers(page)).toEqual([]);
    await page.keyboard.type('wrong-key');
    await page.keyboard.press('Enter');
    await page.getByText('The server rejected this key.').waitFor();
    await field.fill('right-key');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Add 1 function' }).click();
    await page.getByRole('button', { name: 'Try', exact: true }).click();
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByRole('tab', { name: 'Request' }).click();
    await page.getByRole('tabpanel').getByText('Bearer [secret]').waitFor();
    expect(await page.content()).not.toContain('right-key');
  });

  it('sends a key to the server that it was entered for, and to no other that is typed after it', async () => {
    const sent: string[] = [];
    const wanting = (name: string): Promise<string> =>
      siteWith((_path, { headers: { authorization } }) => {
        if (authorization !== undefined) sent.push(`${name} ${authorization}`);
        return authorization === undefined ? { status: 401, body: { error: 'who are you?' } } : { body: documentWith('look') };
      });
    const [one, other] = [await wanting('one'), await wanting('other')];
    const { page } = await desk();
    await paste(page, one);
    const field = dialog(page).getByRole('textbox', { name: 'API key' });
    await field.fill('key-of-one');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Add 1 function' }).waitFor();
    const address = dialog(page).getByRole('textbox', { name: /^URL/ });
    await address.fill(`${one}/openapi.json`);
    await page.getByRole('button', { name: 'Add 1 function' }).waitFor();
    await address.fill(other);
    await page.getByText('This server needs authentication to list its functions.').waitFor();
    expect(await field.inputValue()).toBe('');
    // One that wants none is not given one.
    const open = await siteWith((path, { headers: { authorization } }) => {
      if (authorization !== undefined) sent.push(`open ${authorization}`);
      return path === '/openapi.json' ? { body: documentWith('look') } : undefined;
    });
    await field.fill('key-of-other');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Add 1 function' }).waitFor();
    await address.fill(open);
    await page.getByRole('button', { name: 'Add 1 function' }).waitFor();
    expect(await dialog(page).getByLabel('Authentication').inputValue()).toBe('none');
    await page.getByRole('button', { name: 'Add 1 function' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).waitFor();
    expect([...new Set(sent)].toSorted()).toEqual(['one Bearer key-of-one', 'other Bearer key-of-other']);
  });

  it('says of a document without operations that there are none, and does not offer them', async () => {
    const site = await siteWith((path) => (path === '/openapi.json' ? { body: documentWith() } : undefined));
    const { page } = await desk();
    await paste(page, site);
    await page.getByText('Clocks has no functions.').waitFor();
    await page.getByRole('button', { name: 'Add anyway' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).waitFor();
  });

  it('takes a server at which people sign in, and leads on to its page to connect', async () => {
    const mcp = await protectedMcpServer(await authorizationServer());
    const { page } = await desk();
    await paste(page, mcp.url);
    await page.getByText('This server needs authentication to list its functions.').waitFor();
    await dialog(page).getByLabel('Authentication').selectOption('OAuth sign-in per user');
    await page.getByText('This server shows its functions to each person after they connect.').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Add server' }).click();
    await page.getByText('connects per user').waitFor();
    await page.getByRole('button', { name: 'Connect', exact: true }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('shows eight thousand functions, of which a few are found and chosen', { timeout: 180_000 }, async () => {
    const names = Array.from({ length: 8_000 }, (_, index) => `function_${index}`);
    const site = await siteWith((path) => (path === '/openapi.json' ? { body: documentWith(...names) } : undefined));
    const { page, gateway } = await desk();
    await paste(page, site);
    await page.getByRole('button', { name: 'Add 8,000 functions' }).waitFor({ timeout: 60_000 });
    expect(await dialog(page).locator('.report-function').count()).toBeLessThan(60);
    expect(await findBarriers(page)).toEqual([]);
    await page.getByLabel('All 8,000').uncheck();
    await page.getByLabel('Search functions').fill('function_799');
    await page.getByText('11 functions').waitFor();
    await page.getByLabel('Include function_7990', { exact: true }).check();
    await page.getByLabel('Include function_799', { exact: true }).check();
    await page.getByRole('button', { name: 'Add 2 functions' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).waitFor({ timeout: 60_000 });
    expect(await page.locator('.report-functions li').count()).toBe(2);
    const headers = { 'x-api-key': gateway.app.startKey ?? '' };
    const { data } = (await (await fetch(`${gateway.url}/api/tool-servers`, { headers })).json()) as {
      data: { url: string; config: object }[];
    };
    expect(data.find(({ url }) => url === site)?.config).toMatchObject({ function_name_filter_list: ['function_799', 'function_7990'] });
  });

  it.each(['light', 'dark'] as const)('fits into 360 pixels (%s)', async (colorScheme) => {
    const openapi = documentWith('look', 'n\u00e9 w');
    const site = await siteWith((path) =>
      path === '/openapi.json'
        ? { body: { ...openapi, paths: { ...(openapi['paths'] as object), '/raw': { head: { responses: {} } } } } }
        : undefined,
    );
    const { page } = await desk({ viewport: { width: 360, height: 740 }, colorScheme, reducedMotion: 'reduce' });
    await paste(page, site);
    await page.getByRole('button', { name: 'Add 2 functions' }).waitFor();
    await page.getByText('Excluded (1)').click();
    await page.getByText('HEAD operations are not offered').waitFor();
    await page.getByText('renamed from n\u00e9 w').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
    await page.getByRole('button', { name: 'Add 2 functions' }).click();
    await page.getByRole('button', { name: 'Try', exact: true }).first().click();
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByRole('tab', { name: 'Request' }).click();
    expect(await findBarriers(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  });
});

describeInChromium('a pasted configuration or command', () => {
  it('adds the servers at URLs, and gives the lines for those that are programs', async () => {
    const one = await mcpHttpServer([toolOf('look')], { onCall: () => textResult('a lighthouse') });
    const two = await siteWith((path, { headers }) =>
      path === '/openapi.json' && headers['x-team'] === 'harbour' ? { body: documentWith('sail') } : { status: 404, body: {} },
    );
    const { page, it, gateway } = await desk();
    const servers = {
      lights: { type: 'http', url: one.url },
      sails: { url: two, headers: { 'X-Team': 'harbour' } },
      down: { url: 'http://127.0.0.1:9/mcp' },
      files: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '/srv'], env: { TOKEN: '${input:token}' } },
    };
    await paste(page, JSON.stringify({ mcpServers: servers }, null, 2));
    const shown = page.getByRole('dialog', { name: 'Add tool servers' });
    await shown.locator('summary', { hasText: '1 function' }).nth(1).waitFor();
    await shown.getByText('in the gateway’s environment first.').waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await shown.getByRole('button', { name: 'Copy code' }).click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
      'tool_servers:\n  - id: files\n    type: mcp\n    command: npx\n    args: ["-y", "@modelcontextprotocol/server-filesystem", "/srv"]\n    env:\n      TOKEN: "${TOKEN}"',
    );
    await shown.getByRole('button', { name: 'Add 2 servers' }).click();
    await shown.getByText('added', { exact: true }).nth(1).waitFor();
    await shown.getByRole('button', { name: 'Done' }).click();
    const headers = { 'x-api-key': gateway.app.startKey ?? '' };
    const { data } = (await (await fetch(`${gateway.url}/api/tool-servers`, { headers })).json()) as { data: JsonObject[] };
    expect(data.map(({ id, type, url }) => [id, type, url])).toEqual(
      expect.arrayContaining([
        ['lights', 'mcp', one.url],
        ['sails', 'openapi', two],
      ]),
    );
    expect(JSON.stringify(data)).not.toContain('server-filesystem');
    expect(it.faults).toEqual([]);
  });

  it('prefills the key of a single server, and takes its name', async () => {
    const site = await siteWith((path, { headers }) => {
      if (headers.authorization !== 'Bearer right-key') return { status: 401, body: { error: 'who are you?' } };
      return path === '/openapi.json' ? { body: documentWith('look') } : undefined;
    });
    const { page, gateway } = await desk();
    await paste(page, JSON.stringify({ servers: { harbour: { url: site, headers: { Authorization: 'Bearer right-key' } } } }));
    await page.getByRole('button', { name: 'Add 1 function' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).waitFor();
    expect(page.url()).toBe(`${gateway.url}/console/tool-servers/harbour`);
  });

  it('says of a command that the file starts it, and starts nothing', async () => {
    const { page, it, gateway } = await desk();
    await paste(page, 'uvx mcp-server-git --repository /srv/repository');
    await page.getByText('Only the gateway’s own file may start programs.').waitFor();
    expect(await page.getByRole('dialog').locator('pre').innerText()).toContain('id: git');
    expect(await page.getByRole('dialog').getByRole('button', { name: /^Add/ }).count()).toBe(0);
    await page.getByRole('button', { name: 'Done' }).click();
    const headers = { 'x-api-key': gateway.app.startKey ?? '' };
    const { data } = (await (await fetch(`${gateway.url}/api/tool-servers`, { headers })).json()) as { data: JsonObject[] };
    expect(data.map(({ id }) => id)).toEqual(['time']);
    expect(it.faults).toEqual([]);
  });
});
