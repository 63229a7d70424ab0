import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readConfig } from '../../../src/app/config/config.ts';
import { openStores } from '../../_support/memory-stores.ts';
import { readChunks } from '../../_support/build-app.ts';
import { events, respond, stream } from '../../_support/upstream-server.ts';
import { temporaryFolders } from '../../storage/temporary-folder.ts';
import { adminKey, chunkOf, deadUrl, gatewayWith, modelServer } from './backend-fixture.ts';

const newFolder = temporaryFolders();
const chat = (model: string) => ({ model, messages: [{ role: 'user', content: 'Hi' }] });

/** Backends of the file. */
function fileWith(text: string) {
  return { backends: readConfig({ OLLAMA_BASE_URLS: ';' }, (path) => (path.endsWith('.yaml') ? text : undefined)).backends };
}

describe('a new backend', () => {
  it('is used at once, and is gone when it is deleted', async () => {
    const lab = await modelServer(['small', 'large']);
    const { call, models } = await gatewayWith();
    expect(await models()).toEqual([]);
    const created = await call('POST', '/api/backends', { id: 'lab', type: 'openai', url: `${lab.origin}/v1`, prefix: 'lab' });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      id: 'lab',
      type: 'openai',
      url: `${lab.origin}/v1`,
      prefix: 'lab',
      headers: {},
      has_key: false,
      origin: 'api',
      state: 'ok',
      model_count: 2,
      fault: null,
    });
    expect(await models()).toEqual(['lab/small', 'lab/large']);
    expect((await call('POST', '/v1/chat/completions', chat('lab/small'))).raw).toContain('Hello');
    const ready = (await call('GET', '/ready')).body;
    expect(ready['backends']).toEqual([{ name: 'lab', state: 'ok', models: 2 }]);
    expect((await call('DELETE', '/api/backends/lab')).body).toEqual({ id: 'lab', deleted: true });
    expect(await models()).toEqual([]);
    expect((await call('POST', '/v1/chat/completions', chat('lab/small'))).status).toBe(404);
  });

  it('takes the place of the demo model, and of an Ollama that is only looked for where it usually is', async () => {
    const lab = await modelServer(['small']);
    const { call, models } = await gatewayWith({ TOOLWHARF_DEMO: undefined, OLLAMA_BASE_URLS: undefined });
    expect(await models()).toContain('demo');
    const [optional] = (await call('GET', '/api/backends')).body['data'] as object[];
    expect(optional).toMatchObject({ id: 'ollama', origin: 'environment', optional: true });
    expect((await call('PATCH', '/api/backends/ollama', { prefix: 'x' })).body).toMatchObject({ error: { code: 'read_only' } });
    const dead = await deadUrl();
    expect((await call('POST', '/api/backends', { type: 'ollama', url: dead })).body).toMatchObject({ id: 'ollama', state: 'unreachable' });
    await call('POST', '/api/backends', { type: 'openai', url: `${lab.origin}/v1` });
    expect(await models()).toEqual(['small']);
    const ids = ((await call('GET', '/api/backends')).body['data'] as { id: string; origin: string }[]).map(({ id, origin }) => [
      id,
      origin,
    ]);
    expect(ids).toEqual([
      ['ollama', 'api'],
      ['openai', 'api'],
    ]);
  });

  it('gets an id from its type where it has none', async () => {
    const dead = await deadUrl();
    const { call } = await gatewayWith({ OPENAI_API_BASE_URL: `${dead}/v1` });
    expect((await call('POST', '/api/backends', { type: 'openai', url: `${dead}/v1` })).body).toMatchObject({ id: 'openai-2' });
    expect((await call('POST', '/api/backends', { type: 'openai', url: `${dead}/v1`, name: 'lab' })).body).toMatchObject({ id: 'lab' });
  });

  it('is refused where its id is taken, with the place of the other one', async () => {
    const dead = `${await deadUrl()}/v1`;
    const { call } = await gatewayWith({}, { config: fileWith(`backends: [{ id: fixed, type: openai, url: "${dead}" }]`) });
    expect((await call('POST', '/api/backends', { id: 'lab', type: 'openai', url: dead })).status).toBe(201);
    const again = await call('POST', '/api/backends', { id: 'lab', type: 'openai', url: dead });
    expect([again.status, again.body]).toMatchObject([409, { error: { code: 'conflict', message: expect.stringContaining('"lab"') } }]);
    const fixed = await call('POST', '/api/backends', { id: 'fixed', type: 'openai', url: dead });
    expect([fixed.status, fixed.body]).toMatchObject([409, { error: { message: expect.stringContaining('the configuration file') } }]);
  });

  it.each<[object, string]>([
    [{ type: 'openai' }, 'url'],
    [{ type: 'groq', url: 'http://a' }, 'type'],
    [{ type: 'openai', url: 'http://u:CANARY@a' }, 'url'],
    [{ type: 'openai', url: 'http://a', urls: ['http://b'] }, 'urls'],
    [{ type: 'openai', urls: ['http://a', 'http://a/'] }, 'urls.1'],
    [{ type: 'openai', url: 'http://a', queue: 5 }, 'queue'],
    [{ type: 'openai', url: 'http://a', models: [] }, 'models'],
    [{ type: 'openai', url: 'http://a', tool_images: 'yes' }, 'tool_images'],
    [{ type: 'openai', url: 'http://a', id: 'a/b' }, 'id'],
    [{ type: 'openai', url: 'http://a', name: 'a/b' }, 'name'],
    [{ type: 'openai', url: 'http://a', key: 'CANARY\nx' }, 'key'],
  ])('is refused as %j, which names %s', async (payload, param) => {
    const { call } = await gatewayWith();
    const answer = await call('POST', '/api/backends', { ...payload });
    expect([answer.status, answer.body]).toMatchObject([400, { error: { param } }]);
    expect(answer.raw).not.toContain('CANARY');
  });
});

