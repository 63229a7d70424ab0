import { afterAll, expect, it } from 'vitest';
import { closePages, describeInChromium, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import { startSubPathProxy } from '../_support/sub-path-proxy.ts';

afterAll(closePages);

describeInChromium('the console below a path of a proxy', () => {
  it('chats, and opens, reloads and links its pages there', async () => {
    await using proxy = await startSubPathProxy('/tools/one');
    await using gateway = await freshGateway({ PUBLIC_URL: proxy.url });
    proxy.forwardTo(gateway.url);
    const { origin, pathname } = new URL(proxy.url);
    await using it = await openPage(origin, { path: `${pathname}/` });
    const { page } = it;
    await page.getByRole('button', { name: 'What time is it in Osaka?' }).click();
    await page.locator('.chat-answer .chat-foot').waitFor();
    expect(page.url()).toMatch(`${proxy.url}/console/chats/`);
    await page.reload();
    await page.locator('.chat-answer .chat-foot').waitFor();
    await page.locator('.chat-foot a[href*="/runs/"]').first().click();
    await page.waitForURL(`${proxy.url}/console/runs/*`);
    await page.reload();
    await page.getByRole('link', { name: 'Tool servers' }).click();
    await page.waitForURL(`${proxy.url}/console/tool-servers`);
    expect(await page.getByRole('link', { name: 'Tool servers' }).getAttribute('aria-current')).toBe('page');
    await page.getByRole('link', { name: 'toolwharf' }).first().click();
    await page.waitForURL(`${proxy.url}/`);
    expect(it.faults).toEqual([]);
    expect(proxy.strays.filter((path) => !path.includes('/console/assets/none') && path !== '/favicon.ico')).toEqual([]);
  });
});
