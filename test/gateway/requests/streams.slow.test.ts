import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { listen, readChunks, testApp } from '../../_support/build-app.ts';
import { waitFor } from '../../_support/wait-for.ts';

interface Peer {
  url: string;
  /** Requests whose connection the gateway has closed before they were answered. */
  abandoned: number;
  requests: number;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Of the requests to peers. */
const bodies = new WeakMap<IncomingMessage, string>();

/** A peer of the gateway; the handler gets every request but the model list. */
async function peer(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<Peer> {
  const server = createServer((request, response) => {
    if (request.url?.endsWith('/models') === true) {
      response.setHeader('content-type', 'application/json').end('{"data":[{"id":"m"}]}');
      return;
    }
    state.requests++;
    response.on('close', () => {
      if (!response.writableFinished) state.abandoned++;
    });
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      bodies.set(request, body);
      handle(request, response);
    });
  });
  const state: Peer = {
    url: '',
    abandoned: 0,
    requests: 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return state;
}

const sse = { 'content-type': 'text/event-stream' };
const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const environment = (url: string): NodeJS.ProcessEnv => ({
  OPENAI_API_BASE_URLS: `${url}/v1`,
  OPENAI_API_KEYS: 'k',
  OLLAMA_BASE_URLS: 'http://127.0.0.1:1',
});

async function post(url: string, body: object, signal?: AbortSignal): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: signal ?? null,
  });
}
const question = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], tool_ids: [] };

it.each([
  ['before an answer', { stream: false, hasBegun: false }],
  ['before the first byte of a stream', { stream: true, hasBegun: false }],
  ['after the first byte of a stream', { stream: true, hasBegun: true }],
])('a client that leaves %s ends the call to the backend at once', async (_when, { stream, hasBegun }) => {
  await using backend = await peer((_request, response) => {
    if (hasBegun) response.writeHead(200, sse).write(chunk({ content: 'Hel' }));
  });
  await using app = await testApp(environment(backend.url));
  const url = await listen(app);
  const leave = new AbortController();
  const asked = post(url, { ...question, stream }, leave.signal).then((response) => response.text());
  await waitFor(() => expect(backend.requests).toBe(1));
  leave.abort();
  await expect(asked).rejects.toThrow(/abort/i);
  await waitFor(() => expect(backend.abandoned).toBe(1));
});

it('a client that leaves during a tool call ends that call at once, and the model is not asked again', async () => {
  await using toolServer = await peer(() => undefined);
  await using backend = await peer((_request, response) => {
    response
      .writeHead(200, sse)
      .end(
        `${chunk({ tool_calls: [{ index: 0, id: 'c1', function: { name: 'slow', arguments: '{}' } }] })}${chunk({}, 'tool_calls')}data: [DONE]\n\n`,
      );
  });
  const openapi = {
    openapi: '3.1.0',
    info: { title: 'Slow', version: '1' },
    paths: { '/slow': { get: { operationId: 'slow', responses: {} } } },
  };
  await using app = await testApp(environment(backend.url));
  const url = await listen(app);
  const leave = new AbortController();
  const asked = post(url, { ...question, stream: true, tool_servers: [{ url: toolServer.url, openapi }] }, leave.signal).then((response) =>
    response.text(),
  );
  await waitFor(() => expect(toolServer.requests).toBe(1));
  leave.abort();
  await expect(asked).rejects.toThrow(/abort/i);
  await waitFor(() => expect(toolServer.abandoned).toBe(1));
  expect(backend.requests).toBe(1);
});

it('chats that are pipelined on one connection are answered in their order, each by its own answer', async () => {
  await using backend = await peer((request, response) => {
    const { messages = [], stream } = JSON.parse(bodies.get(request) ?? '{}') as { messages?: { content: string }[]; stream?: boolean };
    const content = `answer to ${messages[0]?.content ?? ''}`;
    // The first takes longest.
    setTimeout(() => {
      if (stream === true) response.writeHead(200, sse).end(`${chunk({ content })}${chunk({}, 'stop')}data: [DONE]\n\n`);
      else
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }] }));
    }, delays.shift());
  });
  const delays = [200, 100, 0];
  await using app = await testApp(environment(backend.url));
  const url = new URL(await listen(app));
  const socket = connect(Number(url.port), url.hostname);
  let answers = '';
  socket.setEncoding('utf8').on('data', (text: string) => (answers += text));
  for (const [position, stream] of [false, true, false].entries()) {
    const body = JSON.stringify({ ...question, stream, messages: [{ role: 'user', content: `question ${position}` }] });
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    socket.write(head + body);
  }
  await waitFor(() => expect(answers.match(/answer to question \d/g)).toHaveLength(3));
  expect(answers.match(/answer to question \d/g)).toEqual(['answer to question 0', 'answer to question 1', 'answer to question 2']);
  expect(answers.match(/HTTP\/1\.1 200/g)).toHaveLength(3);
  socket.destroy();
});

