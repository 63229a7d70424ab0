import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { closePages, describeInChromium, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import type { WatchedPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';

afterAll(closePages);

const adminKey = 'sk-tw-fixed-administrator';
type Page = WatchedPage['page'];

async function pageOf(options: { environment?: NodeJS.ProcessEnv; key?: (url: string) => Promise<string> }): Promise<WatchedPage> {
  const gateway = await freshGateway(options.environment);
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const key = await options.key?.(gateway.url);
  const it = await openPage(gateway.url, { path: `/console/connect${key === undefined ? '' : `#key=${key}`}` });
  onTestFinished(() => it[Symbol.asyncDispose]());
  return it;
}

async function copy(page: Page, tab: string, index = 0): Promise<string> {
  await page.getByRole('tab', { name: tab }).click();
  await page.getByRole('tabpanel').getByRole('button', { name: 'Copy code' }).nth(index).click();
  return page.evaluate(() => navigator.clipboard.readText());
}

/** Runs a copied script unchanged, in a folder where `openai` and `@anthropic-ai/sdk` are installed. */
async function runScript(code: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'connect-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await symlink(join(import.meta.dirname, '../../node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'ask.mjs'), code);
  return (await promisify(execFile)(process.execPath, ['ask.mjs'], { cwd: folder })).stdout;
}

async function runInShell(code: string): Promise<string> {
  return (await promisify(execFile)('sh', ['-c', code])).stdout;
}

describeInChromium('the page that connects programs', () => {
  it('gives scripts that run unchanged with the new key of a program, and says when the first has arrived', async () => {
    const { page, faults, foreign } = await pageOf({ environment: { TOOLWHARF_ADMIN_KEY: adminKey }, key: async () => adminKey });
    await page.getByText('These examples contain your administrator key.').waitFor();
    await page.getByText('Waiting for the first request of a program').waitFor();
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Name').fill('My script');
    await page.getByRole('button', { name: 'Create key' }).click();
    const created = await page.locator('.new-key').innerText();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    const script = await copy(page, 'OpenAI SDK');
    expect(script).toContain(created);
    // Nobody reads the key over a shoulder.
    expect(await page.getByRole('tabpanel').innerText()).not.toContain(created);
    expect(await runScript(script)).toContain('demo model');
    await page.getByText('A program has reached this gateway.').waitFor();
    expect(await runScript(await copy(page, 'Anthropic SDK'))).toContain('demo model');
    expect(await runInShell(`${await copy(page, 'curl')} -s`)).toContain('demo model');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    expect(await page.getByRole('tabpanel').innerText()).toContain(created);

    await page.getByRole('button', { name: 'Copy sign-in link' }).click();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    await using person = await openPage(new URL(link).origin, { path: '/' });
    await person.page.goto(link);
    await person.page.getByText('My script').first().waitFor();
    expect(person.page.url()).not.toContain('key=');
    expect(faults).toEqual([]);
    expect(foreign).toEqual([]);
  });

  it('contains the key of a user, who sees no controls of administrators', async () => {
    let mine = '';
    const { page } = await pageOf({
      environment: { TOOLWHARF_ADMIN_KEY: adminKey },
      async key(url) {
        const headers = { 'x-api-key': adminKey, 'content-type': 'application/json' };
        const body = JSON.stringify({ name: 'ada', role: 'user' });
        return (mine = ((await (await fetch(`${url}/api/keys`, { method: 'POST', headers, body })).json()) as { key: string }).key);
      },
    });
    await page.getByText('These examples contain your own key.').waitFor();
    expect(await copy(page, 'Codex', 1)).toBe(`export TOOLWHARF_KEY=${mine}\ncodex`);
    expect(JSON.parse(await copy(page, 'MCP'))).toMatchObject({
      mcpServers: { toolwharf: { url: expect.stringMatching(/\/mcp$/), headers: { Authorization: `Bearer ${mine}` } } },
    });
    expect(await page.getByRole('button', { name: 'New key' }).count()).toBe(0);
    expect(await page.getByText('Waiting for the first request').count()).toBe(0);
  });

  it('says that an open gateway takes any key', async () => {
    const { page } = await pageOf({});
    await page.getByText('can use any text as the key').waitFor();
    expect(await runScript(await copy(page, 'OpenAI SDK'))).toContain('demo model');
  });
});