describe('secrets of a backend', () => {
  it('are sent to it and never shown, and stay when a change leaves them out', async () => {
    const lab = await modelServer(['small']);
    const { call, app } = await gatewayWith();
    const entry = { id: 'lab', type: 'openai', url: `${lab.origin}/v1`, key: 'CANARY-key', headers: { 'x-team': 'CANARY-team' } };
    const answers = [
      await call('POST', '/api/backends', entry),
      await call('PATCH', '/api/backends/lab', { prefix: 'p' }),
      await call('PATCH', '/api/backends/lab', (await call('GET', '/api/backends/lab')).body),
      await call('GET', '/api/backends'),
      await call('POST', '/api/backends/lab/verify'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 200, 200, 200]);
    expect(answers[2]?.body).toMatchObject({ has_key: true, headers: { 'x-team': null }, prefix: 'p' });
    expect(answers.map(({ raw }) => raw).join()).not.toContain('CANARY');
    expect(app.logLines.join()).not.toContain('CANARY');
    expect(lab.requests.at(-1)?.headers).toMatchObject({ authorization: 'Bearer CANARY-key', 'x-team': 'CANARY-team' });
  });

  it('are dropped when it moves to another origin, and the answer says so', async () => {
    const lab = await modelServer(['small']);
    const other = await modelServer(['small']);
    const { call } = await gatewayWith();
    await call('POST', '/api/backends', { id: 'lab', type: 'openai', url: `${lab.origin}/v1`, key: 'secret', headers: { 'x-team': 't' } });
    const moved = await call('PATCH', '/api/backends/lab', { url: `${other.origin}/v1`, headers: { 'x-team': null } });
    expect(moved.body).toMatchObject({ has_key: false, headers: {}, warnings: [expect.stringContaining('key, headers.x-team')] });
    expect(other.requests.map(({ headers }) => [headers['authorization'], headers['x-team']])).toEqual([[undefined, undefined]]);
    const keyed = await call('PATCH', '/api/backends/lab', { url: `${lab.origin}/v1`, key: 'new' });
    expect(keyed.body).toMatchObject({ has_key: true });
    expect(keyed.body).not.toHaveProperty('warnings');
    expect((await call('PATCH', '/api/backends/lab', { key: '' })).body).toMatchObject({ has_key: false });
  });

  it('that cannot be decrypted leave it out, with the reason and the cure, until new ones are given', async () => {
    const lab = await modelServer(['small']);
    const file = join(newFolder(), 'toolwharf.db');
    const before = openStores({ file, secret: 'one' });
    const first = await gatewayWith({}, { registry: before.registry });
    const entry = { id: 'lab', type: 'openai', url: `${lab.origin}/v1`, key: 'secret', headers: { 'x-team': 't' } };
    await first.call('POST', '/api/backends', entry);
    await first.app.close();
    await before.database.close();
    const { requests } = lab;
    const asked = requests.length;

    const stores = openStores({ file, secret: 'two' });
    onTestFinished(() => stores.database.close());
    const { call, models } = await gatewayWith({}, { registry: stores.registry });
    expect(await models()).toEqual([]);
    expect((await call('GET', '/api/backends/lab')).body).toMatchObject({
      state: 'secret_unreadable',
      fault: expect.stringContaining('key'),
      unreadable_secrets: expect.arrayContaining(['key', 'headers.x-team']),
    });
    expect((await call('POST', '/api/backends/lab/verify')).body).toMatchObject({
      ok: false,
      servers: [{ fault: expect.stringContaining('TOOLWHARF_SECRET'), cure: expect.stringContaining('PATCH /api/backends/lab') }],
    });
    expect((await call('GET', '/ready')).body['backends']).toEqual([{ name: 'lab', state: 'secret_unreadable', models: 0 }]);
    expect((await call('GET', '/api/doctor')).raw).toContain('PATCH /api/backends/lab');
    expect(requests.slice(asked).map(({ method, url, headers }) => [method, url, headers])).toEqual([]);
    expect((await call('PATCH', '/api/backends/lab', { prefix: 'p' })).body).toMatchObject({ state: 'secret_unreadable' });
    expect((await call('PATCH', '/api/backends/lab', { key: 'new', headers: { 'x-team': 'u' } })).body).toMatchObject({ state: 'ok' });
    expect(await models()).toEqual(['p/small']);
  });
});

