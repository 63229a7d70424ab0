import { Ollama } from 'ollama';
import { describe, expect, it } from 'vitest';
import { ollamaVersion } from '../../../src/http/dialects/ollama/ollama-entries.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { backendOf, listen, testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { startOllamaServer } from '../../_support/ollama-server.ts';
import { ScriptedModel } from '../../_support/scripted-model.ts';
import { respond, startUpstream } from '../../_support/upstream-server.ts';

const adminKey = 'sk-tw-admin-0123456789';
const llama = {
  name: 'llama3.2:latest',
  digest: 'abc123',
  capabilities: ['completion', 'vision'],
  contextLength: 131_072,
  loadedContext: 8_192,
};
const nomic = { name: 'nomic:latest', capabilities: ['embedding'] };

/** A gateway before an Ollama, a server with OpenAI's API, and a preset. */
async function gatewayWithBoth() {
  const ollama = await startOllamaServer([llama, nomic]);
  const openAi = await startUpstream(({ method, body }) => {
    if (method === 'GET') return respond(200, { data: [{ id: 'org/gpt', created: 1_700_000_000, owned_by: 'Some Org' }] });
    const { input } = JSON.parse(body) as { input: string[] };
    const data = input.map((_text, index) => ({ object: 'embedding', index, embedding: [index, 0.5] })).toReversed();
    return respond(200, { object: 'list', data, usage: { prompt_tokens: 4, total_tokens: 4 } });
  });
  const app = await testApp({
    OLLAMA_BASE_URLS: ollama.url,
    OPENAI_API_BASE_URL: `${openAi.origin}/v1`,
    OPENAI_API_KEY: 'sk-1',
    TOOLWHARF_ADMIN_KEY: adminKey,
  });
  const host = await listen(app);
  const headers = { authorization: `Bearer ${adminKey}` };
  await send(app, 'POST', '/api/presets', { id: 'clerk', base_model: 'llama3.2', system: 'A secret prompt.' });
  return {
    app,
    host,
    ollama,
    openAi,
    client: new Ollama({ host, headers }),
    [Symbol.asyncDispose]: async () => (await app.close(), await ollama.close(), openAi.close()),
  };
}

function send(app: TestApp, method: 'GET' | 'POST' | 'DELETE' | 'HEAD', url: string, payload?: JsonObject, key = adminKey) {
  return app.server.inject({ method, url, headers: { authorization: `Bearer ${key}` }, ...(payload && { payload }) });
}

async function keyFor(app: TestApp, models: string[]): Promise<string> {
  const made = await send(app, 'POST', '/api/keys', { name: 'ada', role: 'user', models });
  return made.json<{ key: string }>().key;
}

const details = { parent_model: '', format: 'gguf', parameter_size: '', quantization_level: '' };

