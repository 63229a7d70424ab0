import { afterAll, expect, it } from 'vitest';
import { closePages, describeInChromium, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';

afterAll(closePages);

interface Preset {
  id: string;
  [field: string]: unknown;
}

describeInChromium('the page of presets', () => {
  it('makes a preset that a chat uses, changes it, and deletes it', async () => {
    await using gateway = await freshGateway();
    const key = gateway.app.startKey ?? '';
    await using it = await openPage(gateway.url, { path: `/console/presets#key=${key}` });
    const { page } = it;
    const read = async (): Promise<Preset[]> => {
      const answer = await fetch(`${gateway.url}/api/presets`, { headers: { 'x-api-key': key } });
      return ((await answer.json()) as { data: Preset[] }).data;
    };
    await page.getByRole('button', { name: 'New preset' }).click();
    await page.getByRole('textbox', { name: /^ID/ }).fill('clerk');
    await page.getByRole('textbox', { name: /^Name/ }).fill('The clerk');
    await page.getByLabel('System prompt').fill('You are a clerk.');
    await page.getByRole('group', { name: 'Tools' }).getByLabel('Only these').check();
    await page.getByRole('group', { name: 'Tools' }).getByLabel('time').check();
    await page.getByLabel('How the model uses tools').selectOption('native');
    await page.getByText('Approvals, limits and parameters').click();
    await page.getByLabel('Maximum rounds of calls').fill('3');
    await page.getByLabel('Timeout per call, in seconds').fill('1.5');
    await page.getByLabel('Model parameters').fill('{"temperature": 0.2');
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText('must be a JSON object').waitFor();
    await page.getByLabel('Model parameters').fill('{"temperature": 0.2}');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('rowheader', { name: 'The clerk' }).waitFor();
    const made = {
      id: 'clerk',
      base_model: 'demo',
      name: 'The clerk',
      system: 'You are a clerk.',
      tools: ['server:time'],
      function_calling: 'native',
      max_tool_rounds: 3,
      tool_timeout_ms: 1_500,
      params: { temperature: 0.2 },
    };
    expect(await read()).toMatchObject([made]);
    expect(await findFaultsInAllLooks(page)).toEqual([]);

    await page.getByRole('button', { name: 'Edit clerk' }).click();
    await page.getByRole('group', { name: 'Tools' }).getByLabel('time').uncheck();
    await page.getByRole('button', { name: 'Save' }).click();
    // The words of the first time may still be there.
    await page.getByText('clerk was saved.').first().waitFor();
    await expect.poll(read).toMatchObject([{ ...made, tools: [] }]);

    await page.getByRole('link', { name: 'Chat with clerk' }).click();
    await page.locator('select.chat-model').getByText('The clerk').waitFor({ state: 'attached' });
    expect(await page.locator('select.chat-model').inputValue()).toBe('clerk');
    await page.getByRole('button', { name: 'What time is it in Osaka?' }).click();
    await page.locator('.chat-answer .chat-foot').waitFor();
    expect(await page.locator('.call').count()).toBe(0);
    const runs = (await (await fetch(`${gateway.url}/api/runs`, { headers: { 'x-api-key': key } })).json()) as { data: object[] };
    expect(runs.data).toMatchObject([{ model: 'clerk', status: 'completed' }]);

    await page.goto(`${gateway.url}/console/presets`);
    await page.getByRole('button', { name: 'Delete clerk' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('heading', { name: 'No presets yet' }).waitFor();
    expect(await read()).toEqual([]);
    expect(it.faults).toEqual([]);
  });

  it('keeps the focus on the button of a change that was refused', async () => {
    await using gateway = await freshGateway();
    await using it = await openPage(gateway.url, { path: `/console/presets#key=${gateway.app.startKey}` });
    const { page } = it;
    for (const said of ['clerk was saved', 'There is a preset "clerk" already']) {
      await page.getByRole('button', { name: 'New preset' }).click();
      await page.getByRole('textbox', { name: /^ID/ }).fill('clerk');
      await page.getByRole('button', { name: 'Save' }).focus();
      await page.keyboard.press('Enter');
      await page.getByText(said).last().waitFor();
    }
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('Save');
  });

  it('has the focus when what had it is deleted', async () => {
    await using gateway = await freshGateway();
    await using it = await openPage(gateway.url, { path: `/console/presets#key=${gateway.app.startKey}` });
    const { page } = it;
    await page.getByRole('button', { name: 'New preset' }).click();
    await page.getByRole('textbox', { name: /^ID/ }).fill('clerk');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Delete clerk' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('No presets yet').waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('MAIN');
  });
});
