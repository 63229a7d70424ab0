import { afterAll, expect, it } from 'vitest';
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
});
