import { afterAll, expect, it } from 'vitest';
import { documentOf, serverOf } from '../gateway/gateway.ts';
import { closePages, describeInChromium, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import { memoryRegistry } from '../_support/memory-stores.ts';

afterAll(closePages);

describeInChromium('the page of accounts', () => {
  it('connects a person to a tool server with their own key, and disconnects them', async () => {
    const mail = serverOf('mail', documentOf({ whoami: { type: 'object', properties: {} } }), {
      name: 'Mail',
      authType: 'bearer',
      isPerUser: true,
    });
    await using gateway = await freshGateway({}, { registry: memoryRegistry([mail]) });
    await using it = await openPage(gateway.url, { path: '/console/accounts' });
    const { page } = it;
    const opened = page.context().waitForEvent('page');
    await page.getByRole('button', { name: 'Connect to Mail' }).click();
    const tab = await opened;
    await tab.getByLabel('Your key for Mail').fill('CANARY-key');
    await tab.getByRole('button', { name: 'Connect' }).click();
    await tab.getByText('You can go back to your chat.').waitFor();
    await page.getByText('connected', { exact: true }).waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await page.getByRole('button', { name: 'Disconnect from Mail' }).click();
    await page.getByRole('button', { name: 'Disconnect', exact: true }).click();
    await page.getByText('not connected').waitFor();
  });
});