describe('the list', () => {
  it('has the models of all backends, and presets, with every field', async () => {
    await using it = await gatewayWithBoth();
    const { models } = await it.client.list();
    expect(models).toEqual([
      {
        name: 'clerk',
        model: 'clerk',
        modified_at: expect.any(String) as string,
        size: 0,
        digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
        details: { ...details, family: 'toolwharf', families: ['toolwharf'] },
        capabilities: ['completion', 'vision', 'tools'],
      },
      {
        name: 'llama3.2:latest',
        model: 'llama3.2:latest',
        modified_at: '2025-08-20T12:09:16.773972+02:00',
        size: 2_019_393_189,
        digest: 'abc123',
        details: {
          parent_model: '',
          format: 'gguf',
          family: 'llama',
          families: ['llama'],
          parameter_size: '3.2B',
          quantization_level: 'Q4_K_M',
        },
        capabilities: ['completion', 'vision', 'tools'],
      },
      expect.objectContaining({ name: 'nomic:latest', capabilities: ['embedding'] }) as unknown,
      {
        name: 'org/gpt',
        model: 'org/gpt',
        modified_at: '2023-11-14T22:13:20.000Z',
        size: 0,
        // Pinned, because clients remember models by it.
        digest: '7541ebe5b347d6146bf430674e3d8fa5ddcb81e0e856d964847cc2784b29462f',
        details: { ...details, family: 'some-org', families: ['some-org'] },
        capabilities: ['completion', 'tools'],
      },
    ]);
  });

  it('has those alone that the key may use', async () => {
    await using it = await gatewayWithBoth();
    const key = await keyFor(it.app, ['clerk', 'nomic']);
    const { models } = (await send(it.app, 'GET', '/api/tags', undefined, key)).json<{ models: { name: string }[] }>();
    expect(models.map(({ name }) => name)).toEqual(['clerk', 'nomic:latest']);
    expect((await send(it.app, 'GET', '/api/ps', undefined, key)).json()).toEqual({ models: [] });
    const shown = await send(it.app, 'POST', '/api/show', { model: 'org/gpt' }, key);
    expect([shown.statusCode, shown.json()]).toEqual([403, { error: expect.stringContaining('clerk') as string }]);
  });

  it('of loaded models is that of the Ollamas', async () => {
    await using it = await gatewayWithBoth();
    const { models } = await it.client.ps();
    expect(models).toMatchObject([
      { name: 'llama3.2:latest', model: 'llama3.2:latest', size_vram: 0, context_length: 8_192, digest: 'abc123' },
    ]);
  });

  it('does without an Ollama that does not answer', async () => {
    await using app = await testApp({ OLLAMA_BASE_URLS: 'http://127.0.0.1:9', TOOLWHARF_DEMO: 'true' });
    const list = async (url: string): Promise<string[]> => {
      const answer = await app.server.inject({ url, headers: { host: '127.0.0.1' } });
      return answer.json<{ models: { name: string }[] }>().models.map(({ name }) => name);
    };
    expect(await list('/api/tags')).toEqual(['demo']);
    expect(await list('/api/ps')).toEqual([]);
  });
});

describe('a model', () => {
  it('of an Ollama is shown as it is there, and with tools', async () => {
    await using it = await gatewayWithBoth();
    const shown = await it.client.show({ model: 'llama3.2' });
    expect(shown).toMatchObject({
      license: 'MIT',
      details: { family: 'llama', parameter_size: '3.2B' },
      model_info: { 'general.architecture': 'llama', 'general.basename': 'llama3.2:latest', 'llama.context_length': 131_072 },
      capabilities: ['completion', 'vision', 'tools'],
    });
  });

  it('of another backend has every field', async () => {
    await using it = await gatewayWithBoth();
    const shown = await it.client.show({ model: 'org/gpt:latest' });
    expect(shown).toEqual({
      license: '',
      modelfile: '',
      parameters: '',
      template: '',
      modified_at: '2023-11-14T22:13:20.000Z',
      details: { ...details, family: 'some-org', families: ['some-org'] },
      model_info: { 'general.architecture': 'some-org', 'general.basename': 'org/gpt', 'some-org.context_length': 32_768 },
      capabilities: ['completion', 'tools'],
    });
  });

  it('that is a preset says nothing of its prompt; older clients name it in `name`', async () => {
    await using it = await gatewayWithBoth();
    const answer = await send(it.app, 'POST', '/api/show', { name: 'clerk' });
    expect(answer.json()).toMatchObject({ model_info: { 'general.basename': 'clerk' }, capabilities: ['completion', 'vision', 'tools'] });
    expect(answer.body).not.toContain('secret');
  });

  it('that does not exist is a 404, and no name a 400', async () => {
    await using it = await gatewayWithBoth();
    await expect(it.client.show({ model: 'none' })).rejects.toMatchObject({ status_code: 404 });
    await expect(it.client.show({ model: '' })).rejects.toMatchObject({
      status_code: 400,
      error: expect.stringContaining('model:') as string,
    });
  });
});

