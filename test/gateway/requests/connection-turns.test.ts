import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import type { OutboundRequest } from '../../../src/core/outbound.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { directSend } from '../../_support/direct-send.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { mcpHttpServer } from '../../_support/mcp-http-server.ts';
import { documentOf, serverOf } from '../gateway.ts';
import { mcpRecord } from '../../tools/mcp/mcp-fixture.ts';
import { textResult, toolOf } from '../../tools/mcp/scripted-peer.ts';
import { scriptedSend } from '../../tools/scripted-send.ts';

const adminKey = 'sk-administrator';
const choice = { index: 0, message: { role: 'assistant', content: 'said' }, finish_reason: 'stop' };

async function newKey({ server }: TestApp, name: string): Promise<{ id: string; key: string }> {
  const headers = { authorization: `Bearer ${adminKey}` };
  const made = await server.inject({ method: 'POST', url: '/api/keys', headers, payload: { name, role: 'user' } });
  return made.json<{ id: string; key: string }>();
}

async function post({ server }: TestApp, url: string, payload: JsonObject, key: string): Promise<number> {
  return (await server.inject({ method: 'POST', url, headers: { authorization: `Bearer ${key}` }, payload })).statusCode;
}

it('a key with one chat waits for one chat of a key that has many, where a backend has no free connection', async () => {
  const held = Promise.withResolvers<void>();
  const arrived: string[] = [];
  const backend = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.url === '/v1/models') return void response.end('{"data":[{"id":"model"}]}');
    void json(request).then(async (body) => {
      arrived.push((body as { messages: { content: string }[] }).messages.at(-1)?.content ?? '');
      await held.promise;
      response.end(JSON.stringify({ choices: [choice] }));
    });
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void backend.close());
  await once(backend, 'listening');
  await using app = await testApp({
    TOOLWHARF_ADMIN_KEY: adminKey,
    OPENAI_API_BASE_URL: `http://127.0.0.1:${(backend.address() as AddressInfo).port}/v1`,
    OLLAMA_BASE_URLS: ';',
    UPSTREAM_MAX_CONNECTIONS: '1',
  });
  const waits = async (): Promise<string | undefined> => {
    const { body } = await app.server.inject({ url: '/metrics', headers: { authorization: `Bearer ${adminKey}` } });
    return /^toolwharf_connection_waits_total (\d+)$/m.exec(body)?.[1];
  };
  const [busy, quiet] = [await newKey(app, 'busy'), await newKey(app, 'quiet')];
  const ask = (content: string, key: string) =>
    post(app, '/v1/chat/completions', { model: 'model', messages: [{ role: 'user', content }] }, key);
  // Once the list of models is there, only chats wait.
  await app.server.inject({ url: '/v1/models', headers: { authorization: `Bearer ${adminKey}` } });
  const chats = Array.from({ length: 20 }, () => ask('busy', busy.key));
  await expect.poll(waits).toBe('19');
  chats.push(ask('quiet', quiet.key));
  await expect.poll(waits).toBe('20');
  held.resolve();
  expect(new Set(await Promise.all(chats))).toEqual(new Set([200]));
  expect(arrived.indexOf('quiet')).toBe(2);
});

const chat = { model: 'model', messages: [{ role: 'user', content: 'hi' }], stream: false };
const ollamaChat = { ...chat, model: 'llama' };
const document = documentOf({ look: { type: 'object', properties: {} } });

it.each<{ what: string; url: string; payload: JsonObject; to: string }>([
  { what: 'a chat', url: '/v1/chat/completions', payload: chat, to: 'http://openai.test/v1/chat/completions' },
  { what: 'a bare prompt', url: '/v1/completions', payload: { model: 'model', prompt: 'hi' }, to: 'http://openai.test/v1/completions' },
  { what: 'embeddings', url: '/v1/embeddings', payload: { model: 'model', input: 'hi' }, to: 'http://openai.test/v1/embeddings' },
  {
    what: 'embeddings by Ollama’s API',
    url: '/api/embed',
    payload: { model: 'model', input: 'hi' },
    to: 'http://openai.test/v1/embeddings',
  },
  { what: 'a chat with an Ollama', url: '/v1/chat/completions', payload: ollamaChat, to: 'http://ollama.test/api/chat' },
  {
    what: 'a bare prompt for an Ollama',
    url: '/v1/completions',
    payload: { model: 'llama', prompt: 'hi' },
    to: 'http://ollama.test/api/generate',
  },
  { what: 'embeddings of an Ollama', url: '/api/embed', payload: { model: 'llama', input: 'hi' }, to: 'http://ollama.test/api/embed' },
  { what: 'a call of an OpenAPI server', url: '/api/tools/shop/look/invoke', payload: {}, to: 'http://shop.test/look' },
  {
    what: 'the document of a server in a request',
    url: '/v1/chat/completions',
    payload: { ...chat, tool_servers: [{ url: 'http://requested.test' }] },
    to: 'http://requested.test/openapi.json',
  },
])('$what is sent in the turn of its caller', async ({ url, payload, to }) => {
  const { send, requests } = scriptedSend({
    'http://openai.test/v1/models': { data: [{ id: 'model' }] },
    'http://ollama.test/api/tags': { models: [{ name: 'llama' }] },
    'http://requested.test/openapi.json': document,
  });
  await using app = await testApp(
    { TOOLWHARF_ADMIN_KEY: adminKey, OPENAI_API_BASE_URL: 'http://openai.test/v1', OLLAMA_BASE_URLS: 'http://ollama.test' },
    { send, registry: memoryRegistry([serverOf('shop', document)]) },
  );
  const { id, key } = await newKey(app, 'somebody');
  await post(app, url, payload, key);
  expect(callersOf(requests, (request) => request.url === to)).toEqual(new Set([id]));
});

it('a call of an MCP server is sent in the turn of its caller', async () => {
  const requests: OutboundRequest[] = [];
  const mcp = await mcpHttpServer([toolOf('look')], { onCall: () => textResult('seen') });
  await using app = await testApp(
    { TOOLWHARF_ADMIN_KEY: adminKey },
    {
      backends: [],
      registry: memoryRegistry([mcpRecord({ id: 'shop', url: mcp.url })]),
      send(request) {
        requests.push(request);
        return directSend(request);
      },
    },
  );
  const { id, key } = await newKey(app, 'somebody');
  expect(await post(app, '/api/tools/shop/look/invoke', {}, key)).toBe(200);
  expect(callersOf(requests, ({ body }) => String(body).includes('tools/call'))).toEqual(new Set([id]));
  expect(callersOf(requests, ({ body }) => String(body).includes('tools/list'))).toEqual(new Set([undefined]));
});

function callersOf(requests: readonly OutboundRequest[], isMeant: (request: OutboundRequest) => boolean): Set<string | undefined> {
  return new Set(requests.filter(isMeant).map(({ caller }) => caller));
}
