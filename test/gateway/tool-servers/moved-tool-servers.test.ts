import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import type { ToolServerRecord } from '../../../src/core/stores/registry.ts';
import { openStores } from '../../_support/memory-stores.ts';
import { testApp } from '../../_support/build-app.ts';
import { temporaryFolders } from '../../storage/temporary-folder.ts';
import { scriptedSend } from '../../tools/scripted-send.ts';

const newFolder = temporaryFolders();

/** Every canary is a secret that was given for http://maps.test. */
const connection = {
  id: 'maps',
  url: 'http://maps.test/v1',
  path: 'openapi.json?api_key=canary-path&v=2',
  auth_type: 'bearer',
  key: 'canary-key',
  headers: { 'x-token': 'canary-header', 'x-tenant': 'canary-tenant' },
  color: 'green',
  sso: { client_id: 'public-id', client_secret: 'canary-oauth' },
  extra_headers: [{ name: 'x-own', value: 'canary-list' }],
  config: { tags: ['a'], webhook: 'https://hook.test/call?api_key=canary-hook', needs_approval: true },
  info: { name: 'Maps', oauth_client_info: 'canary-info' },
};
const secretNames = [
  'config.webhook',
  'extra_headers',
  'headers.x-tenant',
  'headers.x-token',
  'info.oauth_client_info',
  'key',
  'sso',
  'path',
];

async function gateway(folder = newFolder(), secret = 'first') {
  const registry = openStores({ file: join(folder, 'toolwharf.db'), secret }).registry;
  const script = scriptedSend();
  const app = await testApp({}, { registry, backends: [], send: script.send });
  onTestFinished(() => app.close());
  const ask = async (method: 'GET' | 'POST' | 'PUT' | 'PATCH', url: string, payload?: object) => {
    const answer = await app.server.inject({ method, url, headers: { host: '127.0.0.1:8080' }, ...(payload && { payload }) });
    return { status: answer.statusCode, body: answer.json<JsonObject>() };
  };
  const stored = async (): Promise<ToolServerRecord | undefined> => (await registry.listToolServers('all')).find(({ id }) => id === 'maps');
  /** Every canary that is kept, or was sent anywhere but to where it was given for. */
  const canaries = async (): Promise<string[]> => {
    const elsewhere = script.requests.filter(({ url }) => !url.startsWith('http://maps.test/'));
    return JSON.stringify([await stored(), elsewhere]).match(/canary-[a-z]+/g) ?? [];
  };
  return { app, ask, stored, canaries, folder, registry };
}

const places = [
  ['another host', 'http://elsewhere.test/v1'],
  ['another port', 'http://maps.test:8081/v1'],
  ['another scheme', 'https://maps.test/v1'],
  ['a host that begins alike', 'http://maps.test.evil.example/v1'],
];

describe('a connection that is led to another origin', () => {
  it.each(places)('%s loses every secret by PATCH, and the report says so', async (_what, url) => {
    const { ask, canaries, stored } = await gateway();
    await ask('POST', '/api/tool-servers', connection);
    const { status, body } = await ask('PATCH', '/api/tool-servers/maps', { url });
    expect(status).toBe(200);
    expect(await canaries()).toEqual([]);
    expect(await stored()).toMatchObject({
      url,
      path: 'openapi.json?v=2',
      authType: 'bearer',
      tags: ['a'],
      extra: { color: 'green', sso: { client_id: 'public-id' }, config: { needs_approval: true } },
    });
    const { warnings } = body['report'] as { warnings: string[] };
    const said = warnings.find((warning) => warning.includes('another origin')) ?? '';
    for (const name of secretNames) expect(said).toContain(name);
  });

  it('keeps what is given for the new one', async () => {
    const { ask, canaries, stored } = await gateway();
    await ask('POST', '/api/tool-servers', connection);
    const change = { url: 'http://elsewhere.test', key: 'new-key', headers: { 'X-Token': 'new-header' } };
    const { body } = await ask('PATCH', '/api/tool-servers/maps', change);
    expect(await stored()).toMatchObject({ key: 'new-key', headers: { 'X-Token': 'new-header' } });
    expect(await canaries()).toEqual([]);
    const said = (body['report'] as { warnings: string[] }).warnings.join();
    expect(said).toContain('headers.x-tenant');
    expect(said).not.toMatch(/headers\.x-token|\bkey\b/i);
  });

  it.each([
    ['PUT', '/api/tool-servers'],
    ['POST', '/api/v1/configs/tool_servers'],
  ] as const)('loses them by %s %s of the whole list too, as it was shown', async (method, path) => {
    const { ask, app, canaries, stored } = await gateway();
    await ask('POST', '/api/tool-servers', { ...connection, path: 'openapi.json', config: {} });
    const shown = JSON.stringify((await ask('GET', path)).body).replaceAll('http://maps.test', 'http://elsewhere.test');
    const { status, body } = await ask(method, path, JSON.parse(shown) as object);
    expect(status).toBe(200);
    expect(await stored()).toMatchObject({ url: 'http://elsewhere.test/v1', headers: {} });
    expect(await canaries()).toEqual([]);
    const said = method === 'PUT' ? JSON.stringify(body) : app.logLines.join('');
    expect(said).toContain('another origin');
    expect(said).toContain('headers.x-token');
  });

  it('gets no secret by a mask that stands for one', async () => {
    const { ask, stored } = await gateway();
    await ask('POST', '/api/tool-servers', connection);
    const before = await stored();
    const masked = [
      { url: 'http://elsewhere.test', path: 'openapi.json?api_key=[secret]&v=2' },
      { path: 'http://elsewhere.test/openapi.json?api_key=[secret]' },
      { path: '//elsewhere.test/openapi.json?api_key=[secret]', url: 'http://elsewhere.test' },
      { url: 'http://elsewhere.test', config: { webhook: 'https://hook.test/call?api_key=[secret]' } },
    ];
    for (const change of masked) expect((await ask('PATCH', '/api/tool-servers/maps', change)).status).toBe(400);
    expect(await stored()).toEqual(before);
  });

  it.each([
    { type: 'mcp' },
    { auth_type: 'query' },
    { base_path: '/v2' },
    { url: 'http://maps.test/v2' },
    { url: 'HTTP://MAPS.test:80/v1' },
  ])('is none with %j: the origin stays, and so do they', async (change) => {
    const { ask, stored } = await gateway();
    await ask('POST', '/api/tool-servers', connection);
    expect((await ask('PATCH', '/api/tool-servers/maps', change)).status).toBe(200);
    expect(await stored()).toMatchObject({ key: 'canary-key', headers: connection.headers, path: connection.path });
  });

  it('loses those that cannot be read just now, and does not find them again', async () => {
    const { ask, folder, app } = await gateway();
    await ask('POST', '/api/tool-servers', connection);
    await app.close();
    const other = await gateway(folder, 'second');
    expect((await other.ask('PATCH', '/api/tool-servers/maps', { url: 'http://elsewhere.test' })).status).toBe(200);
    await other.registry.close();
    const again = await gateway(folder, 'first');
    expect(await again.canaries()).toEqual([]);
    expect(await again.stored()).toMatchObject({ url: 'http://elsewhere.test', headers: {} });
  });

  it('whose document lies elsewhere keeps the secret of that address', async () => {
    const { ask, stored } = await gateway();
    await ask('POST', '/api/tool-servers', { ...connection, path: 'https://docs.test/maps.json?token=canary-document' });
    await ask('PATCH', '/api/tool-servers/maps', { url: 'http://elsewhere.test' });
    expect(await stored()).toMatchObject({ path: 'https://docs.test/maps.json?token=canary-document' });
  });
});
