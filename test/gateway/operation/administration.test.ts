import { expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { backendOf, testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { startOllamaServer } from '../../_support/ollama-server.ts';
import { calls, says, ScriptedModel } from '../../_support/scripted-model.ts';
import { documentWith, scriptedSend } from '../../tools/scripted-send.ts';
import { readSeen } from '../gateway.ts';

const adminKey = 'sk-tw-fixed-administrator';

type TestAppParts = NonNullable<Parameters<typeof testApp>[1]>;

async function openOffice(parts: TestAppParts, environment: NodeJS.ProcessEnv = {}): Promise<TestApp> {
  const app = await testApp({ TOOLWHARF_ADMIN_KEY: adminKey, ...environment }, parts);
  onTestFinished(() => app.close());
  return app;
}

async function send(app: TestApp, call: { url: string; body?: JsonObject; key?: string }) {
  const headers = { host: '127.0.0.1:8080', authorization: `Bearer ${call.key ?? adminKey}` };
  const method = call.body === undefined ? 'GET' : 'POST';
  const answer = await app.server.inject({ method, url: call.url, headers, ...(call.body !== undefined && { payload: call.body }) });
  return { status: answer.statusCode, text: answer.body, json: () => answer.json<JsonObject>() };
}

async function makeUserKey(app: TestApp, fields: JsonObject = {}): Promise<string> {
  const { key } = (await send(app, { url: '/api/keys', body: { name: 'ada', role: 'user', ...fields } })).json();
  return String(key);
}

const chat = { model: 'model', messages: [{ role: 'user', content: 'Which way?' }] };

it('an administrator registers a tool server by its URL alone, its document is read below it, and every chat has its functions [S4-1]', async () => {
  const script = scriptedSend({
    'http://maps.test/api/openapi.json': documentWith('route'),
    'http://maps.test/api/route': { way: 'north' },
  });
  const model = new ScriptedModel(calls(['route', { city: 'Oslo' }]), says('North.'));
  const app = await openOffice({ backends: [backendOf(model)], send: script.send });
  const user = await makeUserKey(app);
  const body = { url: 'http://maps.test/api' };
  expect((await send(app, { url: '/api/tool-servers', body, key: user })).status, 'a user').toBe(403);
  expect(script.requests).toEqual([]);

  const created = await send(app, { url: '/api/tool-servers', body });
  expect(created.status).toBe(201);
  expect(created.json()).toMatchObject({
    url: 'http://maps.test/api',
    path: 'openapi.json',
    report: { ok: true, functions: [{ name: 'route' }] },
  });
  // Once for the id, which is made of the document's title, and once for the functions under it.
  expect(new Set(script.requests.map(({ method, url }) => `${method} ${url}`))).toEqual(new Set(['GET http://maps.test/api/openapi.json']));

  const answered = await send(app, { url: '/v1/chat/completions', body: { ...chat, stream: true }, key: user });
  expect(readSeen(answered.text)).toMatchObject({ text: 'North.', sources: [{ source: { name: expect.stringMatching(/\/route$/) } }] });
  expect(script.requests.at(-1)?.url).toBe('http://maps.test/api/route?city=Oslo');
});

it('every model of the list has id, name, object, created and owned_by, and one of Ollama has its details [S4-12]', async () => {
  const ollama = await startOllamaServer([{ name: 'qwen3:4b', digest: 'abc123', capabilities: ['completion', 'tools'] }]);
  onTestFinished(() => ollama.close());
  const environment = { OLLAMA_BASE_URLS: ollama.url, TOOLWHARF_DEMO: 'true' };
  const app = await openOffice({}, environment);
  const tags = (await (await fetch(`${ollama.url}/api/tags`)).json()) as { models: JsonObject[] };
  for (const url of ['/v1/models', '/api/models']) {
    const { object, data } = (await send(app, { url })).json() as { object: string; data: JsonObject[] };
    expect(object).toBe('list');
    expect(new Set(data.map(({ id }) => id))).toEqual(new Set(['demo', 'qwen3:4b']));
    for (const entry of data) {
      expect(entry).toMatchObject({ object: 'model', name: expect.any(String), owned_by: expect.any(String), created: expect.any(Number) });
      expect(Number.isInteger(entry['created'])).toBe(true);
    }
    const listed = data.find(({ id }) => id === 'qwen3:4b');
    expect(listed?.['owned_by']).toBe('ollama');
    expect(listed?.['ollama']).toMatchObject(tags.models[0] ?? { missing: true });
  }
});

it('an unknown model is a 404 in the form of the errors of OpenAI [S4-13]', async () => {
  const app = await openOffice({ backends: [backendOf(new ScriptedModel())] });
  const error = { message: expect.stringContaining('"nothing"'), type: 'not_found_error', param: 'model', code: 'model_not_found' };
  for (const call of [
    { url: '/v1/chat/completions', body: { ...chat, model: 'nothing' } },
    { url: '/v1/chat/completions', body: { ...chat, model: 'nothing', stream: true } },
    { url: '/v1/models/nothing' },
  ]) {
    const answer = await send(app, call);
    expect([answer.status, answer.json()]).toEqual([404, { error }]);
  }
});

it('a model that a key does not allow is refused, in chats and elsewhere, whether it exists or not [S4-13]', async () => {
  const model = new ScriptedModel(says('Yes.'));
  const app = await openOffice({ backends: [backendOf(model, ['small', 'large'])] });
  const key = await makeUserKey(app, { models: ['small'] });
  for (const id of ['large', 'nothing']) {
    const error = { message: expect.stringContaining('It may use: small'), type: 'permission_error', param: 'model', code: 'forbidden' };
    for (const call of [
      { url: '/v1/chat/completions', body: { ...chat, model: id } },
      { url: '/v1/embeddings', body: { model: id, input: 'x' } },
      { url: `/v1/models/${id}` },
    ]) {
      const answer = await send(app, { ...call, key });
      expect([answer.status, answer.json()]).toEqual([403, { error }]);
    }
  }
  expect(model.requests).toEqual([]);
  expect((await send(app, { url: '/v1/models', key })).json()).toMatchObject({ data: [{ id: 'small' }] });
  expect((await send(app, { url: '/v1/chat/completions', body: { ...chat, model: 'small' }, key })).status).toBe(200);
});
