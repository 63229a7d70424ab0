import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { LightMyRequestResponse } from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/shared/json/json.ts';
import type { ModelEvent } from '../../src/core/chat/chat.ts';
import type { ModelBackend } from '../../src/core/models/model.ts';
import { memoryRegistry } from '../_support/memory-stores.ts';
import { backendOf, listen, testApp } from '../_support/build-app.ts';
import type { TestApp } from '../_support/build-app.ts';
import { connectFakeBrowser } from '../_support/fake-browser.ts';
import { generatedBy } from '../_support/scripted-model.ts';

const fixedKey = 'sk-tw-fixed-administrator';
const start = Date.parse('2030-01-01T00:00:00Z');

/** Says one word, and then nothing until it is aborted. */
const endless: ModelBackend = generatedBy(async function* ({ signal }): AsyncGenerator<ModelEvent> {
  yield { type: 'text', text: 'well' };
  await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }));
});

interface Office {
  app: TestApp;
  clock: { time: number };
  send: (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: JsonObject, key?: string) => Promise<LightMyRequestResponse>;
  /** Creates a key and gives its answer. */
  make: (body: JsonObject, key?: string) => Promise<{ id: string; key: string }>;
}

async function openOffice(environment: NodeJS.ProcessEnv = { TOOLWHARF_ADMIN_KEY: fixedKey }, parts = {}): Promise<Office> {
  const clock = { time: start };
  const backends = [backendOf(endless, ['small', 'large:latest'])];
  const app = await testApp(environment, { backends, now: () => clock.time, ...parts });
  onTestFinished(() => app.close());
  const send: Office['send'] = (method, url, body, key = environment['TOOLWHARF_ADMIN_KEY'] ?? '') => {
    const headers = { host: '127.0.0.1:8080', ...(key === '' ? {} : { authorization: `Bearer ${key}` }) };
    return app.server.inject({ method, url, headers, ...(body === undefined ? {} : { payload: body }) });
  };
  async function make(body: JsonObject, key?: string): Promise<{ id: string; key: string }> {
    const answer = await send('POST', '/api/keys', { name: 'some', ...body }, key);
    if (answer.statusCode !== 201) throw new Error(answer.body);
    return answer.json();
  }
  return { app, clock, send, make };
}

const chat = { model: 'small', messages: [{ role: 'user', content: 'hi' }] };

describe('a new key', () => {
  it('is shown once, and never its hash', async () => {
    const { send, app } = await openOffice();
    const fields = {
      name: ' laptop ',
      role: 'user',
      expires_at: '2030-06-01',
      models: ['small'],
      tools: ['server:time'],
      limits: { requests_per_minute: 5 },
    };
    const created = await send('POST', '/api/keys', fields);
    expect(created.statusCode).toBe(201);
    expect(created.headers['cache-control']).toBe('no-store');
    const { key, ...shown } = created.json<JsonObject>();
    expect(key).toMatch(/^sk-tw-[\w-]{43}$/);
    expect(shown).toEqual({
      ...fields,
      id: expect.stringMatching(/^key_/),
      name: 'laptop',
      origin: 'database',
      // By which its owner recognises it; 39 of its 43 characters stay unknown.
      first_characters: String(key).slice(6, 10),
      created_at: '2030-01-01T00:00:00.000Z',
      expires_at: '2030-06-01T00:00:00.000Z',
      total_limits: null,
      users: null,
    });
    const list = await send('GET', '/api/keys');
    expect(list.json<{ data: JsonObject[] }>().data).toEqual([expect.objectContaining({ id: 'admin', origin: 'environment' }), shown]);
    expect(list.body).not.toMatch(/hash|sk-tw/);
    expect(app.logLines.join('')).not.toContain(String(key));
  });

  it.each<[string, JsonObject, string | null]>([
    ['no name', { role: 'user' }, 'name'],
    ['an empty name', { name: ' ', role: 'user' }, 'name'],
    ['no role', { name: 'a' }, 'role'],
    ['a role that does not exist', { name: 'a', role: 'owner' }, 'role'],
    ['a misspelt restriction', { name: 'a', role: 'user', model: ['small'] }, 'model'],
    ['models that are no list', { name: 'a', role: 'user', models: 'small' }, 'models'],
    ['a model that is no name', { name: 'a', role: 'user', models: ['a', 7] }, 'models.1'],
    ['a tool that is no entry', { name: 'a', role: 'user', tools: ['time'] }, 'tools.0'],
    ['limits that are no object', { name: 'a', role: 'user', limits: 5 }, 'limits'],
    ['an expiry in words', { name: 'a', role: 'user', expires_at: 'tomorrow' }, 'expires_at'],
    ['an expiry without a time zone', { name: 'a', role: 'user', expires_at: '2031-01-01T00:00:00' }, 'expires_at'],
    ['an expiry in milliseconds', { name: 'a', role: 'user', expires_at: start + 60_000 }, 'expires_at'],
    ['an expiry in the past', { name: 'a', role: 'user', expires_at: start / 1_000 }, 'expires_at'],
    ['a duration', { name: 'a', role: 'user', expires_at: 3_600 }, 'expires_at'],
  ])('with %s is refused by the name of the field', async (_case, body, param) => {
    const { send } = await openOffice();
    const answer = await send('POST', '/api/keys', body);
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toMatchObject({ error: { code: 'invalid_request', param } });
  });

  it.each([
    ['seconds', start / 1_000 + 60],
    ['a date with a zone', '2030-01-01T01:01:00+01:00'],
  ])('ends at its time, given as %s', async (_form, expires) => {
    const { send, make, clock } = await openOffice();
    const { key } = await make({ role: 'user', expires_at: expires });
    clock.time += 59_999;
    expect((await send('GET', '/api/version', undefined, key)).statusCode).toBe(200);
    clock.time += 1;
    expect((await send('GET', '/api/version', undefined, key)).statusCode).toBe(401);
  });
});

