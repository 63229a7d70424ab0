import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { GatewayError } from '../../../src/core/errors.ts';
import { createLayeredRegistry } from '../../../src/storage/layered-registry.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { openStores } from '../../_support/memory-stores.ts';
import { parseToolServerConnection } from '../../../src/storage/tool-server-connection.ts';
import { testApp } from '../../_support/build-app.ts';
import { temporaryFolders } from '../../storage/temporary-folder.ts';

const newFolder = temporaryFolders();

/** Keys that the gateway has no word for, as other programs keep them. Every canary is a secret. */
const unknown = {
  token: 'canary-token-01',
  client_secret: 'canary-client-02',
  sso: { client_id: 'public-id', client_secret: 'canary-oauth-03', scopes: ['read'] },
  webhook: 'https://hook.test/call?api_key=canary-hook-04',
  extra_headers: [{ name: 'x-own', value: 'canary-list-05' }],
  color: 'green',
};
const connection = {
  id: 'maps',
  url: 'http://127.0.0.1:1',
  path: 'openapi.json?api_key=canary-path-06&v=2',
  ...unknown,
  config: { needs_approval: true, refresh_token: 'canary-config-07', headers: { 'x-inner': 'canary-inner-08' } },
  info: { name: 'Maps', oauth_client_info: 'canary-info-09' },
};
const canaries = JSON.stringify(connection).match(/canary-[a-z]+-\d\d/g) ?? [];
const found = (text: string): string[] => canaries.filter((canary) => text.includes(canary));

async function gateway(folder = newFolder(), secret = 'first') {
  const registry = openStores({ file: join(folder, 'toolwharf.db'), secret }).registry;
  const app = await testApp({}, { registry, backends: [] });
  onTestFinished(() => app.close());
  const ask = async (method: 'GET' | 'POST' | 'PUT' | 'PATCH', url: string, payload?: object) => {
    const answer = await app.server.inject({ method, url, headers: { host: '127.0.0.1:8080' }, ...(payload && { payload }) });
    return { status: answer.statusCode, text: answer.body, body: answer.json<JsonObject>() };
  };
  const stored = async (): Promise<JsonObject> => (await registry.listToolServers())[0] as unknown as JsonObject;
  const files = (): string =>
    readdirSync(folder)
      .map((name) => readFileSync(join(folder, name), 'latin1'))
      .join('\n');
  return { app, ask, stored, files, folder };
}

const keptExtra = {
  ...unknown,
  config: { needs_approval: true, refresh_token: 'canary-config-07', headers: { 'x-inner': 'canary-inner-08' } },
  info: { oauth_client_info: 'canary-info-09' },
};

it('secrets under keys without a word of ours are in no answer, no log line and no file, and stay', async () => {
  const { app, ask, stored, files } = await gateway();
  const created = await ask('POST', '/api/tool-servers', connection);
  expect(created.status).toBe(201);
  const answers = [
    created,
    await ask('GET', '/api/tool-servers'),
    await ask('GET', '/api/tool-servers/maps'),
    await ask('GET', '/api/v1/configs/tool_servers'),
    await ask('POST', '/api/tool-servers/maps/refresh'),
    await ask('POST', '/api/tool-servers/verify', connection),
    await ask('PATCH', '/api/tool-servers/maps', { info: { name: 'Plans' } }),
  ];
  expect(answers.flatMap(({ text }) => found(text))).toEqual([]);
  expect(found(app.logLines.join(''))).toEqual([]);
  expect(await stored()).toMatchObject({ path: connection.path, name: 'Plans', extra: keptExtra });
  expect(found(files())).toEqual([]);
  expect(created.body).toMatchObject({
    path: 'openapi.json?api_key=[secret]&v=2',
    token: null,
    client_secret: null,
    sso: { client_id: 'public-id', client_secret: null, scopes: ['read'] },
    webhook: 'https://hook.test/call?api_key=[secret]',
    extra_headers: [{ name: 'x-own', value: null }],
    color: 'green',
    config: { needs_approval: true, refresh_token: null, headers: { 'x-inner': null } },
  });
});

