import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import type { OutboundRequest } from '../../../src/core/outbound.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { listen } from '../../_support/build-app.ts';
import { directSend } from '../../_support/direct-send.ts';
import { mcpHttpServer } from '../../_support/mcp-http-server.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { documentOf, gatewayOf, serverOf } from '../gateway.ts';
import type { Gateway, GatewayOptions } from '../gateway.ts';
import { mcpRecord } from '../../tools/mcp/mcp-fixture.ts';
import { textResult, toolOf } from '../../tools/mcp/scripted-peer.ts';
import { jsonResponse } from '../../tools/scripted-send.ts';
import { waitFor } from '../../_support/wait-for.ts';

const adminKey = 'sk-tw-fixed-administrator';
const document = documentOf({ look: { type: 'object', properties: {} } });
const forwardedHeaders = ['x-tenant', 'x-session-token'];
const shop = serverOf('shop', document, { forwardedHeaders });
const answers = { 'http://shop.test/look': { seen: true } };
const tenant = { 'x-tenant': 'acme', 'x-session-token': 'CANARY-session-token', 'x-other': 'CANARY-other' };

async function shopGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const environment = { TOOLWHARF_ADMIN_KEY: adminKey, ...options.environment };
  const gateway = await gatewayOf({ servers: [shop], answers, ...options, environment });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  return gateway;
}

interface Posted {
  status: number;
  body: JsonObject;
}

async function post({ app }: Gateway, url: string, payload: object, headers: Record<string, string> = {}): Promise<Posted> {
  const response = await app.server.inject({ method: 'POST', url, headers: { 'x-api-key': adminKey, ...headers }, payload });
  const isJson = response.headers['content-type']?.includes('json') === true;
  return { status: response.statusCode, body: isJson ? response.json<JsonObject>() : {} };
}

const question = { model: 'model', messages: [{ role: 'user', content: 'Look' }] };
const twoTurns = (): ScriptStep[][] => [calls(['look', {}]), says('Seen.')];
const sentTo = ({ sent }: Gateway): Record<string, string>[] => sent.map(({ headers = {} }: OutboundRequest) => headers);

