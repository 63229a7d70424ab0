import { expect, it } from 'vitest';
import { testApp } from '../../_support/build-app.ts';

it.each<[method: 'GET' | 'POST', url: string, cure: string]>([
  ['POST', '/chat/completions', 'ends with /v1.'],
  ['GET', '/models?limit=2', 'ends with /v1.'],
  ['GET', '/v1/v1/models', 'names /v1 twice'],
  ['POST', '/v1/v1/messages', 'names /v1 twice'],
  ['POST', '/messages', 'ends with /v1.'],
  ['POST', '/messages/count_tokens', 'ends with /v1.'],
  ['GET', '/v1/api/tags', 'has no path'],
  ['POST', '/api/api/chat', 'has no path'],
  ['POST', '/v1/chat/completions/chat/completions', 'ends with /v1'],
  ['GET', '/v1', 'base URL for clients'],
  ['GET', '/v1/', 'base URL for clients'],
  ['GET', '/sse', 'at /mcp (Streamable HTTP)'],
  ['POST', '/api/mcp', 'at /mcp (Streamable HTTP)'],
  ['GET', '/mcp/sse', 'at /mcp (Streamable HTTP)'],
  ['GET', '/v1/realtime', 'websocket of the gateway is at /ws'],
  ['POST', '/v1/responses/input_tokens', 'POST /v1/messages/count_tokens'],
])('a wrong address says how a client is set up: %s %s', async (method, url, cure) => {
  await using app = await testApp({}, { backends: [] });
  const asked = { method, url, headers: { host: 'localhost' }, ...(method === 'POST' && { payload: {} }) };
  const { statusCode, body } = await app.server.inject(asked);
  expect(statusCode).toBe(404);
  expect((JSON.parse(body) as { error: { message: string } }).error.message).toContain(cure);
});

it('another wrong address says where the routes are described', async () => {
  await using app = await testApp({}, { backends: [] });
  const { body } = await app.server.inject({ method: 'GET', url: '/nowhere', headers: { host: 'localhost' } });
  expect(JSON.parse(body)).toMatchObject({ error: { message: 'There is nothing at GET /nowhere. GET /docs describes what there is.' } });
});

it('a websocket at a wrong address is told the right one', async () => {
  await using app = await testApp({}, { backends: [] });
  const headers = { host: 'localhost', connection: 'upgrade', upgrade: 'websocket' };
  const { body } = await app.server.inject({ method: 'GET', url: '/chat-socket', headers });
  expect(JSON.parse(body)).toMatchObject({ error: { message: expect.stringContaining('websocket of the gateway is at /ws') } });
});

it('a browser at /mcp is told what the address is for', async () => {
  await using app = await testApp({}, { backends: [] });
  const { statusCode, body } = await app.server.inject({ url: '/mcp', headers: { host: 'localhost', accept: 'text/html,*/*' } });
  expect(statusCode).toBe(405);
  expect(JSON.parse(body)).toMatchObject({ error: { message: expect.stringMatching(/for MCP clients.*console is at \//) } });
});
