import { afterAll, expect, it } from 'vitest';
import { closePages, describeInChromium, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';

afterAll(closePages);

const adminKey = 'sk-tw-administrator';

describeInChromium('the page of the audit log', () => {
  it('shows who changed what, filters by kind and key, and loads more', async () => {
    await using gateway = await freshGateway({ TOOLWHARF_ADMIN_KEY: adminKey });
    const send = async (path: string, body: object, key = adminKey): Promise<Record<string, unknown>> => {
      const headers = { 'x-api-key': key, 'content-type': 'application/json' };
      const answer = await fetch(gateway.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
      expect(answer.ok).toBe(true);
      return (await answer.json()) as Record<string, unknown>;
    };
    const { key } = await send('/api/keys', { name: 'Second desk', role: 'admin' });
    for (let index = 0; index < 100; index += 1) await send('/api/presets', { id: `clerk-${index}`, base_model: 'demo' });
    await send('/api/presets', { id: 'boss', base_model: 'demo' }, String(key));

    await using it = await openPage(gateway.url, { path: `/console/audit#key=${adminKey}` });
    const { page } = it;
    const row = (text: string) => page.getByRole('row').filter({ hasText: text });
    await row('created the preset boss').waitFor();
    expect(await row('created the preset boss').innerText()).toContain('Second desk');
    expect(await row('created the key').count()).toBe(0);
    await page.getByRole('button', { name: 'Show more' }).click();
    await row('created the key Second desk').waitFor();
    expect(await row('created the preset').count()).toBe(101);
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await page.getByLabel('Kind').selectOption('Keys');
    await row('created the key').waitFor();
    expect(await row('created the preset').count()).toBe(0);
    await page.getByLabel('Kind').selectOption('Everything');
    await page.getByLabel('Key', { exact: true }).selectOption('Second desk');
    await page.getByRole('button', { name: 'Only Second desk' }).waitFor();
    await row('created the preset boss').waitFor();
    expect(await row('created the preset').count()).toBe(1);
    await page.getByRole('button', { name: 'Only Second desk' }).click();
    await row('clerk-99').waitFor();
    await page.getByLabel('Kind').selectOption('Backends');
    await page.getByRole('heading', { name: 'Nothing is recorded' }).waitFor();
  });
});
