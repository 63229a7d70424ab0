import { afterAll, expect, it } from 'vitest';
import { closePages, describeInChromium, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import { connect, mcpStatus, programScene } from '../gateway/programs/program-fixture.ts';

afterAll(closePages);

describeInChromium('the page of connected programs', () => {
  it('shows a program with its last use, and disconnects it', async () => {
    const scene = await programScene();
    const { key } = await scene.keyFor();
    const { access_token: token } = await connect(scene, key);
    expect(await mcpStatus(scene, token)).toBe(200);
    await using opened = await openPage(scene.url, { path: `/console/programs#key=${key}` });
    const { page } = opened;
    const row = page.getByRole('row').filter({ hasText: 'A program' });
    await row.getByText('127.0.0.1').waitFor();
    await row.locator('time').waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await row.getByRole('button', { name: 'Disconnect A program' }).click();
    await page.getByRole('button', { name: 'Disconnect', exact: true }).click();
    await page.getByText('No program is connected').waitFor();
    expect(await mcpStatus(scene, token)).toBe(401);
  });
});
