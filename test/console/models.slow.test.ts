import { afterAll, expect, it, onTestFinished } from 'vitest';
import { closePages, describeInChromium, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import type { WatchedPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import type { FreshGateway } from '../_support/fresh-gateway.ts';
import { startOllamaServer } from '../_support/ollama-server.ts';
import { respond, startUpstream } from '../_support/upstream-server.ts';

afterAll(closePages);

interface Desk {
  gateway: FreshGateway;
  it: WatchedPage;
  page: WatchedPage['page'];
  ask: (path: string) => Promise<unknown>;
}

/** The page of models, as an administrator sees it. */
async function desk(environment: NodeJS.ProcessEnv = {}): Promise<Desk> {
  const gateway = await freshGateway(environment);
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const key = gateway.app.startKey ?? '';
  const it = await openPage(gateway.url, { path: `/console/models#key=${key}` });
  onTestFinished(() => it[Symbol.asyncDispose]());
  const ask = async (path: string): Promise<unknown> => (await fetch(gateway.url + path, { headers: { 'x-api-key': key } })).json();
  return { gateway, it, page: it.page, ask };
}

async function ollama(): Promise<string> {
  const server = await startOllamaServer([
    { name: 'qwen3:4b', contextLength: 40_960, capabilities: ['completion', 'tools', 'vision'] },
    { name: 'gemma:2b', capabilities: ['completion'] },
    { name: 'old:latest' },
  ]);
  onTestFinished(() => server.close());
  return server.url;
}

async function upstream(script: Parameters<typeof startUpstream>[0]): Promise<string> {
  const server = await startUpstream(script);
  onTestFinished(() => server.close());
  return `${server.origin}/v1`;
}

describeInChromium('the page of models', () => {
  it('tests a backend, shows its models, and adds, changes and deletes it', async () => {
    const url = await ollama();
    const { page, it, ask } = await desk();
    await page.getByText('No models yet').waitFor();
    await page.getByRole('button', { name: 'Connect a model' }).click();
    await page.getByLabel('URL').fill(url);
    await page.getByText('More options').click();
    await page.getByLabel('Prefix').fill('home');
    await page.getByLabel('Concurrent requests').fill('2');
    await page.getByLabel('Fallback models').fill('demo');
    await page.getByRole('button', { name: 'Test', exact: true }).click();
    const row = page.getByRole('row', { name: /home\/qwen3:4b/ });
    expect(await row.innerText()).toMatch(/tools\s+vision\s+3\.2B, 2\.02 GB\s+40,960/);
    expect(await page.getByRole('row', { name: /gemma/ }).innerText()).toContain('tools by prompt');
    expect(await page.getByRole('row', { name: /old/ }).innerText()).toContain('unknown');
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    expect(await ask('/api/backends')).toEqual({ data: [] });
    await page.getByRole('button', { name: 'Add 3 models' }).click();
    await page.getByRole('link', { name: 'Chat with home/qwen3:4b' }).waitFor();
    expect(await ask('/api/backends/ollama')).toMatchObject({ type: 'ollama', prefix: 'home', max_concurrent: 2, fallbacks: ['demo'] });
    expect(await findFaultsInAllLooks(page)).toEqual([]);

    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Prefix').fill('');
    await page.getByLabel('API key').fill('a-new-key');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('link', { name: 'Chat with qwen3:4b' }).waitFor();
    const changed = await ask('/api/backends/ollama');
    expect(changed).toMatchObject({ has_key: true, max_concurrent: 2 });
    expect(changed).not.toHaveProperty('prefix');

    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('dialog', { name: 'Delete ollama?' }).getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No models yet').waitFor();
    expect(it.faults).toEqual([]);
    expect(it.foreign).toEqual([]);
  });

  it('says what is wrong at the server, and lets a person add it nevertheless', async () => {
    const url = await upstream(respond(401, { error: { message: 'who are you' } }));
    const { page, ask } = await desk();
    await page.getByRole('button', { name: 'Connect a model' }).click();
    await page.getByLabel('Another server').check();
    await page.getByLabel('URL').fill(url);
    await page.getByRole('button', { name: 'Test', exact: true }).click();
    await page.getByText('The address is right: set its key.').waitFor();
    await page.getByRole('button', { name: 'Add anyway' }).click();
    await page.getByRole('heading', { name: 'openai' }).waitFor();
    await page.getByText('key rejected').waitFor();
    await page.getByRole('button', { name: 'Find the reason' }).click();
    await page.getByText('The address is right: set its key.').waitFor();
    expect(await ask('/api/backends/openai')).toMatchObject({ type: 'openai', url, has_key: false });
  });

  it('shows a refusal beside the field, which gets the focus, also in folded options', async () => {
    const { page } = await desk();
    await page.getByRole('button', { name: 'Connect a model' }).click();
    await page.getByLabel('URL').fill('lab:8000');
    await page.keyboard.press('Enter');
    await page.getByText('URL is not an http:// or https:// URL').waitFor();
    expect(await page.getByLabel('URL').getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('URL').fill('http://127.0.0.1:9');
    await page.getByText('More options').click();
    await page.getByLabel('Queue length').fill('5');
    await page.getByText('More options').click();
    await page.getByRole('button', { name: 'Test', exact: true }).click();
    await page.getByText('Queue length has no effect without').waitFor();
    expect(await page.evaluate(() => document.activeElement?.closest('.field')?.textContent)).toContain('Queue length');
    await page.keyboard.press('Backspace');
    await page.keyboard.type('7');
    expect(await page.getByLabel('Queue length').inputValue()).toBe('7');
    expect(await findFaultsInAllLooks(page)).toEqual([]);
  });

  it('shows where a configured backend comes from, and changes only its own', async () => {
    const { page } = await desk({ OPENAI_API_BASE_URLS: await upstream(respond(200, { data: [{ id: 'a', object: 'model' }] })) });
    await page
      .getByRole('row', { name: /the environment/ })
      .getByRole('link', { name: 'openai' })
      .click();
    await page.getByText('the environment. Change it there.').waitFor();
    await page.getByRole('link', { name: 'Chat with a' }).waitFor();
    expect(await page.getByRole('button', { name: 'Edit' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Chat with a' }).click();
    await expect.poll(() => page.getByRole('combobox', { name: 'Model' }).inputValue()).toBe('a');
  });
});