describe('a change', () => {
  it('takes effect for the next chat, while a running one goes on as it began', async () => {
    const { promise: rest, resolve: goOn } = Promise.withResolvers<void>();
    const [head = ''] = stream([]);
    const old = await modelServer(['small'], ({ url }) => {
      if (url !== '/v1/chat/completions') return undefined;
      const [begun = '', end = ''] = events({ ...chunkOf('Old '), choices: [{ index: 0, delta: { content: 'Old ' } }] }, chunkOf('house'));
      const asChunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
      return [head, asChunk(begun), { until: rest }, asChunk(end), asChunk(events('[DONE]').join('')), '0\r\n\r\n'];
    });
    const next = await modelServer(['small']);
    const { call, app } = await gatewayWith();
    await call('POST', '/api/backends', { id: 'lab', type: 'openai', url: `${old.origin}/v1` });
    const running = app.server.inject({
      method: 'POST',
      url: '/v1/chat/completions',
      headers: { authorization: `Bearer ${adminKey}` },
      payload: { ...chat('small'), stream: true },
    });
    await old.request(1);
    await call('PATCH', '/api/backends/lab', { url: `${next.origin}/v1` });
    expect((await call('POST', '/v1/chat/completions', chat('small'))).raw).toContain('Hello');
    goOn();
    const answer = await running;
    expect(JSON.stringify(readChunks(answer.body))).toContain('house');
    expect(old.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  it('leaves the lists of other backends as they are', async () => {
    const [lab, other] = [await modelServer(['small']), await modelServer(['large'])];
    const { call, models } = await gatewayWith({ OPENAI_API_BASE_URL: `${other.origin}/v1` });
    await call('POST', '/api/backends', { id: 'lab', type: 'openai', url: `${lab.origin}/v1` });
    await call('PATCH', '/api/backends/lab', { prefix: 'p' });
    expect(await models()).toEqual(['large', 'p/small']);
    expect([lab.requests.length, other.requests.length]).toEqual([2, 1]);
  });

  it('moves the requests that are passed on', async () => {
    const old = await modelServer(['e']);
    const next = await modelServer(['e']);
    const { call } = await gatewayWith();
    await call('POST', '/api/backends', { id: 'lab', type: 'openai', url: `${old.origin}/v1` });
    const ask = () => call('POST', '/v1/embeddings', { model: 'e', input: 'x' });
    expect((await ask()).status).toBe(200);
    await call('PATCH', '/api/backends/lab', { url: `${next.origin}/v1` });
    expect((await ask()).status).toBe(200);
    const embeddings = (server: typeof old) => server.requests.filter(({ url }) => url === '/v1/embeddings').length;
    expect([embeddings(old), embeddings(next)]).toEqual([1, 1]);
  });

  it('forgets what the earlier server refused', async () => {
    const lab = await modelServer(['small'], ({ url, body }) =>
      url === '/v1/chat/completions' && body.includes('"tools"')
        ? respond(400, { error: { message: 'this model does not support tools' } })
        : undefined,
    );
    const { call } = await gatewayWith();
    await call('POST', '/api/backends', { id: 'lab', type: 'openai', url: `${lab.origin}/v1` });
    await call('POST', '/v1/chat/completions', {
      ...chat('small'),
      tool_servers: [{ id: 'own', url: 'http://own.test', openapi: ownDocument }],
    });
    const findings = async (): Promise<string> => (await call('GET', '/api/doctor')).raw;
    expect(await findings()).toContain('refuse');
    await call('PATCH', '/api/backends/lab', { prefix: 'p' });
    expect(await findings()).not.toContain('refuse');
  });

  it('of a backend of the environment or the file is refused, with the place to change it', async () => {
    const dead = `${await deadUrl()}/v1`;
    const fixed = readConfig({ OLLAMA_BASE_URLS: ';', OPENAI_API_BASE_URL: dead }, (path) =>
      path.endsWith('.yaml') ? `backends: [{ id: lab, type: openai, url: "${dead}" }]` : undefined,
    );
    const { call } = await gatewayWith({}, { config: { backends: fixed.backends } });
    const listed = (await call('GET', '/api/backends')).body['data'] as object[];
    expect(listed).toMatchObject([
      { id: 'openai', origin: 'environment', state: 'unreachable', fault: expect.stringContaining('cannot be reached') },
      { id: 'lab', origin: 'file' },
    ]);
    for (const [id, place] of [
      ['openai', 'OPENAI_API_BASE_URLS'],
      ['lab', 'the configuration file'],
    ] as const) {
      for (const method of ['PATCH', 'DELETE'] as const) {
        const answer = await call(method, `/api/backends/${id}`, method === 'PATCH' ? { prefix: 'p' } : undefined);
        expect([answer.status, answer.body]).toMatchObject([
          409,
          { error: { code: 'read_only', message: expect.stringContaining(place) } },
        ]);
      }
    }
    for (const [method, path] of [
      ['GET', '/api/backends/none'],
      ['PATCH', '/api/backends/none'],
      ['DELETE', '/api/backends/none'],
      ['POST', '/api/backends/none/verify'],
    ] as const)
      expect((await call(method, path, method === 'PATCH' ? {} : undefined)).status).toBe(404);
  });

  it('keeps what is not named, and removes what is null', async () => {
    const dead = `${await deadUrl()}/v1`;
    const { call } = await gatewayWith();
    const entry = {
      id: 'lab',
      type: 'openai',
      urls: [dead, `${dead}2`],
      models: ['a', 'b'],
      max_concurrent: 2,
      queue: 9,
      fallbacks: ['c'],
      tool_images: 'never',
      schemas: 'plain',
      prefix: 'p',
    };
    expect((await call('POST', '/api/backends', entry)).body).toMatchObject(entry);
    const changed = (await call('PATCH', '/api/backends/lab', { queue: null, prefix: null, models: ['a'] })).body;
    const { queue: _queue, prefix: _prefix, ...rest } = entry;
    expect(changed).toMatchObject({ ...rest, models: ['a'] });
    expect(changed).not.toHaveProperty('queue');
    expect(changed).not.toHaveProperty('prefix');
    expect((await call('PATCH', '/api/backends/lab', { url: dead })).body).toMatchObject({ url: dead });
    expect((await call('PATCH', '/api/backends/lab', { id: 'other' })).body).toMatchObject({ error: { param: 'id' } });
  });
});

const ownDocument = {
  openapi: '3.1.0',
  info: { title: 'Own', version: '1' },
  paths: { '/now': { get: { operationId: 'now', description: 'Now', responses: { 200: { description: 'Done' } } } } },
};

describe('models of an entry', () => {
  it('restrict what is offered, and are the list of a server that has none', async () => {
    const many = await modelServer(['a', 'b', 'c']);
    const none = await modelServer([], ({ url }) => (url === '/v1/models' ? respond(404, 'Not found') : undefined));
    const dead = await deadUrl();
    const { call, models } = await gatewayWith();
    await call('POST', '/api/backends', { id: 'many', type: 'openai', url: `${many.origin}/v1`, models: ['c', 'a', 'gone'] });
    await call('POST', '/api/backends', { id: 'none', type: 'openai', url: `${none.origin}/v1`, models: ['chat'] });
    const down = await call('POST', '/api/backends', { id: 'down', type: 'openai', url: `${dead}/v1`, models: ['late'] });
    expect(down.body).toMatchObject({ state: 'unreachable', model_count: 0 });
    expect(await models()).toEqual(['a', 'c', 'chat']);
    expect((await call('POST', '/v1/chat/completions', chat('b'))).status).toBe(404);
    expect((await call('POST', '/v1/chat/completions', chat('chat'))).raw).toContain('Hello');
  });
});
