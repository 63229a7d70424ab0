import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import { listen, testApp } from '../../_support/build-app.ts';
import { ollamaEnd, startOllamaServer } from '../../_support/ollama-server.ts';
import { says } from '../../_support/scripted-model.ts';
import { events, respond, startUpstream, stream } from '../../_support/upstream-server.ts';
import { answerOf, documentOf, gatewayOf, serverOf } from '../gateway.ts';

const models = respond(200, { object: 'list', data: [{ id: 'coder', object: 'model' }] });
const choice = { index: 0, text: 'a + b', logprobs: { tokens: ['a'] }, finish_reason: 'stop' };
const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
const completion = { id: 'cmpl-1', object: 'text_completion', created: 1, model: 'coder', choices: [choice], usage };

async function beforeOpenAi(answer: ReturnType<typeof respond>) {
  const upstream = await startUpstream((request) => (request.method === 'GET' ? models : answer));
  const app = await testApp({ OLLAMA_BASE_URLS: '', OPENAI_API_BASE_URL: `${upstream.origin}/v1`, OPENAI_API_KEY: 'sk-1' });
  const host = await listen(app);
  const client = new OpenAI({ baseURL: `${host}/v1`, apiKey: 'any', maxRetries: 0 });
  const asked = () => upstream.requests.filter(({ method }) => method === 'POST');
  return { app, client, host, asked, [Symbol.asyncDispose]: async () => (await app.close(), upstream.close()) };
}

describe("a backend with OpenAI's API", () => {
  it('gets the prompt and all parameters, and its answer is passed on', async () => {
    await using it = await beforeOpenAi(
      respond(200, { ...completion, choices: [choice, { ...choice, index: 1, text: 'b', logprobs: null }] }),
    );
    const answer = await it.client.completions.create({
      model: 'coder',
      prompt: 'return ',
      suffix: ';',
      n: 2,
      best_of: 2,
      echo: false,
      max_tokens: 9,
      logprobs: 1,
    });
    expect(answer).toMatchObject({
      id: expect.stringMatching(/^cmpl-/) as string,
      object: 'text_completion',
      model: 'coder',
      choices: [choice, { index: 1, text: 'b', logprobs: null, finish_reason: 'stop' }],
      usage,
    });
    expect(it.asked()[0]?.url).toBe('/v1/completions');
    expect(it.asked()[0]?.json()).toEqual({
      model: 'coder',
      prompt: 'return ',
      suffix: ';',
      n: 2,
      best_of: 2,
      echo: false,
      max_tokens: 9,
      logprobs: 1,
      stream: false,
    });
  });

  it('streams', async () => {
    const chunk = (text: string, finish: string | null) => ({
      ...completion,
      usage: null,
      choices: [{ index: 0, text, finish_reason: finish }],
    });
    await using it = await beforeOpenAi(
      stream(events(chunk('a', null), chunk(' + b', null), chunk('', 'length'), { ...completion, choices: [] }, '[DONE]')),
    );
    const chunks = await Array.fromAsync(
      await it.client.completions.create({ model: 'coder', prompt: ['return '], stream: true, stream_options: { include_usage: true } }),
    );
    expect(chunks.flatMap(({ choices }) => choices.map(({ text, finish_reason: reason }) => [text, reason]))).toEqual([
      ['a', null],
      [' + b', null],
      ['', 'length'],
    ]);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage });
  });

  it('that breaks off in the middle is an error in the stream', async () => {
    await using it = await beforeOpenAi(
      stream(events({ ...completion, choices: [{ index: 0, text: 'a', finish_reason: null }] }), { end: 'finish' }),
    );
    const reading = Array.fromAsync(await it.client.completions.create({ model: 'coder', prompt: 'a', stream: true }));
    await expect(reading).rejects.toThrow(/complete/);
  });

  it('that has chats alone is a 400 that says so', async () => {
    await using it = await beforeOpenAi(respond(404, { error: { message: 'Not Found' } }));
    await expect(it.client.completions.create({ model: 'coder', prompt: 'a' })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('does not continue bare prompts') as string,
    });
  });

  it.each([
    [{ prompt: 'a' }, 'model'],
    [{ model: 'coder' }, 'prompt'],
    [{ model: 'coder', prompt: ['a', 'b'] }, 'prompt'],
    [{ model: 'coder', prompt: [1, 2] }, 'prompt'],
    [{ model: 'coder', prompt: 'a', suffix: 7 }, 'suffix'],
  ])('bad input is refused by the name of its field: %j', async (payload, param) => {
    await using it = await beforeOpenAi(respond(200, completion));
    const answer = await it.app.server.inject({ method: 'POST', url: '/v1/completions', payload });
    expect([answer.statusCode, answer.json()]).toMatchObject([400, { error: { param } }]);
  });
});