it.each(['/api/tool-servers', '/api/v1/configs/tool_servers'])('a list that is read at %s and sent back keeps them all', async (path) => {
  const { ask, stored } = await gateway();
  await ask('POST', '/api/tool-servers', connection);
  const before = await stored();
  const method = path.endsWith('configs/tool_servers') ? 'POST' : 'PUT';
  expect((await ask(method, path, (await ask('GET', path)).body)).status).toBe(200);
  expect(await stored()).toEqual(before);
});

it('a path that shows one as hidden under another name is refused, and changes nothing', async () => {
  const { ask, stored } = await gateway();
  await ask('POST', '/api/tool-servers', connection);
  const before = await stored();
  const refused = await ask('PATCH', '/api/tool-servers/maps', { path: 'openapi.json?access_token=[secret]' });
  expect([refused.status, refused.body]).toMatchObject([400, { error: { param: 'path' } }]);
  expect((await ask('PATCH', '/api/tool-servers/maps', { path: 'new.json?v=3&api_key=[secret]' })).status).toBe(200);
  expect(await stored()).toEqual({ ...before, path: 'new.json?v=3&api_key=canary-path-06' });
});

it('left out in an entry that replaces all they stay, and a new value counts', async () => {
  const { ask, stored, files } = await gateway();
  await ask('POST', '/api/tool-servers', connection);
  const entry = { id: 'maps', url: connection.url, path: connection.path, sso: { client_id: 'other' }, token: 'canary-renewed-10' };
  expect((await ask('PUT', '/api/tool-servers', [entry])).status).toBe(200);
  expect(await stored()).toMatchObject({
    extra: {
      token: 'canary-renewed-10',
      client_secret: 'canary-client-02',
      sso: { client_id: 'other', client_secret: 'canary-oauth-03' },
      config: { refresh_token: 'canary-config-07' },
      info: { oauth_client_info: 'canary-info-09' },
    },
  });
  expect((await stored())['extra']).not.toHaveProperty('webhook');
  expect(files()).not.toContain('canary-renewed-10');
});

it('of the environment and the configuration file are not shown either, and a list with them that is sent back changes nothing', async () => {
  const fixed = [parseToolServerConnection(connection, 'file')];
  const registry = createLayeredRegistry({ fixed, store: memoryRegistry() });
  const app = await testApp({}, { registry, backends: [] });
  onTestFinished(() => app.close());
  const headers = { host: '127.0.0.1:8080' };
  const shown = await app.server.inject({ url: '/api/tool-servers', headers });
  expect(found(shown.body)).toEqual([]);
  expect(shown.json()).toMatchObject({ data: [{ origin: 'file', token: null, sso: { client_id: 'public-id', client_secret: null } }] });
  const sent = await app.server.inject({ method: 'PUT', url: '/api/tool-servers', headers, payload: shown.json<object>() });
  expect(sent.statusCode).toBe(200);
  const changed = { data: [{ ...connection, token: 'another' }] };
  expect((await app.server.inject({ method: 'PUT', url: '/api/tool-servers', headers, payload: changed })).statusCode).toBe(409);
  expect(await registry.listToolServers()).toEqual(fixed);
});

it('under another TOOLWHARF_SECRET they are named as lost, and open again under the first', async () => {
  const first = await gateway();
  await first.ask('POST', '/api/tool-servers', connection);
  const second = await gateway(first.folder, 'second');
  const shown = (await second.ask('GET', '/api/tool-servers/maps')).body;
  const lost = ['token', 'client_secret', 'sso', 'webhook', 'extra_headers', 'config.refresh_token', 'config.headers'];
  expect(shown['unreadable_secrets']).toEqual([...lost, 'info.oauth_client_info', 'path']);
  // The protection that stands beside them is readable still.
  expect(shown).toMatchObject({ config: { needs_approval: true }, report: { ok: false } });
  await second.ask('PATCH', '/api/tool-servers/maps', { info: { name: 'Plans' }, token: 'canary-newest-11' });
  const third = await gateway(first.folder, 'first');
  const { token: _token, ...others } = keptExtra;
  expect(await third.stored()).toMatchObject({ name: 'Plans', path: connection.path, extra: others });
});

