import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import { memoryRegistry, memoryStores } from '../../_support/memory-stores.ts';
import { execute } from '../../../src/storage/sql/database.ts';
import { createPresetStore } from '../../../src/storage/preset-store.ts';
import { parsePreset } from '../../../src/storage/preset-schema.ts';
import { parseToolServerConnection } from '../../../src/storage/tool-server-connection.ts';
import { testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';

const clocks = parseToolServerConnection(
  {
    id: 'clocks',
    url: 'http://clocks.test',
    spec: {
      openapi: '3.1.0',
      info: { title: 'Clocks', version: '1' },
      paths: { '/time': { get: { operationId: 'get_time', summary: 'Tells the time', responses: {} } } },
    },
  },
  'file',
);
const environment = { OLLAMA_BASE_URLS: ';', TOOLWHARF_ADMIN_KEY: 'sk-tw-administrator', TOOLWHARF_DEMO: 'true' };

async function ask(
  app: TestApp,
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  url: string,
  { payload, key = 'sk-tw-administrator' }: { payload?: object; key?: string } = {},
) {
  const answer = await app.server.inject({ method, url, headers: { authorization: `Bearer ${key}` }, ...(payload && { payload }) });
  return {
    status: answer.statusCode,
    body: answer.json<{ [key: string]: unknown; error?: { code: string; message: string; param: string } }>(),
  };
}

it('finds a preset as soon as it has been stored, whoever has read the presets meanwhile', async () => {
  const registry = memoryRegistry([]);
  let time = 0;
  let held: Promise<void> | undefined;
  const store = createPresetStore({
    registry: {
      ...registry,
      listPresets: async () => {
        const isHeld = held;
        const presets = await registry.listPresets();
        await isHeld;
        return presets;
      },
      createPreset: async (preset, most) => {
        await store.list();
        return registry.createPreset(preset, most);
      },
    },
    fixed: [],
    now: () => time,
  });
  await store.create({ id: 'a', base_model: 'demo' });
  expect(await store.find('a')).toBeDefined();
  time += 2_000;
  const released = Promise.withResolvers<void>();
  held = released.promise;
  const reading = store.list();
  held = undefined;
  await store.create({ id: 'b', base_model: 'demo' });
  released.resolve();
  expect(await reading).toHaveLength(1);
  expect(await store.find('b')).toBeDefined();
});

describe('/api/presets', () => {
  it('creates, lists, reads, changes and deletes', async () => {
    await using app = await testApp(environment);
    const created = await ask(app, 'POST', '/api/presets', {
      payload: { id: 'clerk', base_model: 'demo', system: 'Be short.', tools: [] },
    });
    expect(created).toMatchObject({
      status: 201,
      body: { id: 'clerk', origin: 'database', base_model: 'demo', tools: [], sub_agents: [], params: {} },
    });
    const changed = await ask(app, 'PATCH', '/api/presets/clerk', { payload: { system: null, name: 'Clerk' } });
    expect(changed.body).toMatchObject({ system: null, name: 'Clerk', tools: [] });
    const { warnings, ...preset } = changed.body;
    expect(warnings).toEqual([]);
    expect((await ask(app, 'GET', '/api/presets/clerk')).body).toEqual(preset);
    expect((await ask(app, 'GET', '/api/presets')).body).toEqual({ data: [preset] });
    expect((await ask(app, 'PATCH', '/api/presets/clerk', { payload: changed.body })).body).toEqual(changed.body);
    expect((await ask(app, 'DELETE', '/api/presets/clerk')).body).toEqual({ id: 'clerk', deleted: true });
    expect((await ask(app, 'GET', '/api/presets/clerk')).status).toBe(404);
  });

  it.each<[object, string | null, RegExp]>([
    [{ id: 'x' }, 'base_model', /base_model: is missing/],
    [{ id: 'a b', base_model: 'demo' }, 'id', /letters, digits/],
    [{ id: 'x', base_model: 'demo', tools: 'all' }, 'tools', /must be a list/],
    [{ id: 'x', base_model: 'demo', colour: 'red' }, null, /colour/],
    [{ id: 'x', base_model: 'demo', params: [] }, 'params', /must be an object/],
    [{ id: 'x', base_model: 'demo', function_calling: 'magic' }, 'function_calling', /"magic" is no mode. Use one of: auto, native,/],
    [{ id: 'x', base_model: 'demo', params: { function_calling: 'native' } }, 'params.function_calling', /beside params/],
    [{ id: 'x', base_model: 'demo', params: { tools: [] } }, 'params.tools', /beside params/],
    [{ id: 'x', base_model: 'demo', params: { store: true } }, 'params.store', /each request says for itself/],
  ])('refuses %j and names the field', async (payload, param, message) => {
    await using app = await testApp(environment);
    const { status, body } = await ask(app, 'POST', '/api/presets', { payload });
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ param: param, message: expect.stringMatching(message) });
  });

  it('is saved although it names what nobody knows just now, and says so', async () => {
    await using app = await testApp(environment, { config: { toolServers: [clocks] } });
    const payload = {
      id: 'clerk',
      base_model: 'gone',
      tools: ['server:clocks', 'server:clocks/no_such', 'server:nowhere', 'preset:nobody'],
      sub_agents: ['nobody'],
      needs_approval: ['get_time', 'clocks/get_time', 'get_tme'],
    };
    const { status, body } = await ask(app, 'POST', '/api/presets', { payload });
    expect(status).toBe(201);
    expect(body['warnings']).toEqual([
      expect.stringMatching(/^base_model: .*"gone"/),
      expect.stringMatching(/^tools: .*no_such/),
      expect.stringMatching(/^tools: .*"server:nowhere"/),
      expect.stringMatching(/^tools: .*"preset:nobody"/),
      'sub_agents: there is no preset "nobody", so no chat can be handed off to it.',
      'needs_approval: "get_tme" is not a function that the preset offers, so it has no effect.',
    ]);
    const mended = { base_model: 'demo', tools: ['server:clocks'], sub_agents: [], needs_approval: ['get_time'] };
    expect((await ask(app, 'PATCH', '/api/presets/clerk', { payload: mended })).body['warnings']).toEqual([]);
    const circle = await ask(app, 'PATCH', '/api/presets/clerk', { payload: { base_model: 'clerk' } });
    expect(circle.body['warnings']).toEqual([expect.stringMatching(/^base_model: is the preset itself/)]);
  });

  it('that an older gateway has stored is read without what is no parameter, and costs no other', async () => {
    const { registry, database } = memoryStores();
    const old = { id: 'old', base_model: 'demo', params: { store: true, temperature: 0 }, function_calling: 'magic', created: 1 };
    for (const [position, preset] of [old, { id: 'other', base_model: 'demo', created: 1 }].entries()) {
      const sql = 'INSERT INTO presets (id, position, record) VALUES (?, ?, ?)';
      await database.write('registry', () => execute(sql, preset.id, position, JSON.stringify(preset)));
    }
    const store = createPresetStore({ registry, fixed: [], now: () => 0 });
    expect(await store.list()).toMatchObject([{ id: 'old', mode: 'magic', params: { temperature: 0 } }, { id: 'other' }]);
    expect((await store.find('old'))?.params).toEqual({ temperature: 0 });
    await expect(store.change('old', { name: 'x' })).rejects.toMatchObject({ code: 'unknown_mode' });
    expect(await store.change('old', { function_calling: null })).not.toHaveProperty('mode');
  });

  it('costs no chat with other models when the store is down, and refuses changes', async () => {
    const registry = memoryRegistry([]);
    const fault = (): Promise<never> => Promise.reject(new GatewayError('storage_unavailable', 'The database is damaged.'));
    const fixed = parsePreset({ id: 'fixed', base_model: 'demo' }, { origin: 'file', createdAt: 0 });
    const broken = { ...registry, listPresets: fault, createPreset: fault, countKeys: fault };
    await using app = await testApp(environment, { registry: broken, config: { presets: [fixed] } });
    const messages = [{ role: 'user', content: 'hello' }];
    for (const model of ['demo', 'fixed']) {
      expect(await ask(app, 'POST', '/v1/chat/completions', { payload: { model, messages } })).toMatchObject({ status: 200 });
    }
    expect((await ask(app, 'GET', '/v1/models')).body).toMatchObject({ data: [{ id: 'fixed' }, { id: 'demo' }] });
    expect(await ask(app, 'POST', '/api/presets', { payload: { id: 'a', base_model: 'demo' } })).toMatchObject({ status: 503 });
    expect(await ask(app, 'GET', '/ready')).toMatchObject({ status: 503, body: { ready: false, reason: 'storage' } });
    expect(await ask(app, 'GET', '/health')).toMatchObject({ status: 200 });
  });

  it('gives the presets that were read before the store went down', async () => {
    const registry = memoryRegistry([]);
    let isDown = false;
    const fault = (): Promise<never> => Promise.reject(new GatewayError('storage_unavailable', 'locked'));
    const store = createPresetStore({
      registry: {
        ...registry,
        deletePreset: (id) => (isDown ? fault() : registry.deletePreset(id)),
        listPresets: () => (isDown ? fault() : registry.listPresets()),
      },
      fixed: [],
      now: () => 0,
    });
    await store.create({ id: 'a', base_model: 'demo' });
    await store.list();
    isDown = true;
    expect(await store.find('a')).toMatchObject({ id: 'a' });
    await expect(store.delete('a')).rejects.toMatchObject({ code: 'storage_unavailable' });
  });

  it.each([65, 20_000])('refuses parameters nested %i levels deep', async (depth) => {
    await using app = await testApp(environment);
    const { statusCode, json } = await app.server.inject({
      method: 'POST',
      url: '/api/presets',
      headers: { authorization: 'Bearer sk-tw-administrator', 'content-type': 'application/json' },
      payload: `{"id":"deep","base_model":"demo","params":{"a":${'['.repeat(depth)}${']'.repeat(depth)}}}`,
    });
    expect([statusCode, json()]).toMatchObject([
      400,
      { error: { param: 'params', message: expect.stringMatching('levels deep') as string } },
    ]);
  });

  it('refuses an id that is taken, and a change to one of the file', async () => {
    const fixed = parsePreset({ id: 'fixed', base_model: 'demo' }, { origin: 'file', createdAt: 0 });
    await using app = await testApp(environment, { config: { presets: [fixed] } });
    expect(await ask(app, 'POST', '/api/presets', { payload: { id: 'fixed', base_model: 'demo' } })).toMatchObject({ status: 409 });
    const changed = await ask(app, 'PATCH', '/api/presets/fixed', { payload: { system: 'x' } });
    expect(changed).toMatchObject({ status: 409, body: { error: { code: 'read_only' } } });
    expect((await ask(app, 'GET', '/api/presets')).body).toMatchObject({ data: [{ id: 'fixed', origin: 'file' }] });
  });

  it('shows no prompt to users, and none of the presets that their key may not use', async () => {
    await using app = await testApp(environment);
    for (const id of ['open', 'secret']) await ask(app, 'POST', '/api/presets', { payload: { id, base_model: 'demo', system: 'Hush.' } });
    const made = await ask(app, 'POST', '/api/keys', { payload: { name: 'ada', role: 'user', models: ['open'] } });
    const key = String(made.body['key']);
    const { body } = await ask(app, 'GET', '/api/presets', { key });
    expect(body).toEqual({ data: [{ id: 'open', object: 'preset', name: null, description: null, base_model: 'demo' }] });
    expect((await ask(app, 'GET', '/api/presets/secret', { key })).status).toBe(404);
    expect((await ask(app, 'POST', '/api/presets', { key, payload: { id: 'x', base_model: 'demo' } })).status).toBe(403);
  });
});

describe('stored presets', () => {
  it('are there for the next process, and two changes at once lose none', async () => {
    const registry = memoryRegistry();
    const store = createPresetStore({ registry, fixed: [], now: () => 5 });
    await Promise.all(['a', 'b', 'c'].map((id) => store.create({ id, base_model: 'demo' })));
    const next = createPresetStore({ registry, fixed: [], now: () => 9 });
    expect((await next.list()).map(({ id, createdAt }) => [id, createdAt])).toEqual([
      ['a', 5],
      ['b', 5],
      ['c', 5],
    ]);
    expect(await next.find('b')).toBe(await next.find('b'));
  });

  it('that are damaged are told, and keep nobody from reading keys', async () => {
    const { registry, database } = memoryStores();
    await database.write('registry', () => execute(`INSERT INTO presets (id, position, record) VALUES ('a', 1, '{broken')`));
    const store = createPresetStore({ registry, fixed: [], now: () => 0 });
    await expect(store.list()).rejects.toMatchObject({ code: 'storage_unavailable' });
    await expect(store.create({ id: 'a', base_model: 'demo' })).rejects.toMatchObject({ code: 'conflict' });
    expect(await registry.listKeys()).toEqual([]);
  });
});
