import { expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { testApp } from '../../_support/build-app.ts';

const document = {
  openapi: '3.1.0',
  info: { title: 'Cities', version: '1' },
  paths: {
    '/cities': {
      get: { operationId: 'list_cities', tags: ['public'], description: 'Lists the cities.', responses: {} },
      delete: { operationId: 'delete_cities', tags: ['admin'], description: 'Deletes all.', responses: {} },
    },
  },
};
const server = { id: 'cities', url: 'http://cities.test', spec: document };

async function gateway() {
  const app = await testApp({}, { backends: [] });
  onTestFinished(() => app.close());
  return async (url: string, payload: object, method: 'POST' | 'PATCH' = 'POST') => {
    const answer = await app.server.inject({ method, url, headers: { host: '127.0.0.1:8080' }, payload });
    return { status: answer.statusCode, body: answer.json<JsonObject>() };
  };
}

it.each([
  ['needs_approval', ['*']],
  ['needs_approval', ['list_cities', 'delete_*']],
  ['function_name_filter_list', ['!*']],
  ['function_name_filter_list', ['list_cities', ' !delete_*']],
  ['function_name_filter_list', '!delete_*,list_cities'],
  ['function_name_filter_list', ['!file:///secret/*']],
  ['tags', ['!adm*']],
])('refuses the pattern in %s %j of registered servers and of servers in requests', async (field, value) => {
  const send = await gateway();
  const config = { [field]: value };
  const refused = (param: string) => ({
    status: 400,
    body: { error: { param, message: expect.stringMatching(/whole (functions|names).*pattern/) } },
  });
  expect(await send('/api/tool-servers', { ...server, config })).toMatchObject(refused(`config.${field}`));
  await send('/api/tool-servers', server);
  expect(await send('/api/tool-servers/cities', { config }, 'PATCH')).toMatchObject(refused(`config.${field}`));
  const asked = { model: 'demo', messages: [{ role: 'user', content: 'Hi' }], tool_servers: [{ url: 'http://cities.test', config }] };
  expect(await send('/v1/chat/completions', asked)).toMatchObject(refused(`tool_servers.0.config.${field}`));
});

it('refuses a pattern in the needs_approval of a preset', async () => {
  const send = await gateway();
  const preset = { id: 'careful', base_model: 'demo', needs_approval: ['*'] };
  expect(await send('/api/presets', preset)).toMatchObject({ status: 400, body: { error: { param: 'needs_approval' } } });
});

it('accepts names, templates of URIs, and patterns that allow, which let nothing through', async () => {
  const send = await gateway();
  const config = { needs_approval: ['delete_cities'], function_name_filter_list: ['list_*', '!file:///{+path*}'] };
  const { status, body } = await send('/api/tool-servers', { ...server, config });
  expect([status, body['report']]).toMatchObject([201, { functions: [], omitted: [{}, {}] }]);
});

it('reports names and tags that block nothing', async () => {
  const send = await gateway();
  const warningsWith = async (id: string, config: object) => (await send('/api/tool-servers', { ...server, id, config })).body['report'];
  expect(await warningsWith('misspelt', { function_name_filter_list: ['!delete_citys'], tags: ['!amdin'] })).toMatchObject({
    warnings: [
      'function_name_filter_list has "!delete_citys", which blocks nothing on this server. Correct the name.',
      'tags has "!amdin", which blocks nothing on this server. Correct the name.',
    ],
  });
  expect(await warningsWith('right', { function_name_filter_list: ['!delete_cities'], tags: ['!admin'] })).toMatchObject({ warnings: [] });
});
