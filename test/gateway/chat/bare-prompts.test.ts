import { Ollama } from 'ollama';
import { describe, expect, it } from 'vitest';
import { ollamaEnd, startOllamaServer } from '../../_support/ollama-server.ts';
import { listen, testApp } from '../../_support/build-app.ts';
import { events, respond, startUpstream, stream } from '../../_support/upstream-server.ts';
import type { RecordedRequest } from '../../_support/upstream-server.ts';

const models = respond(200, { object: 'list', data: [{ id: 'coder', object: 'model' }] });
const completion = {
  id: 'cmpl-1',
  object: 'text_completion',
  created: 1,
  model: 'coder',
  choices: [{ index: 0, text: '<think>a + b', logprobs: null, finish_reason: 'stop' }],
  usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
};

/** A gateway before one backend with OpenAI's API, whose answers to `POST` are the script. */
async function beforeOpenAi(answer: (request: RecordedRequest) => ReturnType<typeof respond>) {
  const upstream = await startUpstream((request) => (request.method === 'GET' ? models : answer(request)));
  const app = await testApp({ OLLAMA_BASE_URLS: '', OPENAI_API_BASE_URL: `${upstream.origin}/v1`, OPENAI_API_KEY: 'sk-1' });
  const host = await listen(app);
  const asked = () => upstream.requests.filter(({ method }) => method === 'POST');
  return { host, asked, client: new Ollama({ host }), [Symbol.asyncDispose]: async () => (await app.close(), upstream.close()) };
}

const line = (fields: object) => ({ line: { model: 'coder', created_at: '2026-01-01T12:00:00Z', response: '', done: false, ...fields } });

/** A gateway before one Ollama. */
async function beforeOllama(...answers: Parameters<typeof Array.of<ReturnType<typeof line>[]>>) {
  const server = await startOllamaServer([{ name: 'coder:latest', capabilities: ['completion', 'insert'] }]);
  server.answers.push(...answers);
  const app = await testApp({ OLLAMA_BASE_URLS: server.url });
  const host = await listen(app);
  const asked = () => server.requests.filter(({ path }) => path === '/api/generate').map(({ body }) => body);
  return { host, asked, client: new Ollama({ host }), [Symbol.asyncDispose]: async () => (await app.close(), server.close()) };
}

describe("a backend with OpenAI's API", () => {
  it('fills in the middle by its completions, and nothing in them is taken for reasoning', async () => {
    await using it = await beforeOpenAi(() => respond(200, completion));
    const answer = await it.client.generate({
      model: 'coder',
      prompt: 'return ',
      suffix: ';',
      options: { num_predict: 20, num_ctx: 1024 },
    });
    expect(answer).toMatchObject({ response: '<think>a + b', done_reason: 'stop', prompt_eval_count: 7, eval_count: 3 });
    const [asked] = it.asked();
    expect(asked?.url).toBe('/v1/completions');
    expect(asked?.json()).toEqual({ model: 'coder', prompt: 'return ', suffix: ';', max_tokens: 20, stream: false });
  });

  it('streams them', async () => {
    const chunks = ['a', ' + b'].map((text) => ({ ...completion, choices: [{ index: 0, text, finish_reason: null }] }));
    const last = { ...completion, choices: [{ index: 0, text: '', finish_reason: 'length' }] };
    await using it = await beforeOpenAi(() => stream(events(...chunks, last, '[DONE]')));
    const parts = await Array.fromAsync(await it.client.generate({ model: 'coder', prompt: 'return ', raw: true, stream: true }));
    expect(parts.map(({ response }) => response)).toEqual(['a', ' + b', '']);
    expect(parts.at(-1)).toMatchObject({ done: true, done_reason: 'length', eval_count: 3 });
    expect(it.asked()[0]?.json()).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  });

  it('answers a prompt without a suffix in a chat', async () => {
    const chat = {
      ...completion,
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    };
    await using it = await beforeOpenAi(() => respond(200, chat));
    expect(await it.client.generate({ model: 'coder', prompt: 'Hello' })).toMatchObject({ response: 'Hi' });
    expect(it.asked()[0]?.url).toBe('/v1/chat/completions');
  });

  it('without completions says what to do', async () => {
    await using it = await beforeOpenAi(() => respond(404, { error: { message: 'Not Found' } }));
    const failing = it.client.generate({ model: 'coder', prompt: 'return ', suffix: ';' });
    await expect(failing).rejects.toMatchObject({
      status_code: 400,
      error: expect.stringContaining('does not continue bare prompts') as string,
    });
  });

  it.each([
    [{ template: '{{ .Prompt }}' }, 'template'],
    [{ context: [1, 2] }, 'context'],
    [{ suffix: ';', images: ['iVBORw0KGgo='] }, 'images'],
  ])('refuses what it cannot take: %j', async (fields, param) => {
    await using it = await beforeOpenAi(() => respond(200, completion));
    const failing = it.client.generate({ model: 'coder', prompt: 'return ', ...fields });
    await expect(failing).rejects.toMatchObject({ status_code: 400, error: expect.stringContaining(`${param}: `) as string });
    expect(it.asked()).toEqual([]);
  });
});

describe('an Ollama', () => {
  it('gets the suffix and everything else as it was sent', async () => {
    const end = ollamaEnd('stop', { response: '', message: undefined, context: [1, 2, 3] });
    await using it = await beforeOllama([line({ response: 'a' }), line({ response: ' + b' }), end as ReturnType<typeof line>]);
    const sent = {
      prompt: 'return ',
      suffix: ';',
      system: 'Code only.',
      keep_alive: '30s',
      options: { num_ctx: 2048, temperature: 0, top_k: 3 },
    };
    const answer = await it.client.generate({ model: 'coder', ...sent });
    expect(answer).toMatchObject({ model: 'coder', response: 'a + b', context: [1, 2, 3], prompt_eval_count: 26, eval_count: 8 });
    expect(it.asked()).toEqual([{ ...sent, model: 'coder:latest', stream: true }]);
  });

  it('continues a raw prompt, with thinking', async () => {
    const end = ollamaEnd('length', { response: '', message: undefined });
    await using it = await beforeOllama([line({ thinking: 'Hm' }), line({ response: 'b' }), end as ReturnType<typeof line>]);
    const answer = await it.client.generate({ model: 'coder', prompt: '[INST] a', raw: true });
    expect(answer).toMatchObject({ response: 'b', thinking: 'Hm', done_reason: 'length' });
    expect(it.asked()).toEqual([{ model: 'coder:latest', prompt: '[INST] a', raw: true, stream: true }]);
  });

  it('that stops in the middle is an error', async () => {
    await using it = await beforeOllama([line({ response: 'a' })]);
    await expect(it.client.generate({ model: 'coder', prompt: 'a', raw: true })).rejects.toThrow(/before its answer was complete/);
  });
});

it('the demo model takes the prompt for a question', async () => {
  await using app = await testApp({ OLLAMA_BASE_URLS: '', TOOLWHARF_DEMO: 'true' });
  const client = new Ollama({ host: await listen(app) });
  expect((await client.generate({ model: 'demo', prompt: 'Hello', suffix: '!' })).response).not.toBe('');
});
