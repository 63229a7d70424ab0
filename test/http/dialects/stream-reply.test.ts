import { fastify } from 'fastify';
import { expect, it } from 'vitest';
import type { ChatEvent } from '../../../src/core/chat/chat.ts';
import { GatewayError } from '../../../src/core/errors.ts';
import { streamReply } from '../../../src/http/dialects/answers/stream-reply.ts';
import { emitFrom } from '../../_support/emit-and-pull.ts';

/** A server whose only route streams the given events, with short patience. */
async function serverOf(events: () => AsyncGenerator<ChatEvent, void>) {
  const app = fastify({ forceCloseConnections: true });
  app.get('/', (_request, reply) =>
    streamReply(reply, (emit) => emitFrom(events(), emit), {
      encoder: {
        contentType: 'text/event-stream',
        keepAlive: () => ': keep-alive\n\n',
        encode: (event: ChatEvent) => (event.type === 'text' ? `data: ${event.text}\n\n` : ''),
        end: () => 'data: end\n\n',
      },
      watch: () => undefined,
      failure: (error) => `data: failed ${(error as Error).message}\n\n`,
      stallMs: 1_000,
      headersMs: 40,
      keepAliveMs: 40,
      controller: new AbortController(),
    }),
  );
  app.setErrorHandler((error, _request, reply) =>
    reply.code(error instanceof GatewayError ? error.status : 500).send((error as Error).message),
  );
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return { url, [Symbol.asyncDispose]: () => app.close() };
}
const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const text = (words: string): ChatEvent => ({ type: 'text', text: words });

it('headers and a comment go out while the first words are still awaited', async () => {
  const late = Promise.withResolvers<void>();
  await using server = await serverOf(async function* () {
    await late.promise;
    yield text('late');
  });
  const response = await fetch(server.url);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toBe(': keep-alive\n\n');
  late.resolve();
  let rest = '';
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) rest += next.value;
  expect(rest).toBe('data: late\n\ndata: end\n\n');
});

it('comments keep the connection alive between words that are far apart', async () => {
  await using server = await serverOf(async function* () {
    yield text('a');
    await wait(150);
    yield text('b');
  });
  const body = await (await fetch(server.url)).text();
  expect(body).toMatch(/^(?:: keep-alive\n\n)*data: a\n\n(?:: keep-alive\n\n)+data: b\n\ndata: end\n\n$/);
});

it('a failure before the first words keeps its status, one after the headers is told in the stream', async () => {
  await using early = await serverOf(async function* () {
    yield await Promise.reject<ChatEvent>(new GatewayError('upstream_timeout', 'silent'));
  });
  expect((await fetch(early.url)).status).toBe(504);
  await using late = await serverOf(async function* () {
    await wait(100);
    yield await Promise.reject<ChatEvent>(new GatewayError('upstream_timeout', 'silent'));
  });
  const response = await fetch(late.url);
  expect(response.status).toBe(200);
  expect(await response.text()).toMatch(/data: failed silent\n\n$/);
});

it('words of one tick are written together', async () => {
  await using server = await serverOf(async function* () {
    yield text('first');
    await wait(20);
    for (let count = 0; count < 50; count++) yield text(String(count));
  });
  const pieces: string[] = [];
  const response = await fetch(server.url);
  for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) pieces.push(piece);
  expect(pieces.join('')).toContain('data: 49');
  expect(pieces.length).toBeLessThan(10);
});

it('a reader who keeps up is not cut off after a large piece', async () => {
  await using server = await serverOf(async function* () {
    yield text('x'.repeat(300_000));
    await wait(100);
    yield text('small');
    await wait(1_300);
    yield text('late');
  });
  const body = await (await fetch(server.url)).text();
  expect(body).toMatch(/data: small[^]*data: late\n\ndata: end\n\n$/);
});
