import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { closePages, describeInChromium, findBarriers, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import { mcpHttpServer } from '../_support/mcp-http-server.ts';
import { textResult, toolOf } from '../tools/mcp/scripted-peer.ts';
import { documentWith } from '../tools/scripted-send.ts';

afterAll(closePages);

interface Desk {
  page: Page;
  url: string;
  /** Registers a tool server. */
  add: (connection: object) => Promise<void>;
  go: (path: string) => Promise<void>;
}

async function desk(): Promise<Desk> {
  const gateway = await freshGateway();
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const headers = { 'x-api-key': gateway.app.startKey ?? '', 'content-type': 'application/json' };
  const it = await openPage(gateway.url, { path: `/console/tool-servers#key=${gateway.app.startKey ?? ''}` });
  onTestFinished(() => it[Symbol.asyncDispose]());
  const { url } = gateway;
  return {
    page: it.page,
    url,
    async add(connection) {
      const answer = await fetch(`${url}/api/tool-servers`, { method: 'POST', headers, body: JSON.stringify(connection) });
      expect(answer.status).toBe(201);
    },
    async go(path) {
      await it.page.goto(url + path);
    },
  };
}

/** A tool server that can be switched off and on again. */
async function lamp(): Promise<{ url: string; off: () => Promise<void>; on: () => Promise<void> }> {
  let server: Server | undefined;
  let port = 0;
  const on = async (): Promise<void> => {
    server = createServer((request, response) => {
      const known = request.url === '/openapi.json';
      response.writeHead(known ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(known ? documentWith('shine') : {}));
    });
    await new Promise<void>((resolve) => server?.listen(port, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  };
  const off = async (): Promise<void> => {
    const closed = new Promise((resolve) => server?.close(resolve) ?? resolve(undefined));
    server?.closeAllConnections();
    await closed;
    server = undefined;
  };
  await on();
  onTestFinished(off);
  return { url: `http://127.0.0.1:${port}`, off, on };
}

describeInChromium('the state of a tool server', () => {
  it('tells one that is down, when it is tried again, and that it is back', async () => {
    const { url, off, on } = await lamp();
    await off();
    const { page, add, go } = await desk();
    await add({ id: 'lamp', url });
    await go('/console/tool-servers');
    await page.getByRole('row', { name: 'lamp' }).getByText('down, retrying').waitFor();
    await page.getByRole('link', { name: 'lamp' }).click();
    await page.getByText(/^Next attempt in \d/).waitFor();
    expect(await page.getByRole('alert').textContent()).toContain('127.0.0.1');
    expect(await findBarriers(page)).toEqual([]);
    await on();
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.locator('header').getByText('ready').waitFor();
    await page.locator('.report-functions li', { hasText: 'shine' }).waitFor();
    await off();
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.getByText('down, using last known functions').waitFor();
    expect(await page.locator('.report-functions li').count()).toBe(1);
  });

  it('is connected for an MCP server, and off where it is switched off', async () => {
    const mcp = await mcpHttpServer([toolOf('look')]);
    const { page, add, go } = await desk();
    await add({ id: 'eye', type: 'mcp', url: mcp.url });
    await go('/console/tool-servers/eye');
    await page.locator('header').getByText('connected').waitFor();
    await page.getByRole('button', { name: 'Turn off' }).click();
    await page.locator('header').getByText('off', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Turn on' }).click();
    await page.locator('header').getByText('connected').waitFor();
  });

  it('is asked about before it is deleted', async () => {
    const { url } = await lamp();
    const { page, add, go } = await desk();
    await add({ id: 'lamp', url });
    await go('/console/tool-servers/lamp');
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    const asked = page.getByRole('dialog', { name: 'Delete lamp?' });
    await asked.getByRole('button', { name: 'Cancel' }).click();
    expect(await page.getByRole('heading', { name: 'lamp' }).count()).toBe(1);
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await asked.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('row', { name: 'time' }).waitFor();
    expect(await page.getByRole('link', { name: 'lamp' }).count()).toBe(0);
  });
});

describeInChromium('a tool server that wants a key of each person', () => {
  it('is connected to in another tab, lists its functions, and is tried with the own key', async () => {
    const mcp = await mcpHttpServer([toolOf('look')], {
      onCall: () => textResult('a lighthouse'),
      refusal: ({ authorization }) => (authorization === 'Bearer CANARY-own' ? undefined : 401),
    });
    const { page, add, go } = await desk();
    await add({ id: 'eye', type: 'mcp', url: mcp.url, auth_type: 'bearer', per_user: true });
    await go('/console/tool-servers/eye');
    await page.getByText('connects per user').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    const opened = page.context().waitForEvent('page');
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    const tab = await opened;
    await tab.locator('input[type="password"]').first().fill('CANARY-own');
    await tab.locator('button[type="submit"], form button').last().click();
    await page.bringToFront();
    await page.getByText('You are connected').waitFor();
    await page.getByRole('button', { name: 'Try', exact: true }).click();
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByText('a lighthouse').waitFor();
    await page.getByRole('tab', { name: 'Request' }).click();
    await page.getByRole('tabpanel').getByText('Bearer [secret]').waitFor();
    expect(await page.content()).not.toContain('CANARY-own');
  });
});
