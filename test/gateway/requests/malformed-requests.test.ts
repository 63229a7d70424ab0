import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { listen, testApp } from '../../_support/build-app.ts';

/** What the gateway answers to these bytes, to the end of the connection. */
async function answerTo(bytes: string): Promise<{ status: number; body: unknown; logLines: string[] }> {
  const app = await testApp({});
  onTestFinished(() => app.close());
  const socket = connect(Number(new URL(await listen(app)).port), '127.0.0.1');
  let text = '';
  socket.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  socket.write(bytes);
  await once(socket, 'close');
  const [head = '', body = ''] = text.split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), body: JSON.parse(body), logLines: app.logLines };
}

const host = 'host: 127.0.0.1\r\nconnection: close\r\n';

it.each<[string, string, number, string]>([
  ['an address with a lone %', `GET /% HTTP/1.1\r\n${host}\r\n`, 400, 'invalid_request'],
  ['an address below a route', `GET /v1/models/%E0%A4%A HTTP/1.1\r\n${host}\r\n`, 400, 'invalid_request'],
  [
    'two lengths',
    `POST /v1/chat/completions HTTP/1.1\r\n${host}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
    'invalid_request',
  ],
  ['two hosts', `GET /health HTTP/1.1\r\n${host}Host: evil.example\r\n\r\n`, 400, 'invalid_request'],
  ['another host in its first line', `GET http://evil.example/health HTTP/1.1\r\n${host}\r\n`, 400, 'invalid_request'],
  [
    'two hosts before a socket',
    `GET /ws HTTP/1.1\r\nhost: 127.0.0.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n` +
      'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    400,
    'invalid_request',
  ],
  ['headers without end', `GET /health HTTP/1.1\r\n${host}cookie: ${'x'.repeat(40_000)}\r\n\r\n`, 431, 'headers_too_large'],
  ['something else than HTTP', 'nonsense\r\n\r\n', 400, 'invalid_request'],
])('%s is refused in the form of every error', async (_what, bytes, status, code) => {
  const answer = await answerTo(bytes);
  expect(answer.status).toBe(status);
  expect(answer.body).toEqual({ error: { message: expect.any(String), type: 'invalid_request_error', param: null, code } });
  expect(answer.logLines.join('')).toContain('request refused');
});

it('a path that is longer than any route is cut before it is routed, and a long query is not', async () => {
  const app = await testApp({});
  onTestFinished(() => app.close());
  const routed = async (url: string): Promise<{ status: number; url: string | undefined }> => {
    const { statusCode, raw } = await app.server.inject({ url, headers: { host: '127.0.0.1' } });
    return { status: statusCode, url: raw.req.url };
  };
  expect(await routed(`/${'%41/'.repeat(3_500)}?a=b`)).toEqual({ status: 404, url: `/${'%41/'.repeat(3_500)}`.slice(0, 2_560) });
  expect(await routed(`/health${'/'.repeat(14_000)}`)).toMatchObject({ status: 200 });
  const withQuery = `/health?${'a=b&'.repeat(2_000)}`;
  expect(await routed(withQuery)).toEqual({ status: 200, url: withQuery });
});
