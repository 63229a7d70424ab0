import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { OutboundError } from '../../../src/core/errors.ts';
import { createToolServerAdmin } from '../../../src/admin/tool-server-admin.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { parseToolServerConnection, parseToolServerConnections } from '../../../src/storage/tool-server-connection.ts';
import { toolServerRecord } from '../../storage/registry-contract.ts';
import { documentWith, jsonResponse } from '../../tools/scripted-send.ts';
import { adminApp } from './tool-server-fixture.ts';
import type { Json } from './tool-server-fixture.ts';

const maps = { id: 'maps', url: 'http://maps.test' };
const down = { id: 'down', url: 'http://down.test' };
const fromFile = toolServerRecord({ id: 'clock', url: 'http://clock.test', origin: 'file', key: 'file-key', authType: 'bearer' });

describe('creating a tool server', () => {
  it('converts at once and answers the connection with a report', async () => {
    await using app = await adminApp();
    const { status, body } = await app.ask('POST', '/api/tool-servers', {
      ...maps,
      key: 'secret-1',
      headers: { 'x-a': 'b' },
      note: { a: 1 },
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      id: 'maps',
      url: 'http://maps.test',
      path: 'openapi.json',
      type: 'openapi',
      auth_type: 'bearer',
      headers: { 'x-a': null },
      has_key: true,
      origin: 'database',
      note: { a: 1 },
      config: { enable: true, default: true, function_name_filter_list: [], tags: [] },
      info: { id: 'maps', name: '', description: '' },
    });
    expect(body).not.toHaveProperty('key');
    expect(body.report).toMatchObject({
      ok: true,
      info: { title: 'Clocks', version: '1.0.0' },
      version: '3.1.0',
      renamed: [],
      omitted: [],
      warnings: [],
    });
    expect(body.report.functions.map(({ name, operation }: Json) => [name, operation])).toEqual([
      ['route', 'GET /route'],
      ['place', 'GET /place'],
    ]);
    expect(body.report.functions[0].parameters.properties).toHaveProperty('city');
    expect(body.report.tokens).toBe(body.report.functions[0].tokens + body.report.functions[1].tokens);
    expect(app.script.requests[0]?.headers).toMatchObject({ authorization: 'Bearer secret-1', 'x-a': 'b' });
    expect((await app.ask('GET', '/api/tools')).body.data.map(({ id }: Json) => id)).toEqual(['maps/route', 'maps/place']);
  });

  it('takes the address of a document for that of its server, and keeps a key that is left out for it later', async () => {
    await using app = await adminApp();
    const entry = { url: 'http://maps.test/openapi.json', path: 'openapi.json', auth_type: 'bearer' };
    const created = await app.ask('POST', '/api/tool-servers', { ...entry, key: 'secret-key' });
    expect(created.body).toMatchObject({ id: 'clocks', url: 'http://maps.test', path: 'openapi.json', report: { ok: true } });
    await app.ask('PUT', '/api/tool-servers', [entry]);
    expect(await app.registry.listToolServers()).toMatchObject([{ id: 'clocks', url: 'http://maps.test', key: 'secret-key' }]);
  });

  it('names one without an id after the title of its document, with a number where that is taken', async () => {
    await using app = await adminApp();
    const idOf = async (connection: Json): Promise<string> => (await app.ask('POST', '/api/tool-servers', connection)).body.id;
    expect(await idOf({ url: 'http://maps.test' })).toBe('clocks');
    expect(await idOf({ url: 'http://clock.test' })).toBe('clocks-2');
    expect(await idOf({ url: 'http://maps.test', info: { id: 'named' } })).toBe('named');
    expect(await idOf({ url: 'http://spec.test', spec: { ...documentWith('x'), info: { title: 'Über Räume!' } } })).toBe('ber-r-ume');
    expect(await idOf({ url: 'http://foreign.test', spec: { ...documentWith('x'), info: { title: '天気' } } })).toBe('foreign-test');
    expect(await idOf({ url: 'http://silent.test' })).toBe('silent-test');
  });

  it('refuses a second one without an id that leads to the same document', async () => {
    await using app = await adminApp();
    await app.ask('POST', '/api/tool-servers', { url: 'http://maps.test' });
    const again = await app.ask('POST', '/api/tool-servers', { url: 'http://maps.test/' });
    expect([again.status, again.body.error.message]).toEqual([409, expect.stringContaining('PATCH /api/tool-servers/clocks')]);
    const same = await app.ask('POST', '/api/tool-servers', { url: 'http://maps.test', id: 'clocks', key: 'k' });
    expect([same.status, same.body.error.message]).toEqual([409, expect.stringContaining('PATCH /api/tool-servers/clocks')]);
    expect((await app.ask('POST', '/api/tool-servers', { url: 'http://maps.test', id: 'second' })).status).toBe(201);
  });

  it('names entries of a new list in the same way, and keeps the ids of those that are there', async () => {
    await using app = await adminApp();
    await app.ask('POST', '/api/tool-servers', { url: 'http://maps.test', id: 'old' });
    const list = [{ url: 'http://maps.test' }, { url: 'http://clock.test' }, { url: 'http://clock.test', path: 'other.json' }];
    const ids = async (): Promise<string[]> => (await app.registry.listToolServers()).map(({ id }) => id);
    await app.ask('PUT', '/api/tool-servers', list);
    expect(await ids()).toEqual(['old', 'clocks', 'clock-test']);
    await app.ask('PUT', '/api/tool-servers', list);
    expect(await ids()).toEqual(['old', 'clocks', 'clock-test']);
  });

  it('keeps a server with a broken document, marked, and gives its report', async () => {
    await using app = await adminApp();
    app.script.answers.set('http://broken.test/openapi.json', { hello: 'world' });
    const { status, body } = await app.ask('POST', '/api/tool-servers', { url: 'http://broken.test' });
    expect([status, body.id, body.report.ok, body.report.error]).toEqual([201, 'broken-test', false, expect.stringMatching(/\w/)]);
    expect((await app.ask('GET', '/api/tool-servers/broken-test')).body.report).toMatchObject({ ok: false });
  });

  it('keeps one that cannot be reached, and says so', async () => {
    await using app = await adminApp();
    app.script.answers.set('http://down.test/openapi.json', new OutboundError('unreachable', 'connect ECONNREFUSED'));
    const { status, body } = await app.ask('POST', '/api/tool-servers', down);
    expect(status).toBe(201);
    expect(body.report).toMatchObject({ ok: false, error: expect.stringContaining('ECONNREFUSED'), functions: [], tokens: 0 });
    expect((await app.ask('GET', '/api/tool-servers/down')).body).toMatchObject({ id: 'down', report: { ok: false } });
  });

  it('refuses an id that is taken, stored or fixed, and a number of wrong bodies', async () => {
    await using app = await adminApp({ fixed: [fromFile] });
    await app.ask('POST', '/api/tool-servers', maps);
    for (const id of ['maps', 'clock']) {
      const { status, body } = await app.ask('POST', '/api/tool-servers', { ...maps, id });
      expect([status, body.error.code]).toEqual([409, 'conflict']);
    }
    expect((await app.ask('POST', '/api/tool-servers', { url: 'ftp://x' })).body.error).toMatchObject({
      code: 'invalid_request',
      param: 'url',
    });
    expect((await app.ask('POST', '/api/tool-servers', { ...maps, id: 'b', headers: { 'x-a': null } })).body.error.param).toBe(
      'headers.x-a',
    );
    expect((await app.ask('POST', '/api/tool-servers', [])).status).toBe(400);
    expect((await app.registry.listToolServers()).map(({ id }) => id)).toEqual(['clock', 'maps']);
  });

  it('stores none of the words that only answers have', async () => {
    await using app = await adminApp();
    const shown = (await app.ask('POST', '/api/tool-servers', maps)).body;
    await app.ask('DELETE', '/api/tool-servers/maps');
    await app.ask('POST', '/api/tool-servers', shown);
    expect((await app.registry.listToolServers())[0]).toEqual(toolServerRecord({ ...maps, origin: 'database' }));
  });
});

