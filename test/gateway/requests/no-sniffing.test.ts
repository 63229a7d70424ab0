import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { backendOf, listen, testApp } from '../../_support/build-app.ts';
import { says, ScriptedModel } from '../../_support/scripted-model.ts';

const local = { host: '127.0.0.1' };
const chat = (stream: boolean) => ({ model: 'model', stream, messages: [{ role: 'user', content: 'Hello' }] });

it.each<[what: string, status: number, request: { method?: 'GET' | 'POST' | 'OPTIONS'; url: string; body?: object; headers?: object }]>([
  ['the browser client', 200, { url: '/client.js' }],
  ['the page of the API', 200, { url: '/docs', headers: { accept: 'text/html' } }],
  ['the page of a link', 404, { url: '/approvals/unknown', headers: { accept: 'text/html' } }],
  ['a document', 200, { url: '/openapi.json' }],
  ['a chat', 200, { method: 'POST', url: '/v1/chat/completions', body: chat(false) }],
  ['a streamed chat', 200, { method: 'POST', url: '/v1/chat/completions', body: chat(true) }],
  ['a refused body', 400, { method: 'POST', url: '/v1/chat/completions', body: {} }],
  ['a route that is not there', 404, { url: '/nowhere' }],
  ['a refused key', 401, { url: '/v1/models', headers: { authorization: 'Bearer wrong', via: '1.1 proxy' } }],
  ['a malformed path', 400, { url: '/%' }],
  [
    'a question of another origin',
    204,
    { method: 'OPTIONS', url: '/v1/models', headers: { origin: 'https://app.example', 'access-control-request-method': 'GET' } },
  ],
])('%s is sent with nosniff', async (_what, status, { headers = {}, body, ...request }) => {
  const backend = new ScriptedModel(says('<script>'));
  await using app = await testApp({ CORS_ALLOW_ORIGIN: 'https://app.example' }, { backends: [backendOf(backend)] });
  const answer = await app.server.inject({ ...request, ...(body && { body }), headers: { ...local, ...headers } });
  expect([answer.statusCode, answer.headers['x-content-type-options']]).toEqual([status, 'nosniff']);
});

it('an answer that is written to the socket is sent with nosniff', async () => {
  const app = await testApp({});
  onTestFinished(() => app.close());
  const socket = connect(Number(new URL(await listen(app)).port), '127.0.0.1');
  let text = '';
  socket.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  socket.write('nonsense\r\n\r\n');
  await once(socket, 'close');
  expect(text).toMatch(/^x-content-type-options: nosniff\r$/m);
});
