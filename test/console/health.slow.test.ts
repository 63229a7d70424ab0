import { afterAll, expect, it, onTestFinished } from 'vitest';
import { closePages, describeInChromium, findBarriers, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import { startOllamaServer } from '../_support/ollama-server.ts';
import { respond, startUpstream } from '../_support/upstream-server.ts';
import type { UpstreamServer } from '../_support/upstream-server.ts';

afterAll(closePages);

async function backendOf(status: number, body: unknown): Promise<UpstreamServer> {
  const server = await startUpstream(() => respond(status, body));
  onTestFinished(() => server.close());
  return server;
}

async function ollamaOf(...names: string[]): Promise<string> {
  const server = await startOllamaServer(names.map((name) => ({ name })));
  onTestFinished(() => server.close());
  return server.url;
}

const refusing = { OPENAI_API_KEYS: 'sk-wrong', TOOLWHARF_DEMO: 'true' };

describeInChromium('the notice of missing models and backends in a new chat', () => {
  async function partsOf(environment: NodeJS.ProcessEnv): Promise<string[]> {
    await using gateway = await freshGateway(environment);
    await using it = await openPage(gateway.url);
    await it.page.locator('.missing').waitFor({ state: 'attached' });
    expect(await findBarriers(it.page)).toEqual([]);
    return await it.page.locator('.missing-part').allInnerTexts();
  }

  it('tells how to get a model when there is none', async () => {
    expect(await partsOf({ TOOLWHARF_DEMO: 'false' })).toEqual([expect.stringMatching(/^There are no models yet.*ollama pull qwen3:4b/s)]);
  });

  it('tells how to get a model when only the demo model is available', async () => {
    expect(await partsOf({})).toEqual([expect.stringMatching(/^Only the demo model is available.*ollama pull qwen3:4b/s)]);
  });

  it('is empty when there is a model, even if no Ollama runs at its default address', async () => {
    const { origin } = await backendOf(200, { object: 'list', data: [{ id: 'gpt-x', object: 'model' }] });
    expect(await partsOf({ OLLAMA_BASE_URLS: undefined, OPENAI_API_BASE_URLS: `${origin}/v1`, TOOLWHARF_DEMO: 'false' })).toEqual([]);
  });

  it('names a backend that is not responding', async () => {
    const parts = await partsOf({ OLLAMA_BASE_URLS: await ollamaOf('qwen3:4b'), OPENAI_API_BASE_URLS: 'http://127.0.0.1:9/v1' });
    expect(parts).toEqual([expect.stringContaining('The backend openai is not responding')]);
  });

  it('has a command to copy when Ollama runs without a model', async () => {
    await using gateway = await freshGateway({ OLLAMA_BASE_URLS: await ollamaOf() });
    await using it = await openPage(gateway.url);
    await it.page.getByText('Ollama is running but has no model yet.').waitFor();
    await it.page.getByRole('button', { name: 'Copy ollama pull qwen3:4b' }).click();
    expect(await it.page.evaluate(() => navigator.clipboard.readText())).toBe('ollama pull qwen3:4b');
    expect(await findBarriers(it.page)).toEqual([]);
  });

  it('says that a backend rejected the key, and links to the health page', async () => {
    const { origin } = await backendOf(401, { error: { message: 'bad key' } });
    await using gateway = await freshGateway({ ...refusing, OPENAI_API_BASE_URLS: `${origin}/v1` });
    await using it = await openPage(gateway.url, { path: `/#key=${gateway.app.startKey ?? ''}` });
    const part = it.page.locator('.missing-part', { hasText: 'rejected the gateway’s API key' });
    await part.getByRole('link', { name: 'Health' }).click();
    await it.page.getByRole('heading', { name: '1 problem found.' }).waitFor();
    await it.page.getByText('check its key').waitFor();
  });
});

describeInChromium('the health page', () => {
  it('lists problems first, says how to fix them, and checks again', async () => {
    let status = 401;
    const list = { object: 'list', data: [{ id: 'gpt-x', object: 'model' }] };
    const server = await startUpstream(() => respond(status, list));
    onTestFinished(() => server.close());
    await using gateway = await freshGateway({ ...refusing, OPENAI_API_BASE_URLS: `${server.origin}/v1` });
    await using it = await openPage(gateway.url, { path: `/console/health#key=${gateway.app.startKey ?? ''}` });
    const { page } = it;
    await page.getByRole('heading', { name: '1 problem found.' }).waitFor();
    const first = page.locator('.health-part').first();
    expect(await first.getByRole('heading').innerText()).toBe('Models');
    const finding = first.getByRole('listitem').first();
    expect(await finding.innerText()).toContain(server.origin);
    expect(await finding.locator('.health-cure').innerText()).toContain('check its key');
    expect(await page.textContent('main')).not.toContain('sk-wrong');

    status = 200;
    await page.getByRole('button', { name: 'Check again' }).click();
    await page.getByRole('heading', { name: 'Everything works.' }).waitFor();
    expect(it.faults).toEqual([]);
  });

  it('does not say that everything works when there is a note', async () => {
    await using gateway = await freshGateway();
    await using it = await openPage(gateway.url);
    const note = { level: 'note', about: 'Models', message: 'ollama: Nothing listens there.', cure: 'Start Ollama.' };
    await it.page.route('**/api/doctor', (route) => route.fulfill({ json: { ok: true, data: [note] } }));
    await it.page.goto(`${gateway.url}/console/health#key=${gateway.app.startKey ?? ''}`);
    await it.page.getByRole('heading', { name: 'Nothing is broken.' }).waitFor();
    expect(await it.page.locator('.health-verdict').innerText()).toContain('1 note below.');
  });

  it('says that it is checking until the check has finished', async () => {
    const answer = Promise.withResolvers<undefined>();
    const server = await startUpstream(() => [{ until: answer.promise }, ...respond(200, { object: 'list', data: [] })]);
    onTestFinished(() => server.close());
    await using gateway = await freshGateway({ ...refusing, OPENAI_API_BASE_URLS: `${server.origin}/v1` });
    await using it = await openPage(gateway.url, { path: `/console/health#key=${gateway.app.startKey ?? ''}` });
    expect(await it.page.getByRole('button', { name: 'Checking…' }).isDisabled()).toBe(true);
    answer.resolve(undefined);
    await it.page.getByRole('button', { name: 'Check again' }).waitFor();
    await it.page.getByText('answers, but has no models').waitFor();
  });

  it.each(['light', 'dark'] as const)('passes axe and never scrolls sideways, wide and at 360 pixels (%s)', async (colorScheme) => {
    const { origin } = await backendOf(401, { error: { message: 'bad key' } });
    const ollama = await ollamaOf();
    await using gateway = await freshGateway({ ...refusing, OPENAI_API_BASE_URLS: `${origin}/v1`, OLLAMA_BASE_URLS: ollama });
    for (const options of [{}, { viewport: { width: 360, height: 740 } }]) {
      await using it = await openPage(gateway.url, {
        path: `/console/health#key=${gateway.app.startKey ?? ''}`,
        colorScheme,
        ...options,
      });
      await it.page.locator('.health-part').first().waitFor();
      expect(await findBarriers(it.page)).toEqual([]);
      expect(await it.page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      expect(it.faults).toEqual([]);
    }
  });
});
