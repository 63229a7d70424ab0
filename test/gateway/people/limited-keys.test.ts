import { describe, expect, it, onTestFinished } from 'vitest';
import type { ModelEvent } from '../../../src/core/chat/chat.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import type { ModelBackend } from '../../../src/core/models/model.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { backendOf, listen, testApp } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import { toolServerRecord } from '../../storage/records.ts';
import { documentWith, jsonResponse, neverAnswers, scriptedSend } from '../../tools/scripted-send.ts';
import { generatedBy } from '../../_support/scripted-model.ts';

const adminKey = 'sk-tw-fixed-administrator';

/** Says one word, and the rest when it may. */
function slowModel() {
  const gate = Promise.withResolvers<void>();
  const backend: ModelBackend = generatedBy(async function* ({ signal }): AsyncGenerator<ModelEvent> {
    yield { type: 'text', text: 'well' };
    const left = new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
    await Promise.race([gate.promise, left]);
    yield { type: 'finish', reason: 'stop' };
  });
  return { backend, finish: () => gate.resolve() };
}

async function openGateway(environment: NodeJS.ProcessEnv = {}) {
  const model = slowModel();
  const script = scriptedSend({ 'http://maps.test/openapi.json': documentWith('route'), 'http://maps.test/route': neverAnswers });
  const registry = memoryRegistry([toolServerRecord({ id: 'maps', url: 'http://maps.test' })]);
  const parts = { backends: [backendOf(model.backend, ['first', 'second'])], send: script.send, registry };
  const app = await testApp({ TOOLWHARF_ADMIN_KEY: adminKey, ...environment }, parts);
  onTestFinished(() => app.close());
  const url = await listen(app);

  async function send(method: string, path: string, { body, key = adminKey, signal }: Call = {}): Promise<Response> {
    const headers = { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': 'application/json' }) };
    return fetch(`${url}${path}`, { method, headers, signal: signal ?? null, body: body === undefined ? null : JSON.stringify(body) });
  }
  async function make(fields: JsonObject): Promise<{ id: string; key: string }> {
    const answer = await send('POST', '/api/keys', { body: { name: 'some', role: 'user', ...fields } });
    return (await answer.json()) as { id: string; key: string };
  }
  return { app, url, model, script, send, make };
}

interface Call {
  body?: JsonObject;
  key?: string;
  signal?: AbortSignal;
}

const chat = { model: 'first', messages: [{ role: 'user', content: 'hi' }], stream: true };
const chats = '/v1/chat/completions';
const invoke = '/api/tools/maps/route/invoke';

describe('a key with limits', () => {
  it('may make so many requests a minute, chats and calls together, and read as much as it likes', async () => {
    const { make, send, model } = await openGateway();
    model.finish();
    const { key } = await make({ limits: { requests_per_minute: 2 } });
    expect((await send('POST', chats, { body: chat, key })).status).toBe(200);
    expect((await send('POST', '/api/tools/maps/nothing/invoke', { body: {}, key })).status).toBe(404);
    for (const path of [chats, '/api/chat/completions', '/v1/embeddings', invoke]) {
      const refused = await send('POST', path, { body: chat, key });
      expect([path, refused.status]).toEqual([path, 429]);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await refused.json()).toEqual({
        error: {
          message: expect.stringContaining('2 requests a minute'),
          type: 'rate_limit_error',
          param: null,
          code: 'rate_limit_exceeded',
        },
      });
    }
    expect((await send('GET', '/v1/models', { key })).status).toBe(200);
    expect((await send('POST', chats, { body: chat })).status, 'another key').toBe(200);
  });

  it.each<[string, string]>([
    ['POST', chats],
    ['POST', '/api/chat/completions'],
    ['POST', '/api/v1/chat/completions'],
    ['POST', '/v1/embeddings'],
    ['POST', invoke],
    ['POST', '/mcp'],
    ['POST', '/api/runs/none/approvals/none'],
    ['POST', `${chats}/`],
    ['POST', '//v1//chat/completions'],
    ['POST', `${chats}?background=true`],
    ['POST', '/v1/chat/completion%73'],
    ['POST', `${invoke}/`],
    ['POST', '/mcp/'],
  ])('is held to them at %s %s whatever the fields of the body say', async (method, path) => {
    const { make, send, model } = await openGateway();
    model.finish();
    const { key } = await make({ limits: { requests_per_minute: 1 } });
    expect((await send('POST', chats, { body: { ...chat, background: true, session_id: 'none' }, key })).status).toBe(400);
    const fields = { background: true, stream: false, metadata: { task: 'title' }, method: 'tools/call', jsonrpc: '2.0', id: 1 };
    const refused = await send(method, path, { body: { ...chat, ...fields, input: 'a', arguments: {} }, key });
    expect(refused.status).toBe(429);
  });

  it('may have so many requests under way, until their answers end or their clients leave', async () => {
    const { make, send, model } = await openGateway();
    const { key } = await make({ limits: { concurrent_runs: 1 } });
    const leave = new AbortController();
    const first = await send('POST', chats, { body: chat, key, signal: leave.signal });
    expect(first.status).toBe(200);
    expect((await send('POST', invoke, { body: {}, key })).status).toBe(429);
    leave.abort();
    await expect(first.text()).rejects.toThrow('abort');
    await expect.poll(async () => (await send('POST', chats, { body: { ...chat, messages: [] }, key })).status).toBe(400);
    const second = await send('POST', chats, { body: chat, key });
    expect(second.status).toBe(200);
    model.finish();
    expect(await second.text()).toContain('[DONE]');
    await expect.poll(async () => (await send('POST', chats, { body: chat, key })).status).toBe(200);
  });

  it('is held to them over a socket and in the background as well', async () => {
    const { make, send, model, url } = await openGateway();
    const { key } = await make({ limits: { concurrent_runs: 1 } });
    const browser = await connectFakeBrowser({ url, token: key });
    onTestFinished(() => browser.terminate());
    const body = { ...chat, background: true, session_id: browser.sessionId() };
    expect((await send('POST', chats, { body, key })).status).toBe(200);
    await browser.next('assistant_chunk');
    expect((await send('POST', chats, { body, key })).status).toBe(429);
    browser.send({ type: 'message', content: 'hi' });
    expect((await browser.next('error')).data).toMatchObject({ code: 'rate_limit_exceeded' });
    model.finish();
    await browser.next('assistant_end');
    browser.send({ type: 'message', content: 'hi' });
    await browser.next('assistant_end');
  });

  it.each(['http', 'background', 'socket'])(
    'may interrupt its only answer (%s) with a new message, and then is held to them again [S3-8]',
    async (way) => {
      const { make, send, model, url } = await openGateway();
      const { key } = await make({ limits: { concurrent_runs: 1 } });
      const browser = await connectFakeBrowser({ url, token: key });
      onTestFinished(() => browser.terminate());
      const background = { background: true, session_id: browser.sessionId() };
      const answering = { ...chat, chat_id: 'c' };
      if (way === 'socket') browser.send({ type: 'message', model: 'first', content: 'hi', chat_id: 'c' });
      else await send('POST', chats, { body: { ...answering, ...(way === 'background' && background) }, key });
      if (way !== 'http') await browser.next('assistant_chunk');
      expect((await send('POST', chats, { body: { ...answering, chat_id: 'd', interrupt: true }, key })).status, 'of another chat').toBe(
        429,
      );
      const second = await send('POST', chats, { body: { ...answering, interrupt: true }, key });
      expect(second.status).toBe(200);
      expect((await send('POST', chats, { body: answering, key })).status, 'beside it').toBe(429);
      browser.send({ type: 'message', model: 'first', content: 'hi', chat_id: 'c', interrupt: true });
      await browser.next('assistant_chunk');
      expect(await second.text()).toContain('run_cancelled');
      const last = send('POST', chats, { body: { ...answering, stream: false, interrupt: true }, key });
      await browser.next('assistant_end', ({ data }) => data['finish_reason'] === 'cancelled');
      model.finish();
      expect((await last).status).toBe(200);
    },
  );

  it.each<[unknown, string]>([
    [{ rpm: 5 }, 'limits.rpm'],
    [{ requests_per_minute: 0 }, 'limits.requests_per_minute'],
    [{ requests_per_minute: 1.5 }, 'limits.requests_per_minute'],
    [{ concurrent_runs: '4' }, 'limits.concurrent_runs'],
    [[], 'limits'],
  ])('is not made with %j', async (limits, param) => {
    const { send } = await openGateway();
    const answer = await send('POST', '/api/keys', { body: { name: 'a', role: 'user', limits } as JsonObject });
    expect(answer.status).toBe(400);
    const { error } = (await answer.json()) as { error: JsonObject };
    expect(error['param']).toBe(param);
    expect(error['message']).toMatch(/requests_per_minute|whole number/);
  });
});

