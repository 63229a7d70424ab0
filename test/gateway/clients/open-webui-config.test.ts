import { expect, it } from 'vitest';
import { toolServerRecord } from '../../storage/registry-contract.ts';
import { adminApp } from '../tool-servers/tool-server-fixture.ts';

const path = '/api/v1/configs/tool_servers';

/** As Open WebUI's settings page sends a connection. */
const connection = {
  url: 'http://maps.test',
  path: 'openapi.json',
  type: 'openapi',
  auth_type: 'bearer',
  headers: null,
  key: 'secret-1',
  config: { enable: true, function_name_filter_list: 'route,!place', access_control: null },
  info: { id: '', name: 'Maps', description: 'Ways' },
  spec_type: 'url',
  spec: '',
};

it('the list has the shape of Open WebUI, with every key empty', async () => {
  await using app = await adminApp({ fixed: [toolServerRecord({ id: 'clock', url: 'http://clock.test', key: 'file-key' })] });
  const { status, body } = await app.ask('POST', path, { TOOL_SERVER_CONNECTIONS: [connection] });
  expect(status).toBe(200);
  expect(body).toEqual((await app.ask('GET', path)).body);
  expect(Object.keys(body)).toEqual(['TOOL_SERVER_CONNECTIONS']);
  expect(body.TOOL_SERVER_CONNECTIONS).toHaveLength(2);
  expect(body.TOOL_SERVER_CONNECTIONS[1]).toEqual({
    url: 'http://maps.test',
    path: 'openapi.json',
    type: 'openapi',
    auth_type: 'bearer',
    headers: {},
    key: '',
    config: { enable: true, default: true, function_name_filter_list: 'route,!place', tags: [] },
    info: { id: 'clocks', name: 'Maps', description: 'Ways' },
    spec_type: 'url',
    origin: 'database',
  });
  expect((await app.ask('GET', '/api/tools')).body.data.map(({ id }: { id: string }) => id)).toContain('clocks/route');
});

it('a key that is left out or empty is kept for the same address, and taken away with auth_type "none"', async () => {
  await using app = await adminApp();
  const post = async (...entries: object[]): Promise<unknown> => app.ask('POST', path, { TOOL_SERVER_CONNECTIONS: entries });
  const keys = async (): Promise<unknown[]> => (await app.registry.listToolServers()).map(({ id, key }) => [id, key]);
  const { key: _key, ...withoutKey } = connection;
  await post(connection);
  await post({ ...connection, key: '', url: 'http://maps.test/' });
  expect(await keys()).toEqual([['clocks', 'secret-1']]);
  await post(withoutKey);
  expect(await keys()).toEqual([['clocks', 'secret-1']]);
  await post({ ...withoutKey, info: { id: 'better' } });
  expect(await keys()).toEqual([['better', 'secret-1']]);
  await post(withoutKey, { ...connection, key: 'secret-2', info: { id: 'better' } });
  expect(await keys()).toEqual([
    ['maps-test', undefined],
    ['better', 'secret-2'],
  ]);
  await post({ ...withoutKey, url: 'http://elsewhere.test' });
  expect(await keys()).toEqual([['elsewhere-test', undefined]]);
  await post(connection);
  await post({ ...connection, key: '', auth_type: 'none' });
  expect(await keys()).toEqual([['clocks', undefined]]);
});

it('verifying gives the functions as specs', async () => {
  await using app = await adminApp();
  const { status, body } = await app.ask('POST', `${path}/verify`, connection);
  expect(status).toBe(200);
  expect(body).toMatchObject({ status: true, ok: true, version: '3.1.0', info: { title: 'Clocks' } });
  expect(body.specs).toEqual([{ name: 'route', description: 'Does route', parameters: expect.any(Object) }]);
  expect(await app.registry.listToolServers()).toEqual([]);
});

it.each<[string, unknown, RegExp]>([
  [`${path}/verify`, { ...connection, path: 'nowhere.json' }, /Failed to connect to the tool server: .*404/],
  [`${path}/verify`, { ...connection, url: 'nowhere' }, /url/],
  [path, { TOOL_SERVER_CONNECTIONS: [{ ...connection, url: 7 }] }, /0\.url/],
  [path, { TOOL_SERVER_CONNECTIONS: 'none' }, /TOOL_SERVER_CONNECTIONS/],
  [path, [], /TOOL_SERVER_CONNECTIONS/],
])('%s answers a failure with its reason as detail, and as an error', async (url, given, reason) => {
  await using app = await adminApp();
  const { status, body } = await app.ask('POST', url, given);
  expect(status).toBe(400);
  expect(body.detail).toMatch(reason);
  expect(body.error.message).toBe(body.detail);
});

it('a list of too many tool servers is refused before any of their documents is asked for', async () => {
  await using app = await adminApp();
  const entries = Array.from({ length: 1_001 }, (_, index) => ({ url: `http://maps.test/${index}` }));
  for (const [method, url, body] of [
    ['POST', path, { TOOL_SERVER_CONNECTIONS: entries }],
    ['PUT', '/api/tool-servers', entries],
  ] as const) {
    const { status, body: refusal } = await app.ask(method, url, body);
    expect(status).toBe(400);
    expect(refusal.error).toMatchObject({ code: 'invalid_request', message: expect.stringContaining('at most 1000 tool servers') });
  }
  expect(app.script.requests).toEqual([]);
});