describe('changing a tool server', () => {
  const rich = {
    ...maps,
    key: 'secret-1',
    auth_type: 'header',
    auth_name: 'x-token',
    headers: { 'x-a': 'one', 'x-b': 'two' },
    config: { tags: ['geo'], timeout_ms: 5_000, read_only: true },
    info: { name: 'Maps', description: 'Ways' },
    note: 'kept',
  };

  it.each<[string, object, object]>([
    ['a field of config', { config: { enable: false } }, { isEnabled: false, tags: ['geo'], timeoutMs: 5_000 }],
    ['a name', { info: { name: 'Karten' } }, { name: 'Karten', description: 'Ways' }],
    ['a limit taken back', { config: { timeout_ms: null } }, { timeoutMs: undefined, tags: ['geo'] }],
    ['another key', { key: 'secret-2' }, { key: 'secret-2', authType: 'header', authName: 'x-token' }],
    ['no key, as ""', { key: '' }, { key: undefined }],
    ['no key, as null', { key: null }, { key: undefined }],
    ['one more header', { headers: { 'x-c': 'three' } }, { headers: { 'x-a': 'one', 'x-b': 'two', 'x-c': 'three' } }],
    ['another value of a header', { headers: { 'X-A': 'new' } }, { headers: { 'x-b': 'two', 'X-A': 'new' } }],
    ['one header less', { headers: { 'x-a': '', 'x-b': null } }, { headers: { 'x-b': 'two' } }],
    ['no headers', { headers: null }, { headers: {} }],
    ['another word of another program', { note: { deep: [1] } }, { extra: { note: { deep: [1] }, config: { read_only: true } } }],
  ])('takes %s and leaves the rest', async (_case, change, expected) => {
    await using app = await adminApp();
    await app.ask('POST', '/api/tool-servers', rich);
    const before = (await app.registry.findToolServer('maps')) as object;
    const { status } = await app.ask('PATCH', '/api/tool-servers/maps', change);
    expect(status).toBe(200);
    const wanted: Record<string, unknown> = { ...before, ...expected };
    for (const [field, value] of Object.entries(wanted)) if (value === undefined) delete wanted[field];
    expect(await app.registry.findToolServer('maps')).toEqual(wanted);
  });

  it('uses a first key as a bearer token unless told otherwise', async () => {
    await using app = await adminApp();
    await app.ask('POST', '/api/tool-servers', maps);
    expect((await app.ask('PATCH', '/api/tool-servers/maps', { key: 'k1' })).body).toMatchObject({ has_key: true, auth_type: 'bearer' });
  });

  it('changes nothing when the answer is sent back as it was', async () => {
    await using app = await adminApp();
    const { body } = await app.ask('POST', '/api/tool-servers', rich);
    const before = await app.registry.listToolServers();
    await app.ask('PATCH', '/api/tool-servers/maps', body);
    expect(await app.registry.listToolServers()).toEqual(before);
    await app.ask('PUT', '/api/tool-servers', (await app.ask('GET', '/api/tool-servers')).body);
    expect(await app.registry.listToolServers()).toEqual(before);
    await app.ask('POST', '/api/v1/configs/tool_servers', (await app.ask('GET', '/api/v1/configs/tool_servers')).body);
    expect(await app.registry.listToolServers()).toEqual(before);
  });

  it('loads the document anew', async () => {
    await using app = await adminApp();
    await app.ask('POST', '/api/tool-servers', maps);
    const { body } = await app.ask('PATCH', '/api/tool-servers/maps', { config: { function_name_filter_list: ['!place'] } });
    expect(body.report.functions.map(({ name }: Json) => name)).toEqual(['route']);
    expect(body.report.omitted).toEqual([{ operation: 'GET /place', reason: 'function_name_filter_list blocks it' }]);
    expect((await app.ask('PATCH', '/api/tool-servers/maps', { config: { enable: false } })).body.report).toMatchObject({
      ok: false,
      error: 'It is disabled and was not loaded.',
    });
  });

  it.each<[Json, string[], RegExp]>([
    [{ read_only: true }, ['read', 'list'], /^read_only allows only GET and HEAD, and the method is (?:POST|DELETE)$/],
    [{ methods: ['post', 'GET'] }, ['write', 'read', 'list'], /^methods does not include DELETE$/],
    [{ tags: ['Files'] }, ['write', 'read'], /^none of its tags is listed in tags$/],
    [{ tags: ['!danger'] }, ['write', 'read', 'list'], /^tags blocks "danger"$/],
  ])('offers what %j lets through and says why not the rest', async (config, names, reason) => {
    const operation = (operationId: string, tags: string[]) => ({ operationId, tags, responses: { 200: { description: 'Done' } } });
    const paths = {
      '/files': { post: operation('write', ['Files']), get: operation('read', ['Files']), delete: operation('drop', ['danger']) },
      '/all': { get: operation('list', []) },
    };
    await using app = await adminApp();
    const spec = { openapi: '3.1.0', info: { title: 'Files', version: '1' }, paths };
    const { body } = await app.ask('POST', '/api/tool-servers', { url: 'http://files.test', spec, config, info: { id: 'files' } });
    expect(body.report.functions.map(({ name }: Json) => name)).toEqual(names);
    expect(body.report.omitted.length).toBe(4 - names.length);
    for (const omitted of body.report.omitted) expect(omitted.reason).toMatch(reason);
  });

  it('asks whether a word of config that means nothing was meant for one that does', async () => {
    await using app = await adminApp();
    const config = { needs_approvals: true, ReadOnly: true, paralel: true, repeat: true, access_control: null, note: 'ours' };
    const created = await app.ask('POST', '/api/tool-servers', { ...maps, config });
    expect(created.body.report.warnings.filter((warning: string) => warning.startsWith('config has the unknown key'))).toEqual([
      'config has the unknown key "needs_approvals", which is ignored. Did you mean "needs_approval"?',
      'config has the unknown key "ReadOnly", which is ignored. Did you mean "read_only"?',
      'config has the unknown key "paralel", which is ignored. Did you mean "parallel"?',
      'config has the unknown key "repeat", which is ignored. Did you mean "repeats"?',
    ]);
  });

  it('says when a name in needs_approval protects nothing', async () => {
    await using app = await adminApp();
    const asked = { ...maps, config: { needs_approval: ['route', 'rout'] } };
    const { body } = await app.ask('POST', '/api/tool-servers', asked);
    expect(body.report.warnings).toContain(
      'needs_approval names "rout", but this server offers no such function, so the entry has no effect. Correct the name.',
    );
    const mended = await app.ask('PATCH', '/api/tool-servers/maps', { config: { needs_approval: ['route'] } });
    expect(JSON.stringify(mended.body.report.warnings)).not.toContain('needs_approval');
  });

  it('merges changes that arrive at the same time', async () => {
    const store = memoryRegistry([toolServerRecord({ ...maps, origin: 'database' })]);
    const slow = {
      ...store,
      async listToolServers() {
        const records = await store.listToolServers();
        await sleep(10);
        return records;
      },
    };
    const admin = createToolServerAdmin({
      registry: slow,
      inspector: { verify: () => Promise.reject(new Error('No change needs a document.')) },
      parseConnection: parseToolServerConnection,
      parseConnections: parseToolServerConnections,
    });
    await Promise.all([admin.change('maps', { config: { tags: ['a'] } }), admin.change('maps', { info: { name: 'M' } })]);
    expect(await store.findToolServer('maps')).toMatchObject({ tags: ['a'], name: 'M' });
  });

  it('refuses another id, what is wrong, and what is not there', async () => {
    await using app = await adminApp();
    await app.ask('POST', '/api/tool-servers', maps);
    const codeOf = async (id: string, change: unknown): Promise<unknown[]> => {
      const { status, body } = await app.ask('PATCH', `/api/tool-servers/${id}`, change);
      return [status, body.error.code, body.error.param];
    };
    expect(await codeOf('maps', { id: 'other' })).toEqual([400, 'invalid_request', 'id']);
    expect(await codeOf('maps', { config: { timeout_ms: 'soon' } })).toEqual([400, 'invalid_request', 'config.timeout_ms']);
    expect(await codeOf('maps', { url: null })).toEqual([400, 'invalid_request', 'url']);
    expect(await codeOf('maps', [])).toEqual([400, 'invalid_request', null]);
    expect(await codeOf('nope', {})).toEqual([404, 'not_found', null]);
  });
});

