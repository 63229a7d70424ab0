import { OpenAI } from 'openai';
import type { LightMyRequestResponse } from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ChatStore } from '../../../src/core/stores/chat-store.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { memoryChats } from '../../_support/memory-stores.ts';
import { backendOf, listen, readChunks, testApp } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import { says, ScriptedModel } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { storedAnswerCharacters } from '../../../src/http/dialects/answers/store-answer.ts';

const adminKey = 'sk-tw-fixed-administrator';
const messages = [{ role: 'user', content: 'Where is the blue kettle?' }];
const usage: ScriptStep = { type: 'usage', usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } };
const says500Times = Array.from({ length: 500 }, (_, index) => says(`Answer ${index}.`));

interface SentCall {
  key?: string;
  payload?: object;
}

/** A gateway with administrators and users before a model that gives the turns one by one. */
async function openGateway({
  turns = says500Times,
  environment = { STORE_CHATS: 'true' },
  chats,
}: { turns?: ScriptStep[][]; environment?: NodeJS.ProcessEnv; chats?: ChatStore } = {}) {
  const model = new ScriptedModel(...turns);
  // Whoever asks the time twice gets two seconds.
  let time = Date.parse('2030-05-01T10:00:00Z');
  const parts = { backends: [backendOf(model)], now: () => (time += 1_000), ...(chats && { chats }) };
  const app = await testApp({ TOOLWHARF_ADMIN_KEY: adminKey, ...environment }, parts);
  onTestFinished(() => app.close());

  function call(route: string, { key = adminKey, payload }: SentCall = {}): Promise<LightMyRequestResponse> {
    const [method, url] = route.split(' ');
    const headers = { authorization: `Bearer ${key}` };
    return app.server.inject({ method: method as 'GET', url: url ?? '', headers, ...(payload !== undefined && { payload }) });
  }
  async function ask(fields: object = {}, key = adminKey): Promise<JsonObject & { id: string }> {
    const answer = await call('POST /v1/chat/completions', { key, payload: { model: 'model', messages, store: true, ...fields } });
    expect(answer.statusCode).toBe(200);
    return answer.json<JsonObject & { id: string }>();
  }
  async function makeKey(fields: JsonObject = {}): Promise<{ id: string; key: string }> {
    return (await call('POST /api/keys', { payload: { name: 'some', role: 'user', ...fields } })).json<{ id: string; key: string }>();
  }
  const list = async (query = '', key = adminKey): Promise<{ data: JsonObject[]; has_more: boolean }> =>
    (await call(`GET /v1/chat/completions${query}`, { key })).json();
  const errorOf = (answer: LightMyRequestResponse): { status: number; code: string; message: string; param: string } => ({
    status: answer.statusCode,
    ...answer.json<{ error: { code: string; message: string; param: string } }>().error,
  });
  return { app, model, call, ask, makeKey, list, errorOf };
}

