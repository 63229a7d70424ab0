import { NotFoundError, OpenAI } from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import { startTimeServer } from '../../../src/demo/time-server.ts';
import { listen, testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { calls } from '../../_support/scripted-model.ts';
import { documentOf, gatewayOf, serverOf } from '../gateway.ts';

let app: TestApp;
let client: OpenAI;
let time: Awaited<ReturnType<typeof startTimeServer>>;
const question = { model: 'demo', messages: [{ role: 'user' as const, content: 'what time is it in Osaka?' }] };

beforeAll(async () => {
  time = await startTimeServer({ host: '127.0.0.1', port: 0 });
  const connections = JSON.stringify([{ url: time.url, info: { id: 'time' } }]);
  app = await testApp({ TOOL_SERVER_CONNECTIONS: connections, TOOLWHARF_DEMO: 'true', OLLAMA_BASE_URLS: 'http://127.0.0.1:1' });
  client = new OpenAI({ baseURL: `${await listen(app)}/v1`, apiKey: 'any', maxRetries: 0 });
});
afterAll(async () => {
  await app.close();
  await time.close();
});

it('the SDK gets a completion with the sources beside it', async () => {
  const completion = await client.chat.completions.create(question);
  expect(completion.choices[0]?.finish_reason).toBe('stop');
  expect(completion.choices[0]?.message.content).toContain('Asia/Tokyo');
  expect((completion as unknown as { sources: { source: { name: string } }[] }).sources[0]?.source.name).toMatch(
    /^TOOL:time\/format_current_time/,
  );
  expect(completion.usage?.total_tokens).toBeGreaterThan(0);
});

it('the stream helper of the SDK builds the same answer', async () => {
  const stream = client.chat.completions.stream({
    ...question,
    stream_options: { include_usage: true, include_events: true } as { include_usage: boolean },
  });
  let chunks = 0;
  for await (const _chunk of stream) chunks++;
  const completion = await stream.finalChatCompletion();
  expect(chunks).toBeGreaterThan(3);
  expect(completion.choices[0]?.message.content).toContain('Asia/Tokyo');
  expect(completion.usage?.total_tokens).toBeGreaterThan(0);
});

it('the SDK runs a function of its own beside the tools of the gateway', async () => {
  const first = await client.chat.completions.create({
    ...question,
    tool_choice: { type: 'function', function: { name: 'get_weather' } },
    tools: [
      {
        type: 'function',
        function: {
          name: 'get_weather',
          description: 'Weather of a city',
          parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
      },
    ],
  });
  expect(first.choices[0]?.finish_reason).toBe('tool_calls');
  expect(first.choices[0]?.message.tool_calls?.[0]).toMatchObject({ type: 'function', function: { name: 'get_weather' } });
});

it('the SDK lists and finds models', async () => {
  const models = await client.models.list();
  expect(models.data.map((model) => model.id)).toContain('demo');
  expect((await client.models.retrieve('demo')).owned_by).toBe('demo');
});

it('errors arrive as the errors of the SDK', async () => {
  await expect(client.chat.completions.create({ ...question, model: 'gone' })).rejects.toBeInstanceOf(NotFoundError);
  await expect(client.chat.completions.create({ ...question, messages: [] })).rejects.toMatchObject({ status: 400, param: 'messages' });
});

it.each([[false], [true]])('the SDK does not send a request again whose tools have run (stream: %s)', async (stream) => {
  const busy = () => new GatewayError('upstream_error', 'The model is busy.', { status: 503 });
  const turns = [calls(['fail', {}]), [busy()], calls(['fail', {}]), [busy()]];
  await using gateway = await gatewayOf({ servers: [serverOf('shop', documentOf({ fail: { type: 'object' } }))], turns });
  const retrying = new OpenAI({ baseURL: `${await listen(gateway.app)}/v1`, apiKey: 'any', maxRetries: 1 });
  const asked = retrying.chat.completions.create({ model: 'model', messages: [{ role: 'user', content: 'Go' }], stream });
  await expect(asked).rejects.toThrow('The model is busy.');
  expect(gateway.model.requests).toHaveLength(2);
});

it('a cancelled run is not begun again, a refused question is asked again', async () => {
  const cancelled = new GatewayError('run_cancelled', 'The run was cancelled.');
  const limited = new GatewayError('rate_limit_exceeded', 'Too many questions.');
  await using gateway = await gatewayOf({ servers: [], turns: [[cancelled], [limited]] });
  const post = () => {
    const payload = { model: 'model', messages: [{ role: 'user', content: 'Go' }] };
    return gateway.app.server.inject({ method: 'POST', url: '/v1/chat/completions', headers: { host: '127.0.0.1:8080' }, payload });
  };
  expect((await post()).headers['x-should-retry']).toBe('false');
  expect((await post()).headers['x-should-retry']).toBeUndefined();
});

it.each<[end: string, retryAfter: string, requests: number]>([
  ['soon: asked again', '1', 2],
  ['in hours: not asked again', '36000', 1],
  ['at a date of tomorrow: not asked again', new Date(Date.now() + 86_400_000).toUTCString(), 1],
])('a limit that ends %s by the SDK', async (_end, retryAfter, requests) => {
  const limited = () => [new GatewayError('rate_limit_exceeded', 'Too many questions.', { retryAfter })];
  await using gateway = await gatewayOf({ servers: [], turns: [limited(), limited()] });
  const retrying = new OpenAI({ baseURL: `${await listen(gateway.app)}/v1`, apiKey: 'any', maxRetries: 1 });
  const asked = retrying.chat.completions.create({ model: 'model', messages: [{ role: 'user', content: 'Go' }] });
  await expect(asked).rejects.toMatchObject({ status: 429 });
  expect(gateway.model.requests).toHaveLength(requests);
});
