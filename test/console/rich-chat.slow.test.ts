import { afterAll, expect, it } from 'vitest';
import { startTimeServer } from '../../src/demo/time-server.ts';
import { backendOf } from '../_support/build-app.ts';
import { closePages, describeInChromium, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import { mcpHttpServer } from '../_support/mcp-http-server.ts';
import { calls, says, ScriptedModel } from '../_support/scripted-model.ts';
import { toolOf } from '../tools/mcp/scripted-peer.ts';

afterAll(closePages);

const cities = Array.from({ length: 5 }, (_, index) => ({
  city: `City ${index}`,
  people: index * 1_000,
  note: 'A remark that takes some room',
}));
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const markdown = `# A heading\n\nWords, **strong** ones, and a [link](https://example.org).

| City | People | Area | Founded | Mayor | Remark |
|---|--:|--:|---|---|---|
| Osaka | 2,691,000 | 225 | 645 | somebody | A fairly long remark that takes room |

\`\`\`ts
export async function answer(question: string, options: { model: string; temperature?: number }): Promise<Answer> {}
\`\`\`

1. One\n   - [x] done\n\n> A quote\n\n${'Averylongword'.repeat(20)}`;

function startServer() {
  const inputSchema = { type: 'object' as const, properties: { at: { type: 'object' } } };
  const tools = ['list_cities', 'draw_map', 'break_down'].map((name) => toolOf(name, { inputSchema }));
  return mcpHttpServer(tools, {
    onCall(name) {
      if (name === 'list_cities') return { content: [{ type: 'text', text: JSON.stringify(cities) }] };
      if (name === 'draw_map') return { content: [{ type: 'image', data: png, mimeType: 'image/png' }] };
      return { content: [{ type: 'text', text: `It is broken: ${'x'.repeat(300)}` }], isError: true };
    },
  });
}

describeInChromium('an answer with everything in it', () => {
  it('is shown as it is meant, in every look: tables, pictures, trees, code, errors', async () => {
    const server = await startServer();
    const model = new ScriptedModel(
      [
        { type: 'reasoning', text: 'First **this**, then that.' },
        ...calls(['list_cities', {}], ['draw_map', { at: { x: 1 } }], ['break_down', {}]),
      ],
      says(markdown),
      [{ type: 'text', text: 'And' }, new Error('broken')],
      [{ type: 'text', text: 'Still there' }, new Promise(() => undefined)],
    );
    const connections = [{ id: 'atlas', type: 'mcp', url: server.url }];
    await using gateway = await freshGateway({ TOOL_SERVER_CONNECTIONS: JSON.stringify(connections) }, { backends: [backendOf(model)] });
    await using it = await openPage(gateway.url, { reducedMotion: 'reduce' });
    const { page } = it;
    await page.getByLabel('Your question').fill('Which cities are there?');
    await page.keyboard.press('Enter');
    await page.locator('.chat-answer .chat-foot').waitFor();
    for (const summary of await page.locator('main :is(.chat-reasoning, .call > details) > summary').all()) await summary.click();
    const [list, map, broken] = await page.locator('.call').all();
    expect(await list?.getByRole('row').count()).toBe(1 + cities.length);
    expect(await map?.getByRole('img').count()).toBe(1);
    expect(await map?.getByRole('group', { name: 'Arguments' }).innerText()).toContain('at');
    expect(await broken?.innerText()).toContain('It is broken');
    await page.getByText('First this, then that.').waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);

    const code = page.locator('.markdown .code-block');
    await code.getByRole('button', { name: 'Copy code' }).click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/^export async function answer.*\{\}$/);

    await page.getByLabel('Your question').fill('And then?');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    // One button for it is enough.
    expect(await page.locator('.chat-answer').last().getByRole('button', { name: 'Regenerate' }).count()).toBe(0);
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('Still there').waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    expect(it.faults).toEqual([]);
    expect(it.foreign).toEqual([]);
  });
});

describeInChromium('a new tool server', () => {
  it('is added, tried, and used in a chat', async () => {
    const time = await startTimeServer({ host: '127.0.0.1', port: 0 });
    await using gateway = await freshGateway({ TOOL_SERVER_CONNECTIONS: '[]' });
    await using it = await openPage(gateway.url, { path: `/#key=${gateway.app.startKey ?? ''}` });
    const { page } = it;
    await page.getByRole('link', { name: 'Tool servers' }).click();
    await page.getByRole('button', { name: 'Add a tool server' }).first().click();
    await page.getByRole('textbox', { name: /^URL/ }).fill(time.url);
    await page.getByRole('button', { name: /^Add \d+ functions/ }).click();
    const line = page.locator('.report-functions li', { hasText: 'format_current_time' });
    await line.getByRole('button', { name: 'Try', exact: true }).click();
    await page.getByLabel('timezone').fill('Asia/Tokyo');
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByRole('heading', { name: /^Succeeded/ }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'New chat' }).click();
    await page.getByRole('button', { name: 'What time is it in Osaka?' }).click();
    await page.getByText(/Demo model: .*says/).waitFor();
    expect(await page.locator('.call.done .call-name').innerText()).toContain('format_current_time');
    expect(it.faults).toEqual([]);
    await time.close();
  });
});
