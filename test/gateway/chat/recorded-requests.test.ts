import { describe, expect, it, onTestFinished } from 'vitest';
import { OutboundError } from '../../../src/core/errors.ts';
import type { ToolServerRecord } from '../../../src/core/stores/registry.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { directSend } from '../../_support/direct-send.ts';
import { mcpHttpServer } from '../../_support/mcp-http-server.ts';
import { outboundBody } from '../../_support/outbound-body.ts';
import { documentOf, gatewayOf, serverOf } from '../gateway.ts';
import type { Gateway, GatewayOptions } from '../gateway.ts';
import { callTool, mcpTools, mcpRecord, requireTool } from '../../tools/mcp/mcp-fixture.ts';
import { scriptedPeer, textResult, toolOf } from '../../tools/mcp/scripted-peer.ts';
import { jsonResponse } from '../../tools/scripted-send.ts';
import { recordedBodyCharacters } from '../../../src/tools/outgoing/record-requests.ts';

const adminKey = 'sk-tw-fixed-administrator';
const schema = { type: 'object', properties: { city: { type: 'string' } } };
const maps = serverOf('maps', documentOf({ route: schema }));

interface Recorded {
  method?: string;
  url?: string;
  headers?: Record<string, string>;
  body?: string;
  body_encoding?: string;
  truncated?: true;
  answer?: Recorded & { status?: number };
  failure?: string;
}

async function invoke(
  options: GatewayOptions,
  { body = {}, headers = {}, key = adminKey }: { body?: JsonObject; headers?: Record<string, string>; key?: string } = {},
): Promise<{ status: number; body: JsonObject; requests: Recorded[]; text: string; gateway: Gateway }> {
  const environment = { TOOLWHARF_ADMIN_KEY: adminKey, ...options.environment };
  const gateway = await gatewayOf({ servers: [maps], ...options, environment });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const answer = await gateway.app.server.inject({
    method: 'POST',
    url: '/api/tools/route/invoke',
    headers: { 'x-api-key': key, ...headers },
    payload: { record_requests: true, ...body },
  });
  const json = answer.json<JsonObject>();
  return { status: answer.statusCode, body: json, requests: (json['requests'] ?? []) as Recorded[], text: answer.body, gateway };
}

const answers: GatewayOptions['answers'] = { 'http://maps.test/route': { way: 'north' } };

describe('record_requests', () => {
  it('shows the request of a call and its answer beside the result', async () => {
    const { body, requests, gateway } = await invoke({ answers }, { body: { arguments: { city: 'Osl\u00f8' } } });
    expect(body['result']).toEqual({ way: 'north' });
    expect(requests).toEqual([
      {
        method: 'POST',
        url: 'http://maps.test/route',
        headers: { accept: expect.any(String), 'content-type': 'application/json' },
        body: '{"city":"Osl\u00f8"}',
        answer: { status: 200, headers: { 'content-type': 'application/json' }, body: '{"way":"north"}' },
      },
    ]);
    expect(gateway.sent.at(-1)?.body).toBe(requests[0]?.body);
  });

  it('is not there unless it is asked for', async () => {
    expect((await invoke({ answers }, { body: { record_requests: false } })).body).not.toHaveProperty('requests');
  });

  it('shows an error of the server word by word', async () => {
    const refused = { 'http://maps.test/route': async () => jsonResponse({ detail: 'No such city' }, 422) };
    const { body, requests } = await invoke({ answers: refused });
    expect(body['error']).toMatchObject({ code: 'tool_error' });
    expect(requests).toMatchObject([{ answer: { status: 422, body: '{"detail":"No such city"}' } }]);
  });

  it('says why there is no answer, and has none where nothing was sent', async () => {
    const gone = { 'http://maps.test/route': new OutboundError('unreachable', 'maps.test cannot be reached.') };
    const { requests } = await invoke({ answers: gone });
    expect(requests.at(-1)).toMatchObject({ url: 'http://maps.test/route', failure: 'maps.test cannot be reached.' });
    const wrong = await invoke({ answers }, { body: { arguments: { city: { not: 'a text' } } } });
    expect([wrong.status, wrong.body['requests']]).toEqual([400, []]);
  });

  it('is for those who may see the addresses of tool servers', async () => {
    const { gateway } = await invoke({ answers });
    const post = (url: string, payload: object, key: string) =>
      gateway.app.server.inject({ method: 'POST', url, headers: { 'x-api-key': key }, payload });
    const user = (await post('/api/keys', { name: 'frontend', role: 'user' }, adminKey)).json<{ key: string }>().key;
    const invoked = await post('/api/tools/route/invoke', { record_requests: true }, user);
    expect([invoked.statusCode, invoked.json()]).toMatchObject([403, { error: { code: 'forbidden' } }]);
    expect(invoked.body).not.toContain('maps.test');
    expect((await post('/api/tools/route/invoke', {}, user)).statusCode).toBe(200);
    const odd = await post('/api/tools/route/invoke', { record_requests: 'yes' }, adminKey);
    expect([odd.statusCode, odd.json()]).toMatchObject([400, { error: { param: 'record_requests' } }]);
  });

  it('shows the beginning of long bodies, and bytes in base64', async () => {
    const long = 'x'.repeat(recordedBodyCharacters + 100_000);
    const text = await invoke({ answers: { 'http://maps.test/route': { long } } }, { body: { arguments: { city: long } } });
    expect(text.requests).toMatchObject([{ truncated: true, answer: { truncated: true } }]);
    expect(text.requests[0]?.body).toHaveLength(recordedBodyCharacters);
    expect(text.requests[0]?.answer?.body).toHaveLength(recordedBodyCharacters);
    async function* bytes(): AsyncGenerator<Uint8Array> {
      yield Uint8Array.of(0x89, 0x50, 0, 0xff);
    }
    const image = async () => ({ status: 200, headers: { 'content-type': 'image/png' }, body: outboundBody(bytes()) });
    const { requests } = await invoke({ answers: { 'http://maps.test/route': image } });
    expect(requests[0]?.answer).toMatchObject({ body: 'iVAA/w==', body_encoding: 'base64' });
  });
});

