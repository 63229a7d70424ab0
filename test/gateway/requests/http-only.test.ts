import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { listen, testApp } from '../../_support/build-app.ts';

it.each(['/v1/completions', '/v1/messages', '/v1/messages?model=demo'])('a websocket to %s is refused with 426', async (path) => {
  const app = await testApp({});
  onTestFinished(() => app.close());
  const socket = new WebSocket(`${(await listen(app)).replace('http', 'ws')}${path}`);
  const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  let body = '';
  for await (const piece of answer.setEncoding('utf8')) body += String(piece);
  expect(answer.statusCode).toBe(426);
  expect(JSON.parse(body)).toMatchObject({ error: { message: expect.stringContaining('served over HTTP only') } });
});