describe('headers of the request that a connection names', () => {
  it.each([
    ['chat completions', '/v1/chat/completions', question],
    ['Messages', '/v1/messages', { ...question, max_tokens: 100 }],
    ['Responses', '/v1/responses', { model: 'model', input: 'Look' }],
    ['Ollama', '/api/chat', { ...question, stream: false }],
  ])('reach its server with a chat in %s, and no others do', async (_dialect, url, payload) => {
    const gateway = await shopGateway({ turns: twoTurns() });
    expect((await post(gateway, url, payload, tenant)).status).toBe(200);
    const [headers = {}] = sentTo(gateway);
    expect(headers).toMatchObject({ 'x-tenant': 'acme', 'x-session-token': 'CANARY-session-token' });
    expect(JSON.stringify(headers)).not.toMatch(/CANARY-other|fixed-administrator/);
  });

  it('reach it with single calls', async () => {
    const gateway = await shopGateway();
    await post(gateway, '/api/tools/shop/look/invoke', {}, tenant);
    await post(gateway, '/api/tools/look/call', {}, tenant);
    const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'look', arguments: {} } };
    await post(gateway, '/mcp', rpc, { ...tenant, accept: 'application/json, text/event-stream' });
    expect(sentTo(gateway).map((headers) => headers['x-tenant'])).toEqual(['acme', 'acme', 'acme']);
  });

  it('reach it from the request that opened the socket', async () => {
    const gateway = await shopGateway({ turns: twoTurns() });
    const socket = new WebSocket(`${(await listen(gateway.app)).replace('http', 'ws')}/ws`, ['toolwharf.v1', `bearer.${adminKey}`], {
      headers: tenant,
    });
    onTestFinished(() => socket.terminate());
    socket.on('message', (data: Buffer) => {
      const { type } = JSON.parse(data.toString()) as { type: string };
      if (type === 'session') socket.send(JSON.stringify({ type: 'message', content: 'Look', model: 'model' }));
    });
    await waitFor(() => expect(sentTo(gateway)).toHaveLength(1));
    expect(sentTo(gateway)).toMatchObject([{ 'x-tenant': 'acme' }]);
  });

  it('reach an MCP server with each call, and no result shows a credential among them', async () => {
    const mcp = await mcpHttpServer([toolOf('look')], { onCall: () => textResult('got CANARY-session-token of acme') });
    const gateway = await shopGateway({ servers: [mcpRecord({ id: 'shop', url: mcp.url, forwardedHeaders })], send: directSend });
    const { body } = await post(gateway, '/api/tools/shop/look/invoke', {}, tenant);
    expect(body['result']).toBe('got [secret] of acme');
    expect(mcp.requests.find(({ rpc }) => rpc === 'tools/call')?.headers).toMatchObject({ 'x-tenant': 'acme' });
    await post(gateway, '/api/tools/shop/look/invoke', {}, { 'x-tenant': 'other' });
    expect(mcp.requests.filter(({ rpc }) => rpc === 'tools/call').map(({ headers }) => headers['x-tenant'])).toEqual(['acme', 'other']);
  });

  it('stand in no result of an OpenAPI server that repeats them', async () => {
    const gateway = await shopGateway({
      answers: { 'http://shop.test/look': async ({ headers }) => jsonResponse({ headers: headers ?? {} }) },
    });
    const { body } = await post(gateway, '/api/tools/shop/look/invoke', {}, tenant);
    expect(body['result']).toMatchObject({ headers: { 'x-tenant': 'acme', 'x-session-token': '[secret]' } });
  });

  it('yield to the headers and the credential of the connection', async () => {
    const record = {
      ...shop,
      headers: { 'X-Tenant': 'fixed' },
      authType: 'header' as const,
      authName: 'x-session-token',
      key: 'CANARY-key',
    };
    const gateway = await shopGateway({ servers: [record] });
    await post(gateway, '/api/tools/shop/look/invoke', {}, tenant);
    expect(sentTo(gateway)).toEqual([expect.objectContaining({ 'x-tenant': 'fixed', 'x-session-token': 'CANARY-key' })]);
  });

  it('never name the person behind a key, whatever header the key reads', async () => {
    const gateway = await shopGateway({ servers: [{ ...shop, forwardedHeaders: ['x-tenant', 'x-who', 'x-who-name'] }] });
    const users = { from: 'header', name: 'X-Who', name_header: 'x-who-name' };
    const { body } = await post(gateway, '/api/keys', { name: 'frontend', role: 'user', users });
    const asked = { 'x-api-key': String(body['key']), 'x-who': 'ada', 'x-who-name': 'Ada', ...tenant };
    await post(gateway, '/api/tools/shop/look/invoke', {}, asked);
    const [headers = {}] = sentTo(gateway);
    expect([headers['x-tenant'], headers['x-who'], headers['x-who-name']]).toEqual(['acme', undefined, undefined]);
  });

  it('come from the request that resumes a run, because none are kept', async () => {
    const record = { ...shop, extra: { config: { needs_approval: true } } };
    const gateway = await shopGateway({ servers: [record], turns: twoTurns() });
    const asked = await post(gateway, '/v1/chat/completions', question, tenant);
    const { run_id: run, calls: [waiting] = [] } = asked.body['approval'] as { run_id: string; calls?: { id: string; token: string }[] };
    const decision = { decision: 'approve', token: waiting?.token };
    await post(gateway, `/api/runs/${run}/approvals/${waiting?.id}`, decision, { 'x-tenant': 'later' });
    expect(sentTo(gateway).map((headers) => [headers['x-tenant'], headers['x-session-token']])).toEqual([['later', undefined]]);
  });
});

describe('the field forward_headers', () => {
  const connection = { id: 'shop', url: 'http://shop.test', spec: document };

  it('is shown, changed and removed', async () => {
    const gateway = await shopGateway({ servers: [] });
    const created = await post(gateway, '/api/tool-servers', { ...connection, forward_headers: ['X-Tenant', 'x-tenant'] });
    expect([created.status, created.body['forward_headers']]).toEqual([201, ['x-tenant']]);
    const patch = async (forwarded: string[] | null): Promise<unknown> =>
      (
        await gateway.app.server.inject({
          method: 'PATCH',
          url: '/api/tool-servers/shop',
          headers: { 'x-api-key': adminKey },
          payload: { forward_headers: forwarded },
        })
      ).json<JsonObject>()['forward_headers'];
    expect(await patch(['traceparent'])).toEqual(['traceparent']);
    expect(await patch(null)).toBeUndefined();
  });

  it.each([
    'Authorization',
    'x-api-key',
    'Cookie',
    'proxy-authorization',
    'X-OpenWebUI-User-Id',
    'Host',
    'Content-Length',
    'Connection',
    'mcp-session-id',
    'no header',
  ])('refuses %s, and says why', async (name) => {
    const gateway = await shopGateway({ servers: [] });
    const { status, body } = await post(gateway, '/api/tool-servers', { ...connection, forward_headers: [name] });
    expect(status).toBe(400);
    expect((body['error'] as JsonObject)['param']).toMatch(/^forward_headers/);
  });
});
