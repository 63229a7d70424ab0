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
  ['POST', '/v1/responses/input_tokens', 'POST /v1/messages/count_tokens'],
])('a wrong address says how a client is set up: %s %s', async (method, url, cure) => {
  await using app = await testApp({}, { backends: [] });
  const asked = { method, url, headers: { host: 'localhost' }, ...(method === 'POST' && { payload: {} }) };
  const { statusCode, body } = await app.server.inject(asked);
  expect(statusCode).toBe(404);
  expect((JSON.parse(body) as { error: { message: string } }).error.message).toContain(cure);
});

it('another wrong address says only that nothing is there', async () => {
  await using app = await testApp({}, { backends: [] });
  const { body } = await app.server.inject({ method: 'GET', url: '/nowhere', headers: { host: 'localhost' } });
  expect(JSON.parse(body)).toMatchObject({ error: { message: 'There is nothing at GET /nowhere.' } });
});
