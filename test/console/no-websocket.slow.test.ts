import type { Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import { backendOf } from '../_support/build-app.ts';
import { closePages, describeInChromium, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import { mcpHttpServer } from '../_support/mcp-http-server.ts';
import { startProxyWithoutUpgrade } from '../_support/proxy-without-upgrade.ts';
import { calls, says, ScriptedModel } from '../_support/scripted-model.ts';
import { toolOf } from '../tools/mcp/scripted-peer.ts';

afterAll(closePages);

async function ask(page: Page, question: string): Promise<void> {
  await page.getByLabel('Your question').fill(question);
  await page.keyboard.press('Enter');
}

async function startServer() {
  const ran: unknown[] = [];
  const inputSchema = { type: 'object' as const, properties: { amount: { type: 'number' } } };
  const server = await mcpHttpServer([toolOf('pay', { inputSchema })], {
    onCall(_name, args) {
      ran.push(args);
      return { content: [{ type: 'text', text: 'Paid.' }] };
    },
  });
  const connection = { id: 'bank', type: 'mcp', url: server.url, config: { needs_approval: true } };
  return { ran, settings: { TOOL_SERVER_CONNECTIONS: JSON.stringify([connection]) } };
}

describeInChromium('a chat behind a proxy that passes no websockets', () => {
  it('is answered over HTTP, with its calls, and says nothing of a lost connection', async () => {
    const model = new ScriptedModel(
      [{ type: 'reasoning', text: 'Hm.' }, ...calls(['format_current_time', { timezone: 'UTC' }])],
      says('Good **day**.'),
      says('Again.'),
    );
    await using gateway = await freshGateway({}, { backends: [backendOf(model)] });
    await using proxy = await startProxyWithoutUpgrade(gateway.url);
    await using it = await openPage(proxy.url);
    const { page } = it;
    await ask(page, 'Hello');
    await page.locator('.markdown strong', { hasText: 'day' }).waitFor();
    await page.locator('.chat-answer .chat-foot').waitFor();
    expect(proxy.refused.length).toBeGreaterThan(0);
    expect(await page.locator('.call').count()).toBe(1);
    expect(await page.getByText(/^Thought for/).count()).toBe(1);
    expect(await page.getByText('Connection lost').count()).toBe(0);
    await ask(page, 'And now?');
    await page.getByText('Again.').waitFor();
    expect(model.requests.at(-1)?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
    await page.locator('.chat-foot').last().getByRole('link', { name: 'Run' }).click();
    await page.locator('.run-step').first().waitFor();
    expect(it.faults).toEqual([]);
  });

  it('shows the approval of a call, and goes on after the decision', async () => {
    const server = await startServer();
    const model = new ScriptedModel(
      [...calls(['pay', { amount: 5 }])],
      says('Done.'),
      [...calls(['pay', { amount: 6 }])],
      says('Not then.'),
    );
    await using gateway = await freshGateway(server.settings, { backends: [backendOf(model)] });
    await using proxy = await startProxyWithoutUpgrade(gateway.url);
    await using it = await openPage(proxy.url, { reducedMotion: 'reduce' });
    const { page } = it;
    await ask(page, 'Pay five');
    await page.getByRole('button', { name: 'Approve' }).waitFor();
    expect(await page.locator('.chat-answer').innerText()).not.toContain('Decide here');
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('Done.').waitFor();
    await page.locator('.chat-answer .chat-foot').waitFor();
    expect(server.ran).toEqual([{ amount: 5 }]);
    expect(await page.locator('.call.done').innerText()).toContain('approved');
    await ask(page, 'Pay six');
    await page.getByRole('button', { name: 'Reject…' }).click();
    await page.getByLabel('Message to the model').fill('Too much.');
    await page.keyboard.press('Enter');
    await page.getByText('Not then.').waitFor();
    expect(server.ran).toHaveLength(1);
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('Too much.');
    expect(it.faults).toEqual([]);
  });

  it('can be stopped, while it is answered and while a call waits', async () => {
    const server = await startServer();
    const model = new ScriptedModel([{ type: 'text', text: 'One,' }, new Promise(() => undefined)], [...calls(['pay', {}])]);
    await using gateway = await freshGateway(server.settings, { backends: [backendOf(model)] });
    await using proxy = await startProxyWithoutUpgrade(gateway.url);
    await using it = await openPage(proxy.url);
    const { page } = it;
    await ask(page, 'Count');
    await page.getByText('One,').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.chat-answer', { hasText: 'Stopped.' }).waitFor();
    await expect.poll(() => model.requests[0]?.signal.aborted).toBe(true);
    await ask(page, 'Pay');
    await page.getByRole('button', { name: 'Approve' }).waitFor();
    await page.getByRole('button', { name: 'Stop (Esc)' }).click();
    await page.getByRole('button', { name: 'Approve' }).waitFor({ state: 'detached' });
    await page.locator('.chat-answer', { hasText: 'Stopped.' }).nth(1).waitFor();
    const { data } = (await (await fetch(`${gateway.url}/api/runs`)).json()) as { data: { status: string }[] };
    expect(data.map(({ status }) => status)).toEqual(['cancelled', 'cancelled']);
  });

  it('is answered over HTTP where the proxy never answers the socket', async () => {
    const model = new ScriptedModel(says('Good day.'));
    await using gateway = await freshGateway({}, { backends: [backendOf(model)] });
    await using proxy = await startProxyWithoutUpgrade(gateway.url, { hangs: true });
    await using it = await openPage(proxy.url);
    await ask(it.page, 'Hello');
    await it.page.getByText('Good day.').waitFor();
    expect(proxy.refused).toHaveLength(1);
    expect(it.faults).toEqual([]);
  });

  it('is explained on the health page, with what the proxy lacks', async () => {
    await using gateway = await freshGateway();
    await using proxy = await startProxyWithoutUpgrade(gateway.url);
    await using it = await openPage(proxy.url, { path: `/console/health#key=${gateway.app.startKey ?? ''}` });
    await it.page.locator('.health-part', { hasText: 'This browser' }).getByText('proxy_set_header Upgrade').waitFor();
    await it.page.goto(`${gateway.url}/console/health#key=${gateway.app.startKey ?? ''}`);
    await it.page.locator('.health-verdict').waitFor();
    await it.settled();
    expect(await it.page.getByText('This browser').count()).toBe(0);
  });
});