it('an Ollama continues the prompt by its generate', async () => {
  const server = await startOllamaServer([{ name: 'coder:latest', capabilities: ['completion', 'insert'] }]);
  const line = { line: { model: 'coder', response: 'a + b', done: false } };
  server.answers.push([line, ollamaEnd('stop', { response: '', message: undefined })]);
  await using app = await testApp({ OLLAMA_BASE_URLS: server.url });
  const client = new OpenAI({ baseURL: `${await listen(app)}/v1`, apiKey: 'any' });
  const answer = await client.completions.create({ model: 'coder', prompt: 'return ', suffix: ';', max_tokens: 9, temperature: 0 });
  expect(answer).toMatchObject({ choices: [{ text: 'a + b', finish_reason: 'stop' }], usage: { prompt_tokens: 26, completion_tokens: 8 } });
  const [asked] = server.requests.filter(({ path }) => path === '/api/generate');
  expect(asked?.body).toEqual({
    model: 'coder:latest',
    prompt: 'return ',
    suffix: ';',
    stream: true,
    options: { num_predict: 9, temperature: 0 },
  });
  await server.close();
});

it('no tools are offered, whatever is registered or asked for, and the run is logged', async () => {
  const servers = [serverOf('clock', documentOf({ read_clock: { type: 'object', properties: {} } }))];
  await using gateway = await gatewayOf({ servers, answers: { 'http://clock.test/read_clock': answerOf('"noon"') }, turns: [says('Hi.')] });
  const payload = { model: 'model', prompt: 'Hello', tool_ids: ['server:clock'] };
  const answer = await gateway.app.server.inject({ method: 'POST', url: '/v1/completions', payload });
  expect(answer.json()).toMatchObject({ choices: [{ text: 'Hi.' }] });
  expect(gateway.model.requests[0]).toMatchObject({ tools: [], completion: {}, messages: [{ role: 'user', content: 'Hello' }] });
  const run = await gateway.get(`/api/runs/${String(answer.headers['x-toolwharf-run-id'])}`);
  expect(run.json()).toMatchObject({ status: 'completed' });
});

it('no tools are offered either where the model is a preset with some, and its chat has some', async () => {
  const servers = [serverOf('clock', documentOf({ read_clock: { type: 'object', properties: {} } }))];
  await using gateway = await gatewayOf({ servers, turns: [says('Hi.')] });
  const helper = { id: 'helper', base_model: 'model', tools: [] };
  const clerk = { id: 'clerk', base_model: 'model', tools: ['server:clock'], sub_agents: ['helper'], params: { temperature: 0 } };
  for (const payload of [helper, clerk]) await gateway.app.server.inject({ method: 'POST', url: '/api/presets', payload });
  const payload = { model: 'clerk', prompt: 'Hello', chat_id: 'c' };
  const answer = await gateway.app.server.inject({ method: 'POST', url: '/v1/completions', payload });
  expect(answer.json()).toMatchObject({ model: 'clerk', choices: [{ text: 'Hi.' }] });
  expect(gateway.model.requests[0]).toMatchObject({ tools: [], parameters: { temperature: 0 } });
});

it('a fault before the first byte has its status', async () => {
  await using gateway = await gatewayOf({ turns: [[new GatewayError('upstream_unreachable', 'It is gone.')]] });
  const answer = await gateway.app.server.inject({
    method: 'POST',
    url: '/v1/completions',
    payload: { model: 'model', prompt: 'a', stream: true },
  });
  expect([answer.statusCode, answer.json()]).toMatchObject([502, { error: { code: 'upstream_unreachable' } }]);
});

it('the demo model answers', async () => {
  await using app = await testApp({ OLLAMA_BASE_URLS: '', TOOLWHARF_DEMO: 'true' });
  const client = new OpenAI({ baseURL: `${await listen(app)}/v1`, apiKey: 'any' });
  const answer = await client.completions.create({ model: 'demo', prompt: 'Hello' });
  expect(answer.choices[0]?.text).not.toBe('');
});
