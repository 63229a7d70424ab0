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

describeInChromium('what is missing, on the first page', () => {
  async function partsOf(environment: NodeJS.ProcessEnv): Promise<string[]> {
    await using gateway = await freshGateway(environment);
    await using it = await openPage(gateway.url);
    await it.page.locator('.missing').waitFor({ state: 'attached' });
    expect(await findBarriers(it.page)).toEqual([]);
    return await it.page.locator('.missing-part').allInnerTexts();
  }

  it('is a model, where there is none at all', async () => {
    expect(await partsOf({ TOOLWHARF_DEMO: 'false' })).toEqual([expect.stringMatching(/^There are no models yet.*ollama pull qwen3:4b/s)]);
  });

  it('is a model, where the demo model stands in', async () => {
    expect(await partsOf({})).toEqual([expect.stringMatching(/^Only the demo model is available.*ollama pull qwen3:4b/s)]);
  });

  it('is nothing, where a model is there, even without the Ollama that nobody has configured', async () => {
    const { origin } = await backendOf(200, { object: 'list', data: [{ id: 'gpt-x', object: 'model' }] });
    expect(await partsOf({ OLLAMA_BASE_URLS: undefined, OPENAI_API_BASE_URLS: `${origin}/v1`, TOOLWHARF_DEMO: 'false' })).toEqual([]);
  });

  it('is a backend that nothing listens for', async () => {
    const parts = await partsOf({ OLLAMA_BASE_URLS: await ollamaOf('qwen3:4b'), OPENAI_API_BASE_URLS: 'http://127.0.0.1:9/v1' });
    expect(parts).toEqual([expect.stringContaining('The backend openai is not responding')]);
  });

  it('is a model of an Ollama without any, whose line can be copied', async () => {
    await using gateway = await freshGateway({ OLLAMA_BASE_URLS: await ollamaOf() });
    await using it = await openPage(gateway.url);
    await it.page.getByText('Ollama is running but has no model yet.').waitFor();
    await it.page.getByRole('button', { name: 'Copy ollama pull qwen3:4b' }).click();
    expect(await it.page.evaluate(() => navigator.clipboard.readText())).toBe('ollama pull qwen3:4b');
    expect(await findBarriers(it.page)).toEqual([]);
  });

  it('is a key that its backend takes, and leads to what to do', async () => {
    const { origin } = await backendOf(401, { error: { message: 'bad key' } });
    await using gateway = await freshGateway({ ...refusing, OPENAI_API_BASE_URLS: `${origin}/v1` });
    await using it = await openPage(gateway.url, { path: `/#key=${gateway.app.startKey ?? ''}` });
    const part = it.page.locator('.missing-part', { hasText: 'rejected the gateway’s API key' });
    await part.getByRole('link', { name: 'Health' }).click();
    await it.page.getByRole('heading', { name: '1 problem found.' }).waitFor();
    await it.page.getByText('check its key').waitFor();
  });
});

describeInChromium('the page of the doctor', () => {
  it('puts what is broken first, with its cure, and examines again', async () => {
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

  it('does not say that everything works where a note says otherwise', async () => {
    await using gateway = await freshGateway();
    await using it = await openPage(gateway.url);
    const note = { level: 'note', about: 'Models', message: 'ollama: Nothing listens there.', cure: 'Start Ollama.' };
    await it.page.route('**/api/doctor', (route) => route.fulfill({ json: { ok: true, data: [note] } }));
    await it.page.goto(`${gateway.url}/console/health#key=${gateway.app.startKey ?? ''}`);
    await it.page.getByRole('heading', { name: 'Nothing is broken.' }).waitFor();
    expect(await it.page.locator('.health-verdict').innerText()).toContain('1 note below.');
  });

  it('says that it examines, for as long as it does', async () => {
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

  it.each(['light', 'dark'] as const)('stands in nobody’s way, wide and at 360 pixels (%s)', async (colorScheme) => {
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