describe('the first key', () => {
  it("has to be an administrator's, and ends the open door and its sockets", async () => {
    const { send, make, app } = await openOffice({});
    const browser = await connectFakeBrowser({ url: await listen(app) });
    const refused = await send('POST', '/api/keys', { name: 'a', role: 'user' });
    expect(refused.statusCode).toBe(400);
    expect(refused.json()).toMatchObject({ error: { param: 'role', message: expect.stringContaining('administrator') } });
    expect(await app.isOpen()).toBe(true);
    const { key } = await make({ role: 'admin' });
    expect(await browser.closed).toMatchObject({ code: 4401 });
    expect(await app.isOpen()).toBe(false);
    expect((await send('GET', '/api/keys')).statusCode).toBe(401);
    expect((await send('GET', '/api/keys', undefined, key)).statusCode).toBe(200);
    await make({ role: 'user' }, key);
  });

  it("may be a user's beside the fixed administrator key", async () => {
    const { make } = await openOffice();
    await make({ role: 'user' });
  });

  it('is made once where nobody could come in', async () => {
    const { app, send } = await openOffice({ HOST: '0.0.0.0' });
    expect((await send('GET', '/api/keys')).statusCode).toBe(401);
    const key = await app.createFirstKey();
    expect(key).toMatch(/^sk-tw-/);
    expect(await app.createFirstKey()).toBeUndefined();
    expect((await send('GET', '/api/keys', undefined, key)).json()).toMatchObject({ data: [{ role: 'admin' }] });
    expect(app.logLines.join('')).not.toContain(key);
    expect(await (await openOffice()).app.createFirstKey(), 'beside a fixed key').toBeUndefined();
  });
});

