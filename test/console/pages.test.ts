import { afterAll, expect, test } from 'vitest';
import { documentOf, serverOf } from '../requirements/gateway.ts';
import { closeChromium, describeInChromium, findBarriers, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import { memoryRegistry } from '../_support/memory-stores.ts';

afterAll(closeChromium);

describeInChromium('pages for those who run the gateway', () => {
  test('make the first key, which is shown once and kept', async () => {
    await using gateway = await freshGateway();
    await using it = await openPage(gateway.url, { path: `/console/keys#key=${gateway.app.startKey ?? ''}` });
    const { page } = it;
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByRole('button', { name: 'Make it' }).click();
    expect(await page.locator('.keys-made').textContent()).toMatch(/^sk-tw-/);
    await page.getByRole('button', { name: 'I have it' }).click();
    await page.getByRole('rowheader', { name: 'administrator' }).waitFor();
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Name').fill('Open WebUI');
    await page.getByLabel(/A frontend with many people/).check();
    await page.getByRole('button', { name: 'Make it' }).click();
    await page.getByRole('button', { name: 'I have it' }).click();
    await page.getByText('people, by a header').waitFor();
    expect(await findBarriers(page)).toEqual([]);
  });

  test('make a preset that answers', async () => {
    await using gateway = await freshGateway();
    await using it = await openPage(gateway.url, { path: `/console/presets#key=${gateway.app.startKey ?? ''}` });
    const { page } = it;
    await page.getByRole('button', { name: 'New preset' }).click();
    await page.getByLabel('Name').fill('clerk');
    await page.getByLabel('System prompt').fill('You are a clerk.');
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('rowheader', { name: 'clerk' }).waitFor();
    const models = (await (await fetch(`${gateway.url}/v1/models`)).json()) as { data: { id: string }[] };
    expect(models.data.map(({ id }) => id)).toContain('clerk');
  });

  test('connect a person to a tool server with their own key', async () => {
    const anything = { type: 'object', properties: {} };
    const mail = serverOf('mail', documentOf({ whoami: anything }), { name: 'Mail', authType: 'bearer', isPerUser: true });
    await using gateway = await freshGateway({}, { registry: memoryRegistry([mail]) });
    await using it = await openPage(gateway.url, { path: '/console/accounts' });
    const { page } = it;
    const opened = page.context().waitForEvent('page');
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    const tab = await opened;
    await tab.getByLabel('Your key for Mail').fill('CANARY-key');
    await tab.getByRole('button', { name: 'Connect' }).click();
    await tab.getByText('You can go back to your chat.').waitFor();
    await page.getByText('connected', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Disconnect from Mail' }).click();
    await page.getByRole('button', { name: 'Disconnect', exact: true }).click();
    await page.getByText('not connected').waitFor();
  });
});
