import { afterAll, expect, it } from 'vitest';
import { closePages, describeInChromium, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';

afterAll(closePages);

const settings = [
  { name: 'LOG_LEVEL', origin: 'environment', value: 'debug' },
  { name: 'TOOLWHARF_ADMIN_KEY', origin: 'file', value: 'set' },
  { name: 'FUNCTION_CALLING', origin: 'default', value: 'auto' },
] as const;

describeInChromium('the page of settings', () => {
  it('shows settings with their source, finds defaults and limits, and links problems to the health page', async () => {
    const environment = { OPENAI_API_BASE_URLS: 'http://127.0.0.1:9/v1', TOOLWHARF_DEMO: 'true' };
    await using gateway = await freshGateway(environment, { settings });
    await using it = await openPage(gateway.url, { path: `/console/settings#key=${gateway.app.startKey ?? ''}` });
    const { page } = it;
    const names = page.getByRole('group', { name: 'Settings', exact: true }).getByRole('rowheader');
    await names.first().waitFor();
    expect(await names.allInnerTexts()).toEqual(['LOG_LEVEL', 'TOOLWHARF_ADMIN_KEY']);
    await page.getByLabel('Show defaults').check();
    expect(await names.allInnerTexts()).toEqual(settings.map(({ name }) => name));
    await page.getByLabel('Show defaults').uncheck();
    await page.getByRole('searchbox').fill('calling');
    expect(await names.allInnerTexts()).toEqual(['FUNCTION_CALLING']);
    await page.getByRole('searchbox').fill('maxToolRounds');
    await page.getByText('No matching settings.').waitFor();
    await page.getByRole('group', { name: 'Limits' }).getByRole('rowheader').first().waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await page.getByText('Unavailable: openai').waitFor();
    await page.locator('.settings-state').getByRole('link', { name: 'Health' }).click();
    await page.getByRole('heading', { name: 'Health' }).waitFor();
    expect(it.faults).toEqual([]);
  });
});