describe('embeddings', () => {
  it('of an Ollama', async () => {
    await using it = await gatewayWithBoth();
    const answer = await it.client.embed({ model: 'nomic', input: ['a', 'b'], truncate: true, keep_alive: '1m', dimensions: 2 });
    expect(answer).toMatchObject({
      model: 'nomic',
      embeddings: [
        [1, 0.25],
        [2, 0.25],
      ],
      prompt_eval_count: 2,
    });
    expect(answer.total_duration).toBeGreaterThan(0);
    const [asked] = it.ollama.requests.filter(({ path }) => path === '/api/embed');
    expect(asked?.body).toEqual({ model: 'nomic:latest', input: ['a', 'b'], truncate: true, keep_alive: '1m', dimensions: 2 });
  });

  it("of a server with OpenAI's API, in the order of the texts", async () => {
    await using it = await gatewayWithBoth();
    const answer = await it.client.embed({ model: 'org/gpt', input: ['a', 'b'], truncate: true, keep_alive: '1m' });
    expect(answer).toMatchObject({
      embeddings: [
        [0, 0.5],
        [1, 0.5],
      ],
      prompt_eval_count: 4,
    });
    expect(it.openAi.requests.at(-1)?.json()).toEqual({ model: 'org/gpt', input: ['a', 'b'], encoding_format: 'float' });
    expect(await it.client.embeddings({ model: 'org/gpt', prompt: 'a' })).toEqual({ embedding: [0, 0.5] });
  });

  it('of nothing ask no backend', async () => {
    await using it = await gatewayWithBoth();
    expect(await it.client.embed({ model: 'org/gpt', input: '' })).toMatchObject({ embeddings: [] });
    expect(await it.client.embeddings({ model: 'org/gpt', prompt: '' })).toEqual({ embedding: [] });
    await expect(it.client.embed({ model: 'none', input: '' })).rejects.toMatchObject({ status_code: 404 });
    expect(it.openAi.requests.filter(({ method }) => method === 'POST')).toEqual([]);
  });

  it.each([
    ['/api/embed', { model: 'nomic', input: 7 }, 'input'],
    ['/api/embed', { input: 'a' }, 'model'],
    ['/api/embeddings', { model: 'nomic', prompt: ['a'] }, 'prompt'],
  ])('%s refuses %j by the name of the field', async (url, payload, field) => {
    await using it = await gatewayWithBoth();
    const answer = await send(it.app, 'POST', url, payload);
    expect([answer.statusCode, answer.json()]).toEqual([400, { error: expect.stringContaining(`${field}: `) as string }]);
  });

  it('need a key that may use the model, and a model that has some', async () => {
    await using it = await gatewayWithBoth();
    const key = await keyFor(it.app, ['clerk']);
    expect((await send(it.app, 'POST', '/api/embed', { model: 'nomic', input: 'a' }, key)).statusCode).toBe(403);
    await using other = await testApp({}, { backends: [backendOf(new ScriptedModel(), ['plain'])] });
    const refused = await other.server.inject({ method: 'POST', url: '/api/embed', payload: { model: 'plain', input: 'a' } });
    expect([refused.statusCode, refused.json()]).toEqual([400, { error: 'model: plain has no embeddings. Name a model that has them.' }]);
  });
});

describe('the server', () => {
  it('is there, and names the version of Ollama whose API it speaks, beside its own', async () => {
    await using it = await gatewayWithBoth();
    expect((await send(it.app, 'HEAD', '/')).statusCode).toBe(200);
    expect(await it.client.version()).toEqual({ version: ollamaVersion, toolwharf: expect.stringMatching(/^\d+\.\d+\.\d+/) as string });
  });

  it('refuses what would change an Ollama, whatever the key', async () => {
    await using it = await gatewayWithBoth();
    const routes = [
      ['POST', '/api/pull'],
      ['POST', '/api/push'],
      ['POST', '/api/create'],
      ['POST', '/api/copy'],
      ['DELETE', '/api/delete'],
      ['POST', '/api/blobs/sha256:0'],
      ['HEAD', '/api/blobs/sha256:0'],
    ] as const;
    for (const [method, url] of routes) {
      const answer = await send(it.app, method, url, method === 'HEAD' ? undefined : { model: 'llama3.2' });
      expect([url, answer.statusCode]).toEqual([url, 403]);
      expect(answer.body).toMatch(method === 'HEAD' ? /^$/ : /^\{"error":"No key may .*"\}$/);
      expect((await send(it.app, method, url, undefined, 'sk-tw-wrong')).statusCode).toBe(401);
    }
    await expect(it.client.pull({ model: 'llama3.2' })).rejects.toMatchObject({ status_code: 403 });
    expect(it.ollama.requests.every(({ method, path }) => method === 'GET' || path === '/api/show')).toBe(true);
  });

  it('takes no blob before it refuses it, whatever its type', async () => {
    await using it = await gatewayWithBoth();
    const answer = await it.app.server.inject({
      method: 'POST',
      url: '/api/blobs/sha256:0',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/octet-stream' },
      payload: Buffer.alloc(1_000),
    });
    expect(answer.statusCode).toBe(403);
  });
});