describe('no secret is in a recorded request', () => {
  const echo: GatewayOptions['answers'] = {
    'http://maps.test/route': async ({ url, headers = {} }) => ({
      ...jsonResponse({ url, headers }),
      headers: { 'content-type': 'application/json', 'set-cookie': 'session=CANARY-session', 'x-echo': Object.values(headers).join(' ') },
    }),
  };
  const withKey = { ...maps, key: 'CANARY-key' };

  it.each<[string, Partial<ToolServerRecord>, Recorded]>([
    ['a bearer key', { ...withKey, authType: 'bearer' }, { headers: { authorization: 'Bearer [secret]' } }],
    ['a password', { ...withKey, authType: 'basic', key: 'ada:CANARY-password' }, { headers: { authorization: 'Basic [secret]' } }],
    ['a key in a header', { ...withKey, authType: 'header', authName: 'X-Api-Key' }, { headers: { 'x-api-key': '[secret]' } }],
    ['a key in the query', { ...withKey, authType: 'query', authName: 'api key' }, { url: 'http://maps.test/route?api%20key=[secret]' }],
    ['a short key in the query', { ...withKey, authType: 'query', key: 'CAN' }, { url: 'http://maps.test/route?api_key=[secret]' }],
    ['a header of the connection', { headers: { 'X-Tenant': 'CANARY-tenant' } }, { headers: { 'x-tenant': '[secret]' } }],
    ['a session token', { authType: 'session' }, { headers: { authorization: 'Bearer [secret]' } }],
    ['a header that is forwarded', { forwardedHeaders: ['x-who'] }, { headers: { 'x-who': '[secret]' } }],
  ])('%s', async (_what, fields, expected) => {
    const { requests } = await invoke({ servers: [{ ...maps, ...fields }], answers: echo }, { headers: { 'x-who': 'CANARY-who' } });
    expect(requests).toMatchObject([expected]);
    expect(requests[0]?.answer?.headers).toMatchObject({ 'set-cookie': '[secret]' });
    expect(requests[0]?.answer?.body).toContain('maps.test');
    expect(JSON.stringify(requests)).not.toContain('CANARY');
  });

  it('a credential of one person', async () => {
    const server = { ...maps, authType: 'bearer', isPerUser: true } satisfies ToolServerRecord;
    const { gateway } = await invoke({ servers: [server], answers: echo });
    const send = (method: 'PUT' | 'POST', url: string, payload: object) =>
      gateway.app.server.inject({ method, url, headers: { 'x-api-key': adminKey }, payload });
    expect((await send('PUT', '/api/credentials/maps', { key: 'CANARY-own' })).statusCode).toBe(200);
    const { body } = await send('POST', '/api/tools/route/invoke', { record_requests: true });
    expect(JSON.parse(body)).toMatchObject({ requests: [{ headers: { authorization: 'Bearer [secret]' } }] });
    expect(body).not.toContain('CANARY');
  });

  it('one that is cut where the recording of a body ends', async () => {
    const key = `CANARY${'k'.repeat(2_000)}`;
    const server = { ...maps, authType: 'bearer', key } satisfies ToolServerRecord;
    for (const before of [recordedBodyCharacters - 8, recordedBodyCharacters + 32 * 1024 - 8]) {
      const long = { 'http://maps.test/route': { a: 'x'.repeat(before), key } };
      const { text } = await invoke({ servers: [server], answers: long });
      expect(JSON.stringify((JSON.parse(text) as JsonObject)['requests'])).not.toContain('CANARY');
    }
  });
});

describe('a function of an MCP server', () => {
  it('is recorded with the request over HTTP and the message in it', async () => {
    const mcp = await mcpHttpServer([toolOf('route')], { onCall: () => textResult('north, CANARY-key'), hasSessions: true });
    const server = mcpRecord({ id: 'maps', url: `${mcp.url}?token=CANARY-token`, authType: 'bearer', key: 'CANARY-key' });
    const { body, requests, text } = await invoke({ servers: [server], send: directSend }, { body: { arguments: {} } });
    expect(body['result']).toBe('north, [secret]');
    expect(requests).toMatchObject([
      {
        method: 'POST',
        url: `${mcp.url}?token=[secret]`,
        headers: { authorization: 'Bearer [secret]', 'mcp-session-id': '[secret]' },
        answer: { status: 200 },
      },
    ]);
    expect(JSON.parse(requests[0]?.body ?? '')).toMatchObject({ jsonrpc: '2.0', method: 'tools/call', params: { name: 'route' } });
    expect(requests[0]?.answer?.body).toContain('north, [secret]');
    expect(text).not.toContain('CANARY');
  });

  it('is recorded as messages over a pipe', async () => {
    const mcp = mcpTools({ transports: scriptedPeer([toolOf('route')]).transports });
    const recordedRequests: NonNullable<Parameters<typeof callTool>[1]>['run'] & object = { recordedRequests: [] };
    await callTool(await requireTool(mcp, 'route'), { run: recordedRequests });
    const [recorded, ...others] = recordedRequests.recordedRequests ?? [];
    expect(others).toEqual([]);
    expect(JSON.parse(recorded?.body?.text ?? '')).toMatchObject({ method: 'tools/call', params: { name: 'route' } });
    expect(JSON.parse(recorded?.answer?.readBody()?.text ?? '')).toMatchObject({ result: { content: [{ text: 'route done' }] } });
  });
});
