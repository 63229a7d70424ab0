import { afterAll, expect, it } from 'vitest';
import { startTimeServer } from '../../src/demo/time-server.ts';
import { closePages, describeInChromium, findBarriers, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';

afterAll(closePages);

describeInChromium('the first visit', () => {
  it('answers the suggested question with a tool, whose call can be looked at', async () => {
    await using gateway = await freshGateway();
    await using it = await openPage(gateway.url);
    const { page } = it;
    await page.getByRole('button', { name: 'What time is it in Osaka?' }).click();
    await page.getByText(/Demo model: .*says/).waitFor();
    expect(page.url()).toContain('/console/chats/');
    const call = page.locator('.call');
    await call.locator('summary').click();
    await call.getByText('Asia/Tokyo').first().waitFor();
    expect(await findBarriers(page)).toEqual([]);
    expect(it.faults).toEqual([]);
    expect(it.foreign).toEqual([]);
  });

  it('begins at its heading on a small screen too', async () => {
    await using gateway = await freshGateway();
    const path = `/#key=${gateway.app.startKey ?? ''}`;
    await using it = await openPage(gateway.url, { path, viewport: { width: 360, height: 740 }, manage: 'closed' });
    await it.page.getByRole('region', { name: 'Set up toolwharf' }).waitFor();
    await it.settled();
    expect(await it.page.locator('.chat-scroll').evaluate(({ scrollTop }) => scrollTop)).toBe(0);
    expect(await it.page.getByRole('button', { name: 'Scroll to end' }).count()).toBe(0);
  });

  it('shows what is left to set up to administrators, until they hide it', async () => {
    await using gateway = await freshGateway();
    await using it = await openPage(gateway.url, { path: `/#key=${gateway.app.startKey ?? ''}` });
    const steps = it.page.getByRole('region', { name: 'Set up toolwharf' });
    await steps.waitFor();
    expect(await steps.getByRole('link').allInnerTexts()).toEqual(['Connect a model', 'Add tools', 'Point your program here']);
    await steps.getByRole('button', { name: 'Hide' }).click();
    expect(await steps.count()).toBe(0);
    await it.page.reload();
    await it.page.getByText('7 tools from 1 server').waitFor();
    await it.settled();
    expect(await steps.count()).toBe(0);
    await it.page.getByRole('link', { name: 'Add', exact: true }).click();
    await it.page.getByRole('dialog', { name: 'Add a tool server' }).waitFor();
  });

  it('folds unavailable tool servers into one line, and leaves renamed functions to the run', async () => {
    const time = await startTimeServer({ host: '127.0.0.1', port: 0 });
    const connections = [
      { id: 'time', url: time.url },
      { id: 'clock', url: time.url },
      ...['one', 'two'].map((id) => ({ id, url: 'http://127.0.0.1:9' })),
    ];
    try {
      await using gateway = await freshGateway({ TOOL_SERVER_CONNECTIONS: JSON.stringify(connections) });
      await using it = await openPage(gateway.url);
      const { page } = it;
      await page.getByRole('button', { name: 'What time is it in Osaka?' }).click();
      await page.locator('.chat-answer .chat-foot').waitFor();
      expect(await page.locator('.chat-warning').count()).toBe(0);
      await page.getByText('2 tool servers unavailable').click();
      expect(await page.locator('.chat-unavailable li').count()).toBe(2);
      expect(await findBarriers(page)).toEqual([]);
      await page.locator('.chat-unavailable').getByRole('link', { name: 'Tool servers' }).click();
      await page.getByRole('heading', { name: 'Tool servers' }).waitFor();
    } finally {
      await time.close();
    }
  });
});