describe('what the environment or the file registers', () => {
  it('is shown with its origin and cannot be changed', async () => {
    await using app = await adminApp({ fixed: [fromFile] });
    expect((await app.ask('GET', '/api/tool-servers/clock')).body).toMatchObject({ origin: 'file', has_key: true, report: { ok: true } });
    for (const [method, body] of [
      ['PATCH', { config: { enable: false } }],
      ['DELETE', undefined],
    ] as const) {
      const answer = await app.ask(method, '/api/tool-servers/clock', body);
      expect([answer.status, answer.body.error.code]).toEqual([409, 'read_only']);
    }
  });

  it('may stand in a list that replaces all, as it is, and is never copied into the store', async () => {
    await using app = await adminApp({ fixed: [{ ...fromFile, wantedId: 'The Clock' }] });
    const { body } = await app.ask('GET', '/api/tool-servers');
    expect((await app.ask('PUT', '/api/tool-servers', { data: [...body.data, maps] })).status).toBe(200);
    expect((await app.registry.listToolServers()).map(({ id, origin }) => [id, origin])).toEqual([
      ['clock', 'file'],
      ['maps', 'database'],
    ]);
    const changed = { ...body.data[0], config: { enable: false } };
    expect((await app.ask('PUT', '/api/tool-servers', [changed])).body.error.code).toBe('read_only');
    expect((await app.ask('POST', '/api/v1/configs/tool_servers', { TOOL_SERVER_CONNECTIONS: [changed] })).body.error.code).toBe(
      'read_only',
    );
  });
});

