import { expect, it } from 'vitest';
import { passedPaths } from '../../../src/core/models/pass-on.ts';
import { routeRoles } from '../../../src/http/auth/route-roles.ts';
import { undescribedRoutes } from '../../../src/http/routes/gateway/described-routes.ts';
import type { JsonObject, JsonValue } from '../../../src/shared/json/json.ts';
import { answerChecker } from '../../_support/check-answers.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { answerOf, documentOf, gatewayOf, serverOf } from '../../gateway/gateway.ts';

const adminKey = 'sk-tw-fixed-administrator';
const body = { type: 'object', properties: { amount: { type: 'integer' } }, required: ['amount'] };
const bank = serverOf('bank', documentOf({ pay: body, look: body }), { extra: { config: { needs_approval: ['pay'] } } });
const mail = serverOf('mail', documentOf({ read: body }), { authType: 'bearer', isPerUser: true });
const messages = [{ role: 'user', content: 'Pay.' }];
const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };

it('answers are as the document says, on every route', async () => {
  await using gateway = await gatewayOf({
    servers: [bank, mail],
    answers: {
      'http://bank.test/look': answerOf('{"balance":7}'),
      'http://bank.test/pay': { paid: true },
      'http://new.test/openapi.json': documentOf({ fresh: body }),
    },
    environment: { TOOLWHARF_ADMIN_KEY: adminKey, STORE_CHATS: 'true', CONSOLE_CHATS: 'true', TOOLWHARF_DEMO: 'false' },
    turns: [
      says('Fine.'),
      says('Fine.'),
      says('Fine.'),
      says('Fine.'),
      [{ type: 'reasoning', text: 'Hm.' }, { type: 'usage', usage }, ...calls(['look', { amount: 1 }])],
      says('Seven.'),
      calls(['look', { amount: 1 }]),
      says('Seven.'),
      calls(['caller_function', {}]),
      calls(['pay', { amount: 1 }], ['pay', { amount: 2 }]),
      says('Paid.'),
      calls(['read', { amount: 1 }]),
      says('Read.'),
      [new Error('broken')],
      [{ type: 'usage', usage }, ...calls(['look', { amount: 1 }])],
      says('Seven.'),
      says('Seven.'),
      says('Hello.'),
      calls(['pay', { amount: 3 }]),
    ],
  });
  const { server } = gateway.app;
  const check = answerChecker((await server.inject({ url: '/openapi.json' })).json<JsonObject>());
  const seen = new Set<string>();
  const faults: string[] = [];

  /** `url`: the path of the document filled in, where it has parameters or a query. */
  async function call(route: string, { url, payload, key = adminKey, headers = {} }: Sent = {}): Promise<JsonObject & { status: number }> {
    const [method = '', path = ''] = route.split(' ', 2);
    const authorization = key === '' ? {} : { authorization: `Bearer ${key}` };
    const sent = { method: method as 'GET', url: url ?? path, headers: { ...authorization, ...headers }, ...(payload && { payload }) };
    const answer = await server.inject(sent);
    seen.add(route);
    faults.push(...check(route, answer));
    const isJson = String(answer.headers['content-type']).startsWith('application/json');
    return { ...(isJson ? answer.json<JsonObject>() : {}), status: answer.statusCode };
  }

  for (const path of ['/', '/health', '/ready', '/client.js', '/.well-known/jwks.json', '/openapi.json'])
    expect((await call(`GET ${path}`, { key: '' })).status).toBe(200);
  for (const path of [
    '/api/version',
    '/api/caller',
    '/api/settings',
    '/api/doctor',
    '/metrics',
    '/v1/models',
    '/api/models',
    '/api/v1/models',
    '/api/tools',
    '/api/tags',
    '/api/ps',
  ])
    expect((await call(`GET ${path}`)).status).toBe(200);
  await call('GET /ws');
  await call('GET /v1/responses');
  await call('GET /api/settings', { key: '' });
  const anthropic = { headers: { 'anthropic-version': '2023-06-01' } };
  await call('GET /v1/models', anthropic);
  expect((await call('GET /v1/models', { url: '/v1/models?limit=1001', ...anthropic })).status).toBe(400);
  expect((await call('POST /mcp')).status).toBe(415);
  await call('GET /v1/models/{id}', { url: '/v1/models/model' });
  await call('GET /v1/models/{id}', { url: '/v1/models/model', ...anthropic });
  expect((await call('GET /v1/models/{id}', { url: '/v1/models/none' })).status).toBe(404);
  for (const path of passedPaths) await call(`POST /v1${path}`, { payload: { model: 'none', input: 'x' } });

  expect((await call('POST /api/show', { payload: { model: 'model' } })).status).toBe(200);
  await call('POST /api/show', { payload: { model: 'none' } });
  expect((await call('POST /api/embed', { payload: { model: 'model', input: '' } })).status).toBe(200);
  expect((await call('POST /api/embeddings', { payload: { model: 'model' } })).status).toBe(200);
  for (const path of ['pull', 'push', 'create', 'copy']) expect((await call(`POST /api/${path}`)).status).toBe(403);
  await call('DELETE /api/delete');
  for (const method of ['GET', 'POST']) await call(`${method} /api/blobs/{digest}`, { url: '/api/blobs/x' });

  const chat = { model: 'model', messages };
  expect((await call('POST /v1/completions', { payload: { model: 'model', prompt: 'Hello' } })).status).toBe(200);
  for (const stream of [true, false])
    expect((await call('POST /api/chat', { payload: { ...chat, stream, tool_ids: [] } })).status).toBe(200);
  expect((await call('POST /api/generate', { payload: { model: 'model', prompt: 'Hello', stream: false } })).status).toBe(200);
  expect((await call('POST /api/generate', { payload: { model: 'none' } })).status).toBe(404);
  const paths = ['/v1/chat/completions', '/api/chat/completions', '/api/v1/chat/completions'] as const;
  const first = await call(`POST ${paths[0]}`, {
    payload: { ...chat, store: true, metadata: { topic: 'x' }, tool_servers: [{ url: 'http://127.0.0.1:9' }] },
  });
  expect([first.status, first['sources'] === undefined]).toEqual([200, false]);
  await call(`POST ${paths[1]}`, { payload: { ...chat, stream: true } });
  const tools = [{ type: 'function', function: { name: 'caller_function', parameters: { type: 'object' } } }];
  await call(`POST ${paths[2]}`, { payload: { ...chat, tools } });
  expect((await call(`POST ${paths[0]}`, { payload: { model: 'model' } })).status).toBe(400);

  const waiting = await call(`POST ${paths[0]}`, { payload: chat });
  const { run_id: runId, calls: pending } = waiting['approval'] as { run_id: string; calls: { id: string; token: string }[] };
  const decide = 'POST /api/runs/{id}/approvals/{call_id}';
  for (const [index, { id, token }] of pending.entries()) {
    const url = `/api/runs/${runId}/approvals/${id}`;
    expect((await call(decide, { url, payload: { decision: 'approve', token } })).status).toBe(index === 0 ? 202 : 200);
  }
  const unconnected = (await call(`POST ${paths[0]}`, { payload: chat }))['connect'] as { run_id: string; token: string };
  const resume = { url: `/api/runs/${unconnected.run_id}/resume`, payload: { token: unconnected.token } };
  expect((await call('POST /api/runs/{id}/resume', resume)).status).toBe(409);
  await call('PUT /api/credentials/{server}', { url: '/api/credentials/mail', payload: { key: 'x' } });
  expect((await call('POST /api/runs/{id}/resume', resume)).status).toBe(200);
  await call('DELETE /api/credentials/{server}', { url: '/api/credentials/mail' });
  expect((await call(`POST ${paths[0]}`, { payload: chat })).status).toBe(500);

  const message = { ...chat, max_tokens: 10 };
  expect((await call('POST /v1/messages', { payload: message })).status).toBe(200);
  await call('POST /v1/messages', { payload: { ...message, stream: true } });
  expect((await call('POST /v1/messages', { payload: chat })).status).toBe(400);
  expect((await call('POST /v1/messages/count_tokens', { payload: chat })).status).toBe(200);
  expect((await call('POST /v1/messages/count_tokens', { payload: {} })).status).toBe(400);
  expect((await call('POST /v1/responses/compact', { payload: { model: 'none', input: 'Hi!' } })).status).toBe(404);
  const responses = 'POST /v1/responses';
  const response = await call(responses, { payload: { model: 'model', input: 'Hi!', tool_ids: [] } });
  expect(response.status).toBe(200);
  expect((await call(responses, { payload: { model: 'model', input: 'Pay', stream: true } })).status).toBe(200);
  expect((await call(responses, { payload: { model: 'model', input: 5 } })).status).toBe(400);

  for (const id of [String(response['id']), 'none']) {
    const status = id === 'none' ? 404 : 200;
    const url = `/v1/responses/${id}`;
    expect((await call('GET /v1/responses/{id}', { url })).status).toBe(status);
    expect((await call('GET /v1/responses/{id}', { url: `${url}?stream=true` })).status).toBe(status);
    expect((await call('GET /v1/responses/{id}/input_items', { url: `${url}/input_items` })).status).toBe(status);
    expect((await call('POST /v1/responses/{id}/cancel', { url: `${url}/cancel` })).status).toBe(id === 'none' ? 404 : 400);
    expect((await call('DELETE /v1/responses/{id}', { url })).status).toBe(status);
  }

  const storedId = String(first['id']);
  await call('GET /v1/chat/completions');
  for (const path of ['/v1/chat/completions/{id}', '/v1/chat/completions/{id}/messages']) {
    expect((await call(`GET ${path}`, { url: path.replace('{id}', storedId) })).status).toBe(200);
    expect((await call(`GET ${path}`, { url: path.replace('{id}', 'none') })).status).toBe(404);
  }
  const stored = { url: `/v1/chat/completions/${storedId}` };
  expect((await call('POST /v1/chat/completions/{id}', { ...stored, payload: { metadata: { topic: 'y' } } })).status).toBe(200);
  expect((await call('DELETE /v1/chat/completions/{id}', stored)).status).toBe(200);

  const talk = { url: '/api/console/chats/talk' };
  const talked = { title: 'Talk', updated: 1, messages: {} };
  expect((await call('PUT /api/console/chats/{id}', { ...talk, payload: { chat: talked } })).status).toBe(200);
  expect((await call('PUT /api/console/chats/{id}', { ...talk, payload: { chat: 1 } })).status).toBe(400);
  expect((await call('GET /api/console/chats')).status).toBe(200);
  expect((await call('GET /api/console/chats/export')).status).toBe(200);
  expect((await call('GET /api/console/chats/{id}', talk)).status).toBe(200);
  expect((await call('DELETE /api/console/chats/{id}', talk)).status).toBe(200);
  expect((await call('GET /api/console/chats/{id}', talk)).status).toBe(404);

  expect((await call('GET /api/runs', { url: '/api/runs?limit=2' })).status).toBe(200);
  expect((await call('GET /api/runs', { url: '/api/runs?limit=none' })).status).toBe(400);
  await call('GET /api/runs/{id}', { url: `/api/runs/${runId}` });
  await call('POST /api/runs/{id}/cancel', { url: `/api/runs/${runId}/cancel` });
  await call('POST /api/tasks/stop/{id}', { url: `/api/tasks/stop/${runId}` });
  await call('POST /api/runs/{id}/calls/{call_id}/cancel', { url: `/api/runs/${runId}/calls/none/cancel` });

  const invoke = 'POST /api/tools/{id}/invoke';
  const given = { arguments: { amount: 1 } };
  expect((await call(invoke, { url: '/api/tools/look/invoke', payload: given })).status).toBe(200);
  const recorded = await call(invoke, { url: '/api/tools/look/invoke', payload: { ...given, record_requests: true } });
  expect(recorded['requests']).toHaveLength(1);
  expect((await call(invoke, { url: '/api/tools/look/invoke', payload: {} })).status).toBe(400);
  expect((await call(invoke, { url: '/api/tools/look/invoke', payload: { amount: 1 } })).status).toBe(400);
  expect((await call(invoke, { url: '/api/tools/pay/invoke', payload: given })).status).toBe(409);
  expect((await call(invoke, { url: '/api/tools/none/invoke', payload: given })).status).toBe(404);
  expect((await call('GET /api/tools/openapi.json')).status).toBe(200);
  const run = 'POST /api/tools/{name}/call';
  expect((await call(run, { url: '/api/tools/look/call', payload: given.arguments })).status).toBe(200);
  expect((await call(run, { url: '/api/tools/look/call', payload: {} })).status).toBe(400);
  expect((await call(run, { url: '/api/tools/pay/call', payload: given.arguments })).status).toBe(409);
  expect((await call(run, { url: '/api/tools/none/call', payload: {} })).status).toBe(404);
  expect((await call('GET /api/credentials'))['data']).toHaveLength(1);
  const ofMail = { url: '/api/credentials/mail' };
  expect((await call('PUT /api/credentials/{server}', { ...ofMail, payload: {} })).status).toBe(400);
  expect((await call('PUT /api/credentials/{server}', { ...ofMail, payload: { key: 'k' } })).status).toBe(200);
  const connect = 'POST /api/credentials/{server}/connect';
  for (const [host, status] of Object.entries({ '127.0.0.1': 200, 'chat.example.com': 409 }))
    expect((await call(connect, { url: '/api/credentials/mail/connect', headers: { host } })).status).toBe(status);
  expect((await call(connect, { url: '/api/credentials/bank/connect' })).status).toBe(404);
  for (const status of [200, 404]) expect((await call('DELETE /api/credentials/{server}', ofMail)).status).toBe(status);
  for (const owner of ['keys/admin', 'users/admin/ada']) {
    const route = owner.startsWith('keys') ? 'keys/{id}' : 'users/{key}/{id}';
    expect((await call(`GET /api/${route}/credentials`, { url: `/api/${owner}/credentials` })).status).toBe(200);
    expect((await call(`DELETE /api/${route}/credentials/{server}`, { url: `/api/${owner}/credentials/mail` })).status).toBe(404);
  }
  expect((await call('GET /api/clients')).status).toBe(200);
  expect((await call('DELETE /api/clients/{id}', { url: '/api/clients/none' })).status).toBe(404);
  for (const url of ['/api/tools/mail/read/invoke', '/api/tools/read/invoke'])
    expect((await call(invoke, { url, payload: given })).status).toBe(409);
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  await call('POST /mcp', { payload: list, headers: { accept: 'application/json, text/event-stream' } });
  expect((await call('GET /mcp')).status).toBe(405);
  expect((await call('GET /mcp', { headers: { accept: 'text/event-stream', 'mcp-session-id': 'none' } })).status).toBe(404);
  await call('DELETE /mcp');

  expect((await call('POST /api/presets', { payload: { id: 'clerk', base_model: 'model', tools: ['server:none'] } })).status).toBe(201);
  await call('GET /api/presets');
  const preset = { url: '/api/presets/clerk' };
  for (const method of ['GET', 'PATCH', 'DELETE', 'GET'])
    await call(`${method} /api/presets/{id}`, { ...preset, ...(method === 'PATCH' && { payload: { name: 'Clerk' } }) });

  const { id: keyId } = await call('POST /api/keys', { payload: { name: 'root', role: 'admin', limits: { requests_per_minute: 60 } } });
  await call('GET /api/keys');
  const key = { url: `/api/keys/${String(keyId)}` };
  expect((await call('PATCH /api/keys/{id}', { ...key, payload: { expires_at: '2090-01-31' } })).status).toBe(200);
  expect((await call('PATCH /api/keys/{id}', { ...key, payload: { expires: 1 } })).status).toBe(400);
  expect((await call('DELETE /api/keys/{id}', key)).status).toBe(200);

  const fresh = { url: 'http://new.test', id: 'new', key: 'secret', headers: { 'x-token': 'secret' } };
  expect((await call('POST /api/tool-servers', { payload: fresh })).status).toBe(201);
  await call('GET /api/tool-servers');
  const one = '/api/tool-servers/{id}';
  const at = (end = ''): string => `/api/tool-servers/new${end}`;
  expect((await call(`GET ${one}`, { url: at() })).status).toBe(200);
  expect((await call(`PATCH ${one}`, { url: at(), payload: { config: { enable: true } } })).status).toBe(200);
  expect((await call(`POST ${one}/refresh`, { url: at('/refresh') })).status).toBe(200);
  await call(`POST ${one}/accept`, { url: at('/accept'), payload: { functions: { fresh: 'x' } } });
  expect((await call('POST /api/tool-servers/verify', { payload: fresh })).status).toBe(200);
  await call('POST /api/tool-servers/verify', { payload: { url: 'http://gone.test' } });
  const openWebUi = '/api/v1/configs/tool_servers';
  await call(`GET ${openWebUi}`);
  expect((await call(`POST ${openWebUi}/verify`, { payload: fresh })).status).toBe(200);
  expect((await call(`POST ${openWebUi}/verify`, { payload: { url: 'http://gone.test' } })).status).toBe(400);
  expect((await call(`POST ${openWebUi}`, { payload: { TOOL_SERVER_CONNECTIONS: [fresh] } })).status).toBe(200);
  expect((await call('PUT /api/tool-servers', { payload: { data: [fresh] } })).status).toBe(200);
  expect((await call(`DELETE ${one}`, { url: at() })).status).toBe(200);

  const lab = { id: 'lab', type: 'openai', url: 'http://gone.test/v1', key: 'secret', headers: { 'x-token': 'secret' } };
  expect((await call('POST /api/backends', { payload: lab })).status).toBe(201);
  expect((await call('POST /api/backends/verify', { payload: { ...lab, id: 'other' } })).status).toBe(200);
  expect((await call('POST /api/backends/verify', { payload: { ...lab, url: 'nowhere' } })).status).toBe(400);
  expect((await call('GET /api/backends')).status).toBe(200);
  const entry = '/api/backends/{id}';
  expect((await call(`GET ${entry}`, { url: '/api/backends/lab' })).status).toBe(200);
  const moved = { url: 'http://other.test/v1', models: ['a'] };
  expect((await call(`PATCH ${entry}`, { url: '/api/backends/lab', payload: moved })).status).toBe(200);
  expect((await call(`POST ${entry}/verify`, { url: '/api/backends/lab/verify' })).status).toBe(200);
  expect((await call(`DELETE ${entry}`, { url: '/api/backends/lab' })).status).toBe(200);

  await call('GET /api/audit', { url: '/api/audit?limit=1' });
  await call('GET /api/audit');
  await call('GET /api/usage', { url: '/api/usage?by=user' });
  await call('GET /api/usage', { url: '/api/usage?by=tool' });
  const users = { from: 'header', name: 'x-user' };
  const { id: team, key: teamKey } = await call('POST /api/keys', { payload: { name: 'team', role: 'user', users } });
  await call('GET /api/runs', { key: String(teamKey), headers: { 'x-user': 'ada' } });
  expect((await call('GET /api/users'))['data']).toHaveLength(1);
  expect((await call('DELETE /api/users/{key}/{id}', { url: `/api/users/${String(team)}/ada` })).status).toBe(200);

  expect(faults).toEqual([]);
  const patterns = [...seen].map(
    (route) => new RegExp(`^${route.replaceAll(/\{\w+\}/g, '(?::\\w+|\\*)').replace('/invoke', '')}(?:/invoke)?$`),
  );
  const unseen = Object.keys(routeRoles).filter(
    (route) => !undescribedRoutes.includes(route) && !patterns.some((pattern) => pattern.test(route)),
  );
  expect(unseen).toEqual([]);
});

interface Sent {
  url?: string;
  payload?: { [key: string]: JsonValue };
  key?: string;
  headers?: Record<string, string>;
}