describe('a chat with store: true', () => {
  it('can be read back as it was answered, with its metadata and what was asked for', async () => {
    const { ask, call } = await openGateway({ turns: [[usage, ...says('On the shelf.')]] });
    const answer = await ask({ metadata: { topic: 'kitchen' }, temperature: 0.5, user: 'u-1' });
    const stored = (await call(`GET /v1/chat/completions/${answer.id}`)).json<JsonObject>();
    expect(stored).toMatchObject(answer);
    expect(stored).toMatchObject({
      object: 'chat.completion',
      metadata: { topic: 'kitchen' },
      temperature: 0.5,
      input_user: 'u-1',
      seed: null,
      tools: null,
      choices: [{ index: 0, message: { role: 'assistant', content: 'On the shelf.' }, finish_reason: 'stop' }],
      usage: { total_tokens: 7 },
    });
  });

  it('is stored when it streams, before the end of the stream is told', async () => {
    const { call } = await openGateway({ turns: [[{ type: 'reasoning', text: 'Hm.' }, ...says('On the shelf.')]] });
    const stream = await call('POST /v1/chat/completions', { payload: { model: 'model', messages, store: true, stream: true } });
    const [first] = readChunks(stream.body);
    const { id, created } = first as { id: string; created: number };
    expect((await call(`GET /v1/chat/completions/${id}`)).json()).toMatchObject({
      id,
      created,
      choices: [{ message: { content: 'On the shelf.', reasoning_content: 'Hm.' } }],
    });
  });

  it('is stored when it came over a socket', async () => {
    const { app, list } = await openGateway({ turns: [says('On the shelf.')] });
    const browser = await connectFakeBrowser({ url: await listen(app), token: adminKey });
    browser.send({ type: 'message', data: { model: 'model', content: 'Where is it?', store: true } });
    const { data } = await browser.next('assistant_end');
    expect(await list()).toMatchObject({ data: [{ id: `chatcmpl-${String(data['run_id'])}` }] });
    browser.terminate();
  });

  it('does not tell a backend to store it too', async () => {
    const { ask, model } = await openGateway({ turns: [says('a'), says('b')] });
    await ask({ metadata: { topic: 'kitchen' }, seed: 1 });
    await ask({ store: false, seed: 2 });
    // What is not stored here is the backend's business.
    expect(model.requests.map(({ parameters }) => parameters)).toEqual([{ seed: 1 }, { store: false, seed: 2 }]);
  });

  it.each([
    ['store is false', { store: false }],
    ['store is missing', { store: undefined }],
    ['store is null', { store: null }],
  ])('is not stored when %s', async (_what, fields) => {
    const { ask, list } = await openGateway();
    await ask(fields);
    expect((await list()).data).toEqual([]);
  });

  it('is not stored when it fails', async () => {
    const { call, list } = await openGateway({ turns: [[{ type: 'text', text: 'On' }, new Error('broken')]] });
    expect((await call('POST /v1/chat/completions', { payload: { model: 'model', messages, store: true } })).statusCode).toBe(500);
    expect((await list()).data).toEqual([]);
  });

  it.each<[unknown, RegExp]>([
    [{ n: 1 }, /"n" must be a string/],
    [{ ['k'.repeat(65)]: 'x' }, /a key may have at most 64/],
    [{ long: 'x'.repeat(513) }, /"long" may have at most 512 characters, not 513/],
    [Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, ''])), /may have at most 16 entries, not 17/],
    ['topic', /must be an object/],
  ])('is refused with metadata that OpenAI would refuse: %j', async (metadata, message) => {
    const { call, errorOf, model, ask } = await openGateway();
    const payload = { model: 'model', messages, store: true, metadata };
    const refusal = errorOf(await call('POST /v1/chat/completions', { payload }));
    expect(refusal).toMatchObject({ status: 400, param: 'metadata', message: expect.stringMatching(message) });
    const { id } = await ask();
    const change = errorOf(await call(`POST /v1/chat/completions/${id}`, { payload: { metadata } }));
    expect(change).toMatchObject({ status: 400, param: 'metadata', message: expect.stringMatching(message) });
    expect(model.requests).toHaveLength(1);
  });

  it('is stored without its images when it is too large, and not at all when its words are', async () => {
    const { app, ask, call, list } = await openGateway({ environment: { STORE_CHATS: 'true', BODY_LIMIT_BYTES: '20000000' } });
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(storedAnswerCharacters)}` } };
    const { id } = await ask({ messages: [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, image] }] });
    const { data } = (await call(`GET /v1/chat/completions/${id}/messages`)).json<{ data: JsonObject[] }>();
    expect(data).toMatchObject([
      {
        content: 'What is this?\n[image_url left out: too large to be stored]',
        content_parts: [{ type: 'text', text: 'What is this?' }, { type: 'text' }],
      },
    ]);
    await ask({ messages: [{ role: 'user', content: 'x'.repeat(storedAnswerCharacters) }] });
    expect((await list()).data).toHaveLength(1);
    expect(app.logLines.join('')).toContain('was not stored: it is larger than');
  });

  it('is answered although the store fails', async () => {
    const broken: ChatStore = { ...memoryChats(), save: () => Promise.reject(new Error('the disk is full')) };
    const { app, ask } = await openGateway({ chats: broken });
    expect(await ask()).toMatchObject({ choices: [{ message: { content: 'Answer 0.' } }] });
    expect(app.logLines.join('')).toContain('could not be stored');
  });
});

describe('where STORE_CHATS is off', () => {
  const environment = {};

  it('store: true is a parameter like others, and whatever metadata there is', async () => {
    const { ask, model, list } = await openGateway({ environment });
    await ask({ metadata: { any: ['thing'] } });
    expect(model.requests[0]?.parameters).toEqual({ store: true });
    expect(await list()).toEqual({ object: 'list', data: [], first_id: null, last_id: null, has_more: false });
  });

  it('reading names the setting', async () => {
    const { ask, call, errorOf } = await openGateway({ environment });
    const { id } = await ask();
    expect(errorOf(await call(`GET /v1/chat/completions/${id}`))).toMatchObject({
      status: 404,
      code: 'not_found',
      message: expect.stringContaining('STORE_CHATS=true'),
    });
  });

  it('what was stored before can be read and deleted', async () => {
    const chats = memoryChats({ now: () => Date.parse('2030-05-01T10:00:00Z') });
    const { id } = await (await openGateway({ chats })).ask();
    const { call } = await openGateway({ chats, environment });
    expect((await call(`GET /v1/chat/completions/${id}`)).statusCode).toBe(200);
    expect((await call(`DELETE /v1/chat/completions/${id}`)).json()).toEqual({ object: 'chat.completion.deleted', id, deleted: true });
  });
});

describe('stored chats', () => {
  async function openSdk() {
    const gateway = await openGateway();
    const client = new OpenAI({ baseURL: `${await listen(gateway.app)}/v1`, apiKey: adminKey, maxRetries: 0 });
    const create = (metadata: Record<string, string>) =>
      client.chat.completions.create({ model: 'model', store: true, metadata, messages: [{ role: 'user', content: 'Hi' }] });
    return { ...gateway, client, create };
  }

  it('are listed, read, changed and deleted by the SDK', async () => {
    const { client, create } = await openSdk();
    const { id } = await create({ team: 'north' });
    await create({ team: 'south' });
    const found = await client.chat.completions.list({ metadata: { team: 'north' }, model: 'model' });
    expect(found.data.map((chat) => chat.id)).toEqual([id]);
    expect((await client.chat.completions.list({ model: 'other' })).data).toEqual([]);
    expect(await client.chat.completions.update(id, { metadata: { team: 'west' } })).toMatchObject({ id, metadata: { team: 'west' } });
    expect(await client.chat.completions.retrieve(id)).toMatchObject({ id, metadata: { team: 'west' } });
    expect(await client.chat.completions.update(id, { metadata: null })).toMatchObject({ metadata: {} });
    expect(await client.chat.completions.delete(id)).toEqual({ object: 'chat.completion.deleted', id, deleted: true });
    await expect(client.chat.completions.retrieve(id)).rejects.toMatchObject({ status: 404 });
  });

  it('come page by page, each once, also when each is deleted as it comes', async () => {
    const { client, create, list } = await openSdk();
    const ids = new Set<string>();
    for (let count = 0; count < 7; count += 1) ids.add((await create({})).id);
    const seen: string[] = [];
    for await (const { id } of client.chat.completions.list({ limit: 3 })) {
      seen.push(id);
      await client.chat.completions.delete(id);
    }
    expect(seen).toHaveLength(7);
    expect(new Set(seen)).toEqual(ids);
    expect((await list()).data).toEqual([]);
  });

  it('have the messages that were asked with, page by page', async () => {
    const { client, ask } = await openSdk();
    const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } };
    const { id } = await ask({
      messages: [
        { role: 'system', content: 'Be short.' },
        { role: 'user', name: 'Ada', content: [{ type: 'text', text: 'Where?' }] },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c1', content: 'the shelf' },
      ],
    });
    const expected = [
      { id: `${id}-0`, role: 'system', content: 'Be short.', content_parts: null, name: null },
      { id: `${id}-1`, role: 'user', content: 'Where?', content_parts: [{ type: 'text', text: 'Where?' }], name: 'Ada' },
      { id: `${id}-2`, role: 'assistant', content: null, content_parts: null, name: null, tool_calls: [call] },
      { id: `${id}-3`, role: 'tool', content: 'the shelf', content_parts: null, name: null, tool_call_id: 'c1' },
    ];
    expect(await Array.fromAsync(client.chat.completions.messages.list(id, { limit: 3 }))).toEqual(expected);
    expect(await Array.fromAsync(client.chat.completions.messages.list(id, { limit: 1, order: 'desc' }))).toEqual(expected.toReversed());
  });

  it('of another caller are not there, for administrators neither', async () => {
    const { ask, call, list, makeKey, errorOf } = await openGateway();
    const [ada, bob] = [await makeKey(), await makeKey()];
    const { id } = await ask({}, ada.key);
    for (const key of [bob.key, adminKey]) {
      expect((await list('', key)).data).toEqual([]);
      const unknown = errorOf(await call('GET /v1/chat/completions/chatcmpl-none', { key }));
      for (const [route, payload] of [
        [`GET /v1/chat/completions/${id}`],
        [`GET /v1/chat/completions/${id}/messages`],
        [`POST /v1/chat/completions/${id}`, { metadata: {} }],
        [`DELETE /v1/chat/completions/${id}`],
      ] as const) {
        const refusal = errorOf(await call(route, { key, ...(payload && { payload }) }));
        expect(refusal).toEqual({ ...unknown, message: unknown.message.replace('chatcmpl-none', id) });
      }
      expect(errorOf(await call(`GET /v1/chat/completions?after=${id}`, { key }))).toMatchObject({ status: 400, param: 'after' });
    }
    expect((await list('', ada.key)).data).toMatchObject([{ id }]);
  });

  it('go with the key of their caller', async () => {
    const chats = memoryChats({ now: () => Date.parse('2030-05-01T10:00:00Z') });
    const { ask, call, makeKey } = await openGateway({ chats });
    const [ada, bob] = [await makeKey(), await makeKey()];
    const own = await ask({}, ada.key);
    const other = await ask({}, bob.key);
    expect(await chats.find(ada.id, own.id)).toBeDefined();
    await call(`DELETE /api/keys/${ada.id}`);
    expect(await chats.find(ada.id, own.id)).toBeUndefined();
    expect(await chats.find(bob.id, other.id)).toBeDefined();
  });

  it.each([
    ['?limit=0', 'limit'],
    ['?limit=101', 'limit'],
    ['?limit=many', 'limit'],
    ['?order=up', 'order'],
    ['?after=chatcmpl-nowhere', 'after'],
    ['?metadata[a]=1&metadata[a]=2', 'metadata'],
  ])('refuse %s and name the field', async (query, param) => {
    const { call, errorOf } = await openGateway();
    expect(errorOf(await call(`GET /v1/chat/completions${query}`))).toMatchObject({
      status: 400,
      param,
      message: expect.stringContaining(param),
    });
  });

  it('need metadata for a change', async () => {
    const { ask, call, errorOf } = await openGateway();
    const { id } = await ask({ metadata: { a: '1' } });
    expect(errorOf(await call(`POST /v1/chat/completions/${id}`, { payload: {} }))).toMatchObject({ status: 400, param: 'metadata' });
    expect((await call(`GET /v1/chat/completions/${id}`)).json()).toMatchObject({ metadata: { a: '1' } });
  });
});