describe('replacing all tool servers', () => {
  it.each([
    ['a bare array', (entries: object[]) => entries],
    ['{"data": […]}', (entries: object[]) => ({ data: entries })],
  ])('takes %s, keeps the secrets of ids that stay, and forgets the others', async (_case, toBody) => {
    await using app = await adminApp();
    await app.ask('POST', '/api/tool-servers', { ...maps, key: 'user:pass-1', auth_type: 'basic', headers: { 'x-a': 'one' } });
    await app.ask('POST', '/api/tool-servers', { id: 'clock', url: 'http://clock.test' });
    const { status, body } = await app.ask('PUT', '/api/tool-servers', toBody([down, { ...maps, info: { name: 'M' } }]));
    expect(status).toBe(200);
    expect(body.data.map(({ id, report }: Json) => [id, report.ok])).toEqual([
      ['down', false],
      ['maps', true],
    ]);
    expect(await app.registry.findToolServer('maps')).toMatchObject({
      key: 'user:pass-1',
      authType: 'basic',
      headers: { 'x-a': 'one' },
      name: 'M',
    });
    expect(await app.registry.findToolServer('clock')).toBeUndefined();
    await app.ask('PUT', '/api/tool-servers', [{ ...maps, key: '', headers: {} }]);
    expect(await app.registry.listToolServers()).toEqual([toolServerRecord({ ...maps, origin: 'database' })]);
  });

  it('changes nothing when one entry is wrong', async () => {
    await using app = await adminApp();
    await app.ask('POST', '/api/tool-servers', maps);
    for (const body of [[down, { url: 'nowhere' }], [down, down], { data: {} }, {}, 'text']) {
      expect((await app.ask('PUT', '/api/tool-servers', body)).status).toBe(400);
    }
    expect((await app.registry.listToolServers()).map(({ id }) => id)).toEqual(['maps']);
    expect((await app.ask('PUT', '/api/tool-servers', [down, { url: 'nowhere' }])).body.error.param).toBe('1.url');
  });
});