describe('the last administrator key', () => {
  const changes: [string, 'PATCH' | 'DELETE', JsonObject | undefined][] = [
    ['deleted', 'DELETE', undefined],
    ['demoted', 'PATCH', { role: 'user' }],
    ['expired', 'PATCH', { expires_at: start / 1_000 - 1 }],
  ];

  it.each(changes)('cannot be %s while others exist, and can once there is another', async (_what, method, body) => {
    const { make, send } = await openOffice({});
    const first = await make({ role: 'admin' });
    await make({ role: 'user' }, first.key);
    const refused = await send(method, `/api/keys/${first.id}`, body, first.key);
    expect(refused.statusCode).toBe(409);
    expect(refused.json()).toMatchObject({ error: { code: 'conflict' } });
    const second = await make({ role: 'admin' }, first.key);
    expect((await send(method, `/api/keys/${first.id}`, body, first.key)).statusCode).toBe(200);
    expect((await send('GET', '/api/keys', undefined, second.key)).statusCode).toBe(200);
  });

  it.each(changes)('can be %s beside the fixed one', async (_what, method, body) => {
    const { make, send } = await openOffice();
    const { id } = await make({ role: 'admin' });
    await make({ role: 'user' });
    expect((await send(method, `/api/keys/${id}`, body)).statusCode).toBe(200);
  });

  it('can be deleted when it is the last key of all, and cannot be demoted', async () => {
    const { make, send, app } = await openOffice({});
    const { id, key } = await make({ role: 'admin' });
    expect((await send('PATCH', `/api/keys/${id}`, { role: 'user' }, key)).statusCode).toBe(409);
    expect((await send('DELETE', `/api/keys/${id}`, undefined, key)).json()).toEqual({ id, deleted: true });
    expect(await app.isOpen()).toBe(true);
  });

  it('does not count when it has expired', async () => {
    const { make, send, clock } = await openOffice({});
    const lasting = await make({ role: 'admin' });
    await make({ role: 'admin', expires_at: start / 1_000 + 1 }, lasting.key);
    clock.time += 1_000;
    expect((await send('DELETE', `/api/keys/${lasting.id}`, undefined, lasting.key)).statusCode).toBe(409);
  });

  it('stays when two administrators delete each other at the same moment', async () => {
    const { make, send } = await openOffice({});
    const one = await make({ role: 'admin' });
    const two = await make({ role: 'admin' }, one.key);
    await make({ role: 'user' }, one.key);
    const answers = await Promise.all([
      send('DELETE', `/api/keys/${two.id}`, undefined, one.key),
      send('DELETE', `/api/keys/${one.id}`, undefined, two.key),
    ]);
    expect(answers.map((answer) => answer.statusCode).toSorted((a, b) => a - b)).toEqual([200, 409]);
  });
});