it('the key of a backend is redacted where its answer repeats it, whole or as an error amid a stream', async () => {
  const key = 'sk-backend-key-0123456789';
  await using backend = await peer((request, response) => {
    const said = String(request.headers.authorization);
    if (JSON.parse(bodies.get(request) ?? '{}').stream === true)
      response
        .writeHead(200, sse)
        .end(`${chunk({ content: 'Hel' })}data: ${JSON.stringify({ error: { message: `refused: ${said}` } })}\n\n`);
    else
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(
          JSON.stringify({ choices: [{ index: 0, message: { role: 'assistant', content: `You are ${said}` }, finish_reason: 'stop' }] }),
        );
  });
  await using app = await testApp({ ...environment(backend.url), OPENAI_API_KEYS: key });
  const url = await listen(app);
  const texts = await Promise.all([true, false].map(async (stream) => (await post(url, { ...question, stream })).text()));
  expect(texts[0]).toContain('refused: Bearer');
  expect(texts[1]).toContain('You are Bearer');
  expect(texts.join('\n')).not.toContain(key);
});

it('a backend that is cut amid its answer gives one error in the stream and no [DONE]', async () => {
  await using backend = await peer((_request, response) => {
    response.writeHead(200, sse).write(chunk({ content: 'Hel' }));
    setTimeout(() => response.destroy(), 50);
  });
  await using app = await testApp(environment(backend.url));
  const response = await post(await listen(app), { ...question, stream: true });
  const text = await response.text();
  expect(response.status).toBe(200);
  expect(text).toContain('Hel');
  expect(readChunks(text).filter((entry) => typeof entry === 'object' && entry['error'] !== undefined)).toHaveLength(1);
  expect(text).not.toContain('[DONE]');
});

it('of an endless answer little is taken for a client that does not read, and that client is cut off', async () => {
  let taken = 0;
  await using backend = await peer((_request, response) => {
    response.writeHead(200, sse);
    const piece = chunk({ content: 'x'.repeat(16 * 1024) });
    const write = (): void => {
      while (taken < 50 * 1024 * 1024 && !response.destroyed) {
        taken += piece.length;
        if (!response.write(piece)) return void response.once('drain', write);
      }
      response.end(`${chunk({}, 'stop')}data: [DONE]\n\n`);
    };
    write();
  });
  await using app = await testApp({ ...environment(backend.url), CLIENT_STALL_TIMEOUT_MS: '1500' });
  const url = new URL(await listen(app));
  const body = JSON.stringify({ ...question, stream: true });
  const socket = connect(Number(url.port), url.hostname);
  let isClosed = false;
  socket.on('close', () => (isClosed = true)).on('error', () => undefined);
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  socket.pause();
  await waitFor(() => expect(backend.abandoned).toBe(1));
  // Nearly all of it lies in the kernel's buffers of two loopback connections, whose size the system chooses.
  expect(taken).toBeLessThan(16 * 1024 * 1024);
  socket.resume();
  await waitFor(() => expect(isClosed).toBe(true));
});

it('two hundred streams at once arrive whole, each its own', async () => {
  let count = 0;
  await using backend = await peer((_request, response) => {
    const marker = String(count++);
    response.writeHead(200, sse);
    let sent = 0;
    const timer = setInterval(() => {
      response.write(chunk({ content: `<${marker}>` }));
      if (++sent < 10) return;
      clearInterval(timer);
      response.end(`${chunk({}, 'stop')}data: [DONE]\n\n`);
    }, 5);
    response.on('close', () => clearInterval(timer));
  });
  await using app = await testApp(environment(backend.url));
  const url = await listen(app);
  const texts = await Promise.all(Array.from({ length: 200 }, async () => (await post(url, { ...question, stream: true })).text()));
  const markers = texts.map((text) => {
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    const seen = readChunks(text).flatMap((entry) =>
      typeof entry === 'string' ? [] : [(entry['choices'] as { delta: { content?: string } }[])[0]?.delta.content ?? ''],
    );
    const own = seen.filter((piece) => piece !== '');
    expect(own).toHaveLength(10);
    expect(new Set(own).size).toBe(1);
    return own[0];
  });
  expect(new Set(markers).size).toBe(200);
});

it('a shutdown lets running answers finish and refuses new ones', async () => {
  const release = Promise.withResolvers<void>();
  await using backend = await peer((_request, response) => {
    response.writeHead(200, sse).write(chunk({ content: 'Hel' }));
    void release.promise.then(() => response.end(`${chunk({ content: 'lo.' })}${chunk({}, 'stop')}data: [DONE]\n\n`));
  });
  const app = await testApp(environment(backend.url));
  const url = await listen(app);
  const first = await post(url, { ...question, stream: true });
  const closing = app.close();
  await waitFor(async () => expect((await fetch(`${url}/ready`)).status).toBe(503));
  expect((await post(url, question)).status).toBe(503);
  release.resolve();
  expect(await first.text()).toContain('[DONE]');
  await closing;
});

it('at the end of the drain time an endless answer is told that the gateway shuts down', async () => {
  await using backend = await peer((_request, response) => void response.writeHead(200, sse).write(chunk({ content: 'Hel' })));
  const app = await testApp({ ...environment(backend.url), DRAIN_TIMEOUT_MS: '200' });
  const url = await listen(app);
  const first = await post(url, { ...question, stream: true });
  await app.close();
  const text = await first.text();
  expect(text).toContain('server_shutting_down');
  expect(text).not.toContain('[DONE]');
});