it.each(['a\0b', 'a\nb', 'ada\u202Enimda', 'a\u2066b', 'a\u200Bb', '\uD800'])(
  'a key is not named %j, which reads as another name',
  async (name) => {
    const { send, make } = await openGateway();
    const { id } = await make({ name: 'Zoé 👩‍🔧 می‌خواهم' });
    for (const answer of [
      await send('POST', '/api/keys', { body: { name, role: 'user' } }),
      await send('PATCH', `/api/keys/${id}`, { body: { name } }),
    ])
      expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param: 'name' } }]);
  },
);

it('a message without a model is answered by the first model that its key may use', async () => {
  const { make, model, url } = await openGateway();
  model.finish();
  const { key } = await make({ models: ['second'] });
  const browser = await connectFakeBrowser({ url, token: key });
  onTestFinished(() => browser.terminate());
  browser.send({ type: 'message', content: 'hi' });
  expect((await browser.next('assistant_start')).data).toMatchObject({ model: 'second' });
});

describe('what is under way', () => {
  /** A call whose server has been asked; `answered` lets that server answer. */
  async function startCall(gateway: Awaited<ReturnType<typeof openGateway>>, key: string) {
    const asked = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    gateway.script.answers.set('http://maps.test/route', async (request) => {
      asked.resolve();
      await Promise.race([answered.promise, neverAnswers(request)]);
      return jsonResponse({ way: 'north' });
    });
    const answer = gateway.send('POST', invoke, { body: {}, key });
    await asked.promise;
    return { answer, answered };
  }

  it.each<[string, string, JsonObject | undefined]>([
    ['deleted', 'DELETE', undefined],
    ['changed', 'PATCH', { tools: [] }],
  ])('of calls and chats ends when its key is %s', async (cause, method, change) => {
    const gateway = await openGateway();
    const [{ id, key }, other] = [await gateway.make({}), await gateway.make({})];
    const { answer } = await startCall(gateway, key);
    const kept = await gateway.send('POST', chats, { body: chat, key: other.key });
    const ended = await gateway.send('POST', chats, { body: chat, key });
    expect((await gateway.send(method, `/api/keys/${id}`, change === undefined ? {} : { body: change })).status).toBe(200);
    expect(await (await answer).json()).toMatchObject({ error: { code: 'run_cancelled', message: expect.stringContaining(cause) } });
    expect(await ended.text()).toMatch(new RegExp(`run_cancelled|key it was started with was ${cause}`));
    gateway.model.finish();
    expect(await kept.text()).toContain('[DONE]');
  });

  it('of calls goes on when the key gets another name', async () => {
    const gateway = await openGateway();
    const { id, key } = await gateway.make({});
    const { answer, answered } = await startCall(gateway, key);
    await gateway.send('PATCH', `/api/keys/${id}`, { body: { name: 'other' } });
    answered.resolve();
    expect((await answer).status).toBe(200);
  });

  it('of calls may end before a shutdown does, and nothing else begins', async () => {
    const gateway = await openGateway();
    const { answer, answered } = await startCall(gateway, adminKey);
    const closed = gateway.app.close();
    const refused = await gateway.app.server.inject({ method: 'POST', url: invoke, headers: { 'x-api-key': adminKey }, payload: {} });
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '5']);
    answered.resolve();
    expect(await (await answer).json()).toMatchObject({ result: { way: 'north' } });
    await closed;
  });

  it('of calls is ended by a shutdown that has waited long enough', async () => {
    const gateway = await openGateway({ DRAIN_TIMEOUT_MS: '50' });
    const { answer } = await startCall(gateway, adminKey);
    const closed = gateway.app.close();
    expect(await (await answer).json()).toMatchObject({ error: { code: 'server_shutting_down' } });
    await closed;
  });
});