describe('a change', () => {
  it('leaves what it does not name, and null takes a restriction away', async () => {
    const { make, send } = await openOffice();
    const { id, key } = await make({ role: 'user', models: ['small'], expires_at: '2031-01-01' });
    const renamed = await send('PATCH', `/api/keys/${id}`, { name: 'other' });
    expect(renamed.json()).toMatchObject({ id, name: 'other', role: 'user', models: ['small'], expires_at: '2031-01-01T00:00:00.000Z' });
    const freed = await send('PATCH', `/api/keys/${id}`, { models: null, expires_at: null, role: 'admin' });
    expect(freed.json()).toMatchObject({ name: 'other', role: 'admin', models: null, expires_at: null });
    expect((await send('GET', '/api/keys', undefined, key)).statusCode, 'at once').toBe(200);
  });

  it.each([
    ['PATCH', 'nobody', 404, 'not_found'],
    ['DELETE', 'nobody', 404, 'not_found'],
    ['PATCH', 'admin', 409, 'read_only'],
    ['DELETE', 'admin', 409, 'read_only'],
  ] as const)('%s of %s is %i', async (method, id, status, code) => {
    const { send } = await openOffice();
    const answer = await send(method, `/api/keys/${id}`, method === 'PATCH' ? { name: 'x' } : undefined);
    expect(answer.statusCode).toBe(status);
    expect(answer.json()).toMatchObject({ error: { code } });
  });

  it.each<[string, JsonObject | undefined]>([
    ['deletion', undefined],
    ['demotion', { role: 'user' }],
    ['restriction', { models: ['small'] }],
    ['expiry', { expires_at: start / 1_000 }],
  ])('by %s closes the sockets of that key alone', async (_what, body) => {
    const { make, send, app } = await openOffice();
    const url = await listen(app);
    const [ours, theirs] = [await make({ role: 'admin' }), await make({ role: 'user' })];
    const browser = await connectFakeBrowser({ url, token: ours.key });
    const other = await connectFakeBrowser({ url, token: theirs.key });
    await send(body === undefined ? 'DELETE' : 'PATCH', `/api/keys/${ours.id}`, body);
    expect(await browser.closed).toMatchObject({ code: 4401 });
    expect(other.socket.readyState).toBe(other.socket.OPEN);
    other.terminate();
  });

  it('of the name alone closes no socket', async () => {
    const { make, send, app } = await openOffice({ TOOLWHARF_ADMIN_KEY: fixedKey, WS_PING_INTERVAL_MS: '10' });
    const { id, key } = await make({ role: 'user' });
    const browser = await connectFakeBrowser({ url: await listen(app), token: key });
    await send('PATCH', `/api/keys/${id}`, { name: 'other' });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(browser.socket.readyState).toBe(browser.socket.OPEN);
    browser.terminate();
  });

  it('that nobody announces, such as expiry, closes the socket with the next ping', async () => {
    const { make, clock, app } = await openOffice({ TOOLWHARF_ADMIN_KEY: fixedKey, WS_PING_INTERVAL_MS: '20' });
    const { key } = await make({ role: 'user', expires_at: start / 1_000 + 60 });
    const browser = await connectFakeBrowser({ url: await listen(app), token: key });
    clock.time += 60_000;
    expect(await browser.closed).toMatchObject({ code: 4401 });
  });

  it('that nobody announces, such as expiry, ends sockets, streams and calls at that moment', async () => {
    const { make, send, clock, app } = await openOffice({ TOOLWHARF_ADMIN_KEY: fixedKey, WS_PING_INTERVAL_MS: '600000' });
    const url = await listen(app);
    // The clock of the gateway stands still: it asks again and again until the key has ended.
    const { id, key } = await make({ role: 'user', expires_at: new Date(start + 20).toISOString() });
    const browser = await connectFakeBrowser({ url, token: key });
    const streams = await connectFakeBrowser({ url, token: (await make({ role: 'user' })).key });
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ ...chat, stream: true });
    const stream = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body });
    clock.time += 20;
    expect(await browser.closed).toMatchObject({ code: 4401 });
    const text = await stream.text();
    expect(text).toContain('run_cancelled');
    expect(text).toContain('has expired');
    expect(streams.socket.readyState, "another key's").toBe(streams.socket.OPEN);
    await send('PATCH', `/api/keys/${id}`, { expires_at: null });
    (await connectFakeBrowser({ url, token: key })).terminate();
    streams.terminate();
  });

  it('of an expiry that is put off ends nothing at the earlier moment', async () => {
    const looked = Promise.withResolvers<void>();
    const registry = memoryRegistry();
    let isWatching = false;
    const findKey = (wanted: string): ReturnType<typeof registry.findKey> => {
      if (isWatching) looked.resolve();
      return registry.findKey(wanted);
    };
    const { make, clock, app } = await openOffice({ TOOLWHARF_ADMIN_KEY: fixedKey }, { registry: { ...registry, findKey } });
    const { id, key } = await make({ role: 'user', expires_at: new Date(start + 20).toISOString() });
    const browser = await connectFakeBrowser({ url: await listen(app), token: key });
    // By another process, so that this one does not hear of it.
    const record = (await registry.listKeys()).find((candidate) => candidate.id === id);
    if (record !== undefined) await registry.changeKey({ ...record, expiresAt: start + 40_000 });
    isWatching = true;
    clock.time += 20;
    await looked.promise;
    browser.send({ type: 'nonsense', data: {} });
    await browser.next('error');
    expect(browser.socket.readyState).toBe(browser.socket.OPEN);
    browser.terminate();
  });

  it('by expiry stops the chat whose body was still on its way', async () => {
    const { make, clock, app } = await openOffice();
    const { key } = await make({ role: 'user', expires_at: new Date(start + 1_000).toISOString() });
    const body = JSON.stringify(chat);
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': String(body.length) };
    const admitted = new Promise<void>((resolve) => app.server.server.once('request', () => setImmediate(resolve)));
    const outgoing = request(`${await listen(app)}/v1/chat/completions`, { method: 'POST', headers });
    const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
    outgoing.write(body.slice(0, 5));
    await admitted;
    clock.time += 1_000;
    outgoing.end(body.slice(5));
    const [response] = await answered;
    response.resume();
    expect(response.statusCode).toBe(401);
  });

  it('that another process makes in the store reaches a socket too', async () => {
    const registry = memoryRegistry();
    const environment = { TOOLWHARF_ADMIN_KEY: fixedKey, WS_PING_INTERVAL_MS: '20' };
    const { make, clock, app } = await openOffice(environment, { registry });
    const browser = await connectFakeBrowser({ url: await listen(app), token: (await make({ role: 'admin' })).key });
    const [record] = await registry.listKeys();
    if (record !== undefined) await registry.changeKey({ ...record, role: 'user' });
    clock.time += 60_000;
    expect(await browser.closed).toMatchObject({ code: 4401 });
  });

  it('that deletes a key cancels its runs and no others', async () => {
    const { make, send, app } = await openOffice();
    const url = await listen(app);
    const [ours, theirs] = [await make({ role: 'user' }), await make({ role: 'user' })];
    const leave = new AbortController();
    const ask = (key: string) =>
      fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ...chat, stream: true }),
        signal: leave.signal,
      });
    const [mine, other] = await Promise.all([ask(ours.key), ask(theirs.key)]);
    let isOtherOver = false;
    const otherText = other
      .text()
      .catch(() => 'left')
      .finally(() => (isOtherOver = true));
    expect((await send('DELETE', `/api/keys/${ours.id}`)).statusCode).toBe(200);
    const text = await mine.text();
    expect(text).toContain('run_cancelled');
    expect(text).not.toContain('[DONE]');
    expect(isOtherOver).toBe(false);
    expect((await ask(ours.key)).status).toBe(401);
    leave.abort();
    await otherText;
  });

  it('that deletes a key stops the chat whose body was still on its way', async () => {
    const { make, send, app } = await openOffice();
    const { id, key } = await make({ role: 'user' });
    const body = JSON.stringify(chat);
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': String(body.length) };
    const outgoing = request(`${await listen(app)}/v1/chat/completions`, { method: 'POST', headers });
    const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
    outgoing.write(body.slice(0, 5));
    await new Promise((resolve) => setTimeout(resolve, 50));
    await send('DELETE', `/api/keys/${id}`);
    outgoing.end(body.slice(5));
    const [response] = await answered;
    response.resume();
    expect(response.statusCode).toBe(401);
  });
});

