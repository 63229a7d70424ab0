import { afterAll, expect, it, onTestFinished } from 'vitest';
import { documentOf, serverOf } from '../gateway/gateway.ts';
import { closePages, describeInChromium, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import { startOllamaServer } from '../_support/ollama-server.ts';
import { memoryRegistry, memoryStores } from '../_support/memory-stores.ts';
import type { JsonObject } from '../../src/shared/json/json.ts';

afterAll(closePages);

const adminKey = 'sk-tw-administrator';
const mail = serverOf('mail', documentOf({ whoami: { type: 'object', properties: {} } }), {
  name: 'Mail',
  authType: 'bearer',
  isPerUser: true,
});

interface Administered {
  url: string;
  /** With the administrator's key. */
  ask: (route: string, body?: object, headers?: Record<string, string>) => Promise<JsonObject & { data: JsonObject[] }>;
  path: string;
}

async function administered(): Promise<Administered> {
  const gateway = await freshGateway({ TOOLWHARF_ADMIN_KEY: adminKey }, { registry: memoryRegistry([mail]) });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  return {
    url: gateway.url,
    path: `/console/keys#key=${adminKey}`,
    async ask(route, body, headers = {}) {
      const [method = '', path = ''] = route.split(' ', 2);
      const response = await fetch(gateway.url + path, {
        method,
        headers: { 'x-api-key': adminKey, ...(body && { 'content-type': 'application/json' }), ...headers },
        ...(body && { body: JSON.stringify(body) }),
      });
      const answer = (await response.json()) as JsonObject & { data: JsonObject[] };
      if (!response.ok) throw new Error(JSON.stringify(answer));
      return answer;
    },
  };
}

describeInChromium('the page of keys and people', () => {
  it('makes the first key, which is an administrator’s, and goes on with it', async () => {
    await using gateway = await freshGateway();
    await using it = await openPage(gateway.url, { path: `/console/keys#key=${gateway.app.startKey ?? ''}` });
    const { page } = it;
    await page.getByRole('button', { name: 'New key' }).click();
    expect(await page.getByLabel('A program or a person').isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Create key' }).click();
    const made = await page.locator('.new-key').innerText();
    expect(made).toMatch(/^sk-tw-/);
    await page.getByRole('button', { name: 'Copy base URL' }).click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(`${gateway.url}/v1`);
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    // Nobody can read it again.
    for (const leave of [() => page.keyboard.press('Escape'), () => page.mouse.click(5, 5)]) {
      await leave();
      const question = page.getByRole('dialog', { name: 'Have you copied the key?' });
      await question.getByRole('button', { name: 'Cancel' }).click();
      await question.waitFor({ state: 'detached' });
    }
    await page.getByRole('button', { name: 'Done' }).click();
    await page
      .getByRole('rowheader', { name: 'administrator' })
      .getByText(`sk-tw-${made.slice(6, 10)}…`, { exact: true })
      .waitFor();
    expect(await page.evaluate(() => localStorage.getItem('toolwharf.key'))).toBe(made);
    expect((await fetch(`${gateway.url}/api/keys`)).status).toBe(401);
  });

  it('makes a key for a frontend, with limits for each person and for all, and changes it', async () => {
    const { url, path, ask } = await administered();
    await using it = await openPage(url, { path });
    const { page } = it;
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Name', { exact: false }).first().fill('Open WebUI');
    await page.getByLabel('A frontend with many users').check();
    await page.getByText('Limits and permissions').click();
    await page.getByRole('group', { name: 'Limits per person' }).getByLabel('Tokens per day').fill('100000');
    await page.getByRole('group', { name: 'Limits per person' }).getByLabel('Requests per minute').fill('60');
    await page.getByRole('group', { name: 'Limits for everyone together' }).getByLabel('Concurrent answers').fill('4');
    await page.getByRole('group', { name: 'Models' }).getByLabel('Only these').check();
    await page.getByRole('group', { name: 'Models' }).getByLabel(/demo/i).check();
    await page.getByRole('group', { name: 'Tools' }).getByLabel('Only these').check();
    await page.getByRole('group', { name: 'Tools' }).getByLabel('mail').check();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await page.getByRole('button', { name: 'Create key' }).click();
    expect(await page.locator('.new-key').innerText()).toMatch(/^sk-tw-/);
    await page.getByRole('button', { name: 'Done' }).click();
    await page
      .getByRole('row', { name: /Open WebUI/ })
      .getByText('per person: 60 requests per minute, 100K tokens per day')
      .waitFor({ state: 'attached' });
    const made = (await ask('GET /api/keys')).data.find(({ name }) => name === 'Open WebUI');
    expect(made).toMatchObject({
      role: 'user',
      users: { from: 'header', name: 'x-openwebui-user-id' },
      limits: { requests_per_minute: 60, tokens_per_day: 100_000 },
      total_limits: { concurrent_runs: 4 },
      models: ['demo'],
      tools: ['server:mail'],
    });

    await page.getByRole('button', { name: 'Edit the key Open WebUI' }).click();
    await page.getByRole('group', { name: 'Limits per person' }).getByLabel('Requests per minute').fill('');
    await page.getByRole('group', { name: 'Tools' }).getByLabel('All tools').check();
    await page.getByLabel('A signed token').check();
    expect(await page.getByLabel('Header with the token').inputValue()).toBe('x-openwebui-user-jwt');
    await page.getByLabel('Secret', { exact: false }).last().fill('a-secret-of-thirty-two-characters');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('many people, identified by a signed token').waitFor({ state: 'attached' });
    const changed = (await ask('GET /api/keys')).data.find(({ name }) => name === 'Open WebUI');
    expect(changed).toMatchObject({
      users: { from: 'jwt', name: 'x-openwebui-user-jwt', has_secret: true },
      limits: { tokens_per_day: 100_000 },
      total_limits: { concurrent_runs: 4 },
      tools: null,
    });

    await page.getByRole('button', { name: 'Edit the key Open WebUI' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Open WebUI was saved.').first().waitFor();
    await page.getByRole('button', { name: 'Delete the key Open WebUI' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('Open WebUI was deleted.').first().waitFor();
    expect((await ask('GET /api/keys')).data.map(({ name }) => name)).toEqual(['TOOLWHARF_ADMIN_KEY']);
    expect(it.faults).toEqual([]);
  });

  it('says what the gateway objects to, and keeps what was written', async () => {
    const { url, path } = await administered();
    await using it = await openPage(url, { path });
    const { page } = it;
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Name', { exact: false }).first().fill('past');
    await page.getByText('Limits and permissions').click();
    await page.getByLabel('Last valid day').fill('2020-01-01');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('alert').getByText('in the past').waitFor();
    expect(await page.getByLabel('Last valid day').inputValue()).toBe('2020-01-01');
    // What was the only restriction stays where it is written.
    await page.getByLabel('Last valid day').fill('');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Edit the key past' }).click();
    expect(await page.getByLabel('Last valid day').isVisible()).toBe(false);
    await page.getByText('Limits and permissions').click();
    await page.getByRole('group', { name: 'Limits', exact: true }).getByLabel('Tokens per day').fill('1');
    await page.getByRole('group', { name: 'Limits', exact: true }).getByLabel('Tokens per day').fill('');
    expect(await page.getByLabel('Last valid day').isVisible()).toBe(true);
  });

  it('finds one of many models, and keeps one that is gone', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `model-${index}:latest`);
    const ollama = await startOllamaServer(names.map((name) => ({ name })));
    onTestFinished(() => ollama.close());
    await using gateway = await freshGateway({ TOOLWHARF_ADMIN_KEY: adminKey, OLLAMA_BASE_URLS: ollama.url });
    const headers = { 'x-api-key': adminKey, 'content-type': 'application/json' };
    const body = JSON.stringify({ name: 'script', role: 'user', models: ['gone'] });
    expect((await fetch(`${gateway.url}/api/keys`, { method: 'POST', headers, body })).status).toBe(201);
    await using it = await openPage(gateway.url, { path: `/console/keys#key=${adminKey}` });
    const { page } = it;
    await page.getByRole('button', { name: 'Edit the key script' }).click();
    const models = page.getByRole('group', { name: 'Models' });
    await models.getByLabel('Search models').fill('del-7');
    await models.getByLabel('model-7').check();
    expect(await models.getByRole('checkbox').count()).toBe(1);
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('script was saved.').first().waitFor();
    const listed = (await (await fetch(`${gateway.url}/api/keys`, { headers })).json()) as { data: { models: string[] | null }[] };
    expect(listed.data.map((key) => key.models)).toContainEqual(['gone', 'model-7:latest']);
  });

  it('disconnects a person from a tool server, and deletes them', async () => {
    const { url, path, ask } = await administered();
    const users = { from: 'header', name: 'x-user', name_header: 'x-name' };
    const { key } = await ask('POST /api/keys', { name: 'Frontend', role: 'user', users });
    const ada = { 'x-api-key': String(key), 'x-user': 'a-1', 'x-name': 'Ada' };
    await ask('PUT /api/credentials/mail', { key: 'CANARY-key' }, ada);
    await using it = await openPage(url, { path });
    const { page } = it;
    await page.getByRole('button', { name: 'Manage Ada' }).click();
    const dialog = page.getByRole('dialog', { name: 'Ada' });
    await dialog.getByText('a-1').waitFor();
    await dialog.getByRole('button', { name: 'Disconnect from Mail' }).click();
    await page.getByRole('dialog', { name: 'Disconnect from Mail?' }).getByRole('button', { name: 'Disconnect' }).click();
    await dialog.getByText('None.').waitFor();
    expect((await ask('GET /api/credentials', undefined, ada)).data).toMatchObject([{ server: 'mail', state: 'missing' }]);
    expect(await findFaultsInAllLooks(page)).toEqual([]);

    await dialog.getByRole('button', { name: 'Delete person' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('Ada was deleted.').first().waitFor();
    expect((await ask('GET /api/users')).data).toEqual([]);
    await page.getByRole('heading', { name: 'People', exact: true }).waitFor({ state: 'detached' });
  });

  it('finds people beyond those of the first page, however many there are', async () => {
    const { usage } = memoryStores();
    const count = 1_500;
    const people = Array.from({ length: count }, (_, last) => ({
      keyId: 'key',
      id: `p${last}`,
      name: `Person ${last}`,
      last: Date.now() - count + last,
    }));
    await usage.add([], people);
    await using gateway = await freshGateway({ TOOLWHARF_ADMIN_KEY: adminKey }, { usage });
    await using it = await openPage(gateway.url, { path: `/console/keys#key=${adminKey}` });
    const { page } = it;
    const rows = page.getByRole('group', { name: 'People' }).getByRole('rowheader');
    await rows.first().waitFor();
    expect(await rows.first().innerText()).toBe('Person 1499');
    expect(await rows.count()).toBe(100);
    await page.getByRole('button', { name: 'Show more' }).click();
    await rows.nth(100).waitFor();
    expect(await rows.nth(100).innerText()).toBe('Person 1399');
    await page.getByLabel('Search people').fill('PERSON 1234 ');
    await rows.getByText('Person 1234', { exact: true }).waitFor();
    expect(await rows.allInnerTexts()).toEqual(['Person 1234']);
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await page.getByLabel('Search people').fill('nobody');
    await page.getByText('No matching people.').waitFor();
    await page.getByLabel('Search people').fill('');
    await rows.nth(99).waitFor();
    expect(it.faults).toEqual([]);
  });

  it('disconnects a key that is one caller', async () => {
    const { url, path, ask } = await administered();
    const { key } = await ask('POST /api/keys', { name: 'script', role: 'user' });
    const script = { 'x-api-key': String(key) };
    await ask('PUT /api/credentials/mail', { key: 'CANARY-key' }, script);
    await using it = await openPage(url, { path });
    const { page } = it;
    await page.getByRole('button', { name: 'Edit the key script' }).click();
    await page.getByRole('button', { name: 'Disconnect from Mail' }).click();
    await page.getByRole('dialog', { name: 'Disconnect from Mail?' }).getByRole('button', { name: 'Disconnect' }).click();
    await page.getByText('None.').waitFor();
    expect((await ask('GET /api/credentials', undefined, script)).data).toMatchObject([{ state: 'missing' }]);
  });

  it('shows a new key until it is closed, also to who double-clicks', async () => {
    await using gateway = await freshGateway();
    await using it = await openPage(gateway.url, { path: `/console/keys#key=${gateway.app.startKey}` });
    const { page } = it;
    const doubleClick = async (button: string, opened: string): Promise<void> => {
      await page.getByRole('button', { name: button }).click();
      const dialog = page.getByRole('dialog', { name: opened });
      await dialog.waitFor();
      await page.mouse.down({ clickCount: 2 });
      await page.mouse.up({ clickCount: 2 });
      await page.evaluate(() => new Promise((resolve) => void requestAnimationFrame(resolve)));
      expect([button, await dialog.count()]).toEqual([button, 1]);
    };
    for (const name of ['the first', 'another']) {
      await doubleClick('New key', 'New key');
      await page.getByRole('textbox', { name: /^Name/ }).fill(name);
      await doubleClick('Create key', 'Your new key');
      await page.getByRole('button', { name: 'Done' }).click();
    }
  });
});