it('a list has the reports without the schemas, a single connection with them', async () => {
  await using app = await adminApp();
  await app.ask('POST', '/api/tool-servers', maps);
  expect((await app.ask('GET', '/api/tool-servers')).body.data[0].report.functions[0]).toEqual({
    name: 'route',
    operation: 'GET /route',
    description: 'Does route',
    tokens: expect.any(Number),
  });
  expect((await app.ask('GET', '/api/tool-servers/maps')).body.report.functions[0]).toHaveProperty('parameters');
  expect(app.script.requests).toHaveLength(1);
});

it('a deleted server is gone, with its functions', async () => {
  await using app = await adminApp();
  await app.ask('POST', '/api/tool-servers', maps);
  expect((await app.ask('DELETE', '/api/tool-servers/maps')).body).toEqual({ id: 'maps', deleted: true });
  expect((await app.ask('GET', '/api/tool-servers/maps')).status).toBe(404);
  expect((await app.ask('DELETE', '/api/tool-servers/maps')).status).toBe(404);
  expect((await app.ask('GET', '/api/tools')).body.data).toEqual([]);
});

describe('refreshing and verifying', () => {
  it('gives the new document to the chats that follow', async () => {
    await using app = await adminApp();
    await app.ask('POST', '/api/tool-servers', maps);
    app.script.answers.set('http://maps.test/openapi.json', documentWith('later'));
    const { status, body } = await app.ask('POST', '/api/tool-servers/maps/refresh');
    expect(status).toBe(200);
    expect(body.functions.map(({ name }: Json) => name)).toEqual(['later']);
    expect((await app.ask('GET', '/api/tools')).body.data.map(({ name }: Json) => name)).toEqual(['later']);
    expect((await app.ask('POST', '/api/tool-servers/nope/refresh')).status).toBe(404);
  });

  it('keeps the functions when the new document is broken', async () => {
    await using app = await adminApp();
    await app.ask('POST', '/api/tool-servers', maps);
    app.script.answers.set('http://maps.test/openapi.json', () => Promise.resolve(jsonResponse({ error: 'no' }, 500)));
    const { body } = await app.ask('POST', '/api/tool-servers/maps/refresh');
    expect(body).toMatchObject({ ok: false, error: expect.stringMatching(/HTTP 500.*Its previous functions stay in use\.$/) });
    expect((await app.ask('GET', '/api/tools')).body.data).toHaveLength(2);
    expect((await app.ask('GET', '/api/tool-servers/maps')).body.report.ok).toBe(false);
  });

  it('verifies without keeping anything, with the kept key where it belongs', async () => {
    await using app = await adminApp();
    const { body } = await app.ask('POST', '/api/tool-servers/verify', maps);
    expect(body).toMatchObject({ ok: true, version: '3.1.0' });
    expect(await app.registry.listToolServers()).toEqual([]);
    expect((await app.ask('POST', '/api/tool-servers/verify', down)).body).toMatchObject({
      ok: false,
      error: expect.stringContaining('404'),
    });
    expect((await app.ask('POST', '/api/tool-servers/verify', { url: 1 })).body.error.param).toBe('url');

    await app.ask('POST', '/api/tool-servers', { ...maps, key: 'secret-1' });
    await app.ask('POST', '/api/tool-servers/verify', maps);
    expect(app.script.requests.at(-1)?.headers?.['authorization']).toBe('Bearer secret-1');
    await app.ask('POST', '/api/tool-servers/verify', { ...maps, url: 'http://clock.test' });
    expect(app.script.requests.at(-1)?.headers?.['authorization']).toBeUndefined();
  });

  it('names what a validator says about the document', async () => {
    await using app = await adminApp();
    const { info: _info, ...document } = documentWith('route');
    app.script.answers.set('http://maps.test/openapi.json', document);
    const { body } = await app.ask('POST', '/api/tool-servers/verify', maps);
    expect(body.ok).toBe(true);
    expect(body.warnings.join(' ')).toMatch(/info/);
    expect(body.info).toBeNull();
  });
});