describe('a key that is limited', () => {
  it('to models sees and uses these alone', async () => {
    const { make, send } = await openOffice();
    const { key } = await make({ role: 'user', models: ['large'] });
    const listed = (await send('GET', '/v1/models', undefined, key)).json<{ data: { id: string }[] }>();
    expect(listed.data.map(({ id }) => id)).toEqual(['large:latest']);
    for (const model of ['small', 'no-such-model', 'constructor']) {
      const answers = await Promise.all([
        send('POST', '/v1/chat/completions', { ...chat, model }, key),
        send('POST', '/api/chat/completions', { ...chat, model, stream: true }, key),
        send('POST', '/v1/embeddings', { model, input: 'x' }, key),
        send('GET', `/v1/models/${model}`, undefined, key),
      ]);
      for (const answer of answers) {
        expect(answer.statusCode).toBe(403);
        expect(answer.json()).toMatchObject({ error: { code: 'forbidden', param: 'model' } });
      }
    }
    expect((await send('GET', '/v1/models/large:latest', undefined, key)).statusCode).toBe(200);
    expect((await send('GET', '/v1/models', undefined)).json<{ data: object[] }>().data).toHaveLength(2);
  });

  it('to models is told so over the socket', async () => {
    const { make, app } = await openOffice();
    const { key } = await make({ role: 'user', models: ['large'] });
    const browser = await connectFakeBrowser({ url: await listen(app), token: key });
    browser.send({ type: 'message', content: 'hi', model: 'small' });
    expect((await browser.next('error')).data).toMatchObject({ code: 'forbidden' });
    browser.terminate();
  });

  it('to no tools at all lists none', async () => {
    const { make, send } = await openOffice();
    const { key } = await make({ role: 'user', tools: [] });
    expect((await send('GET', '/api/tools', undefined, key)).json()).toEqual({ data: [], next: null });
  });
});

describe('a store that fails', () => {
  it('lets the fixed key in, and tells every other one to wait', async () => {
    const registry = memoryRegistry();
    const fail = (): Promise<never> => Promise.reject(new Error('disk I/O error'));
    const broken = { ...registry, findKeyByHash: fail, findKey: fail, countKeys: fail, listKeys: fail };
    const { send } = await openOffice({ TOOLWHARF_ADMIN_KEY: fixedKey }, { registry: broken });
    expect((await send('GET', '/api/version')).statusCode).toBe(200);
    const answer = await send('GET', '/api/tools', undefined, 'sk-tw-other');
    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBe('5');
    expect(answer.json()).toMatchObject({ error: { code: 'storage_unavailable' } });
    const open = await openOffice({}, { registry: broken });
    expect((await open.send('GET', '/api/version')).statusCode, 'never open').toBe(503);
  });
});