it.each(['/api/tool-servers', '/api/v1/configs/tool_servers'])(
  '%s shows no part of the list for the whole, and replaces none',
  async (path) => {
    const stored = [parseToolServerConnection(connection, 'database')];
    const store = memoryRegistry(stored);
    let isDown = true;
    const listToolServers = async () => {
      if (isDown) throw new GatewayError('storage_unavailable', 'The disk is full.');
      return store.listToolServers();
    };
    const fixed = [parseToolServerConnection({ id: 'clock', url: 'http://127.0.0.1:2' }, 'file')];
    const registry = createLayeredRegistry({ fixed, store: { ...store, listToolServers } });
    const app = await testApp({}, { registry, backends: [] });
    onTestFinished(() => app.close());
    const headers = { host: '127.0.0.1:8080' };
    const method = path.endsWith('configs/tool_servers') ? 'POST' : 'PUT';
    const list = [{ id: 'maps', url: connection.url, path: connection.path }];
    const payload = method === 'POST' ? { TOOL_SERVER_CONNECTIONS: list } : list;
    expect((await app.server.inject({ url: path, headers })).statusCode).toBe(503);
    expect((await app.server.inject({ url: '/api/tool-servers/maps', headers })).statusCode).toBe(503);
    expect((await app.server.inject({ url: '/api/tool-servers/clock', headers })).statusCode).toBe(200);
    // It is back once the list was asked for.
    const given = registry.replaceToolServers.bind(registry);
    registry.replaceToolServers = (records) => {
      isDown = false;
      return given(records);
    };
    expect((await app.server.inject({ method, url: path, headers, payload })).statusCode).toBe(503);
    isDown = false;
    expect(await store.listToolServers()).toEqual(stored);
  },
);

it('what an answer shows in the place of a secret makes no new connection', async () => {
  const { ask, stored } = await gateway();
  await ask('POST', '/api/tool-servers', connection);
  const { body: shown } = await ask('GET', '/api/tool-servers/maps');
  const whole = await stored();
  const refusals: [entry: JsonObject, param: string][] = [
    [{ ...shown, id: 'copy' }, 'token'],
    [{ id: 'copy', url: 'http://127.0.0.1:1', path: shown['path'] }, 'path'],
    [{ has_key: false, id: 'copy', url: 'http://127.0.0.1:1', oauth: { client_secret: null } }, 'oauth.client_secret'],
    [{ has_key: false, id: 'copy', url: 'http://127.0.0.1:1', extra_headers: [{ name: 'x', value: null }] }, 'extra_headers.0.value'],
    [{ id: 'copy', url: 'http://127.0.0.1:1', webhook: 'https://[secret]@hook.test' }, 'webhook'],
  ];
  for (const [entry, param] of refusals) {
    const { report: _report, info: _info, ...sent } = entry;
    const other = { ...sent, url: 'http://127.0.0.1:2' };
    for (const [method, payload] of [['POST', sent] as const, ['PUT', [shown, other]] as const]) {
      const { status, body } = await ask(method, '/api/tool-servers', payload);
      expect([method, status, body['error']]).toEqual([
        method,
        400,
        expect.objectContaining({ code: 'invalid_request', param, message: expect.stringContaining('Send the secret itself') }),
      ]);
    }
  }
  expect(await stored()).toEqual(whole);
});

it('a null that no answer has shown, and the word elsewhere, are taken as they are', async () => {
  const { ask } = await gateway();
  const plain = { url: 'http://127.0.0.1:1', path: 'openapi.json' };
  const config = { client_secret: null, headers: null };
  expect((await ask('POST', '/api/tool-servers', { ...plain, id: 'one', config, note: 'see [secret] notes' })).status).toBe(201);
  expect((await ask('POST', '/api/tool-servers', { ...plain, id: 'two', has_key: false, config: { headers: null } })).status).toBe(201);
});
