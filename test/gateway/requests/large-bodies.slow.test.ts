import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import fastify from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import { installErrorHandling } from '../../../src/http/errors/error-handler.ts';
import { installJsonBodies } from '../../../src/http/body/json-bodies.ts';
import { listen, testApp } from '../../_support/build-app.ts';

const fiveMegabytes = 5 * 1024 * 1024;
const adminKey = 'sk-tw-fixed-administrator';

async function gateway(environment: NodeJS.ProcessEnv): Promise<string> {
  const app = await testApp(environment, { backends: [] });
  onTestFinished(() => app.close());
  return listen(app);
}

/** A request that announces a body; whoever has the socket sends it, or not. */
function announce(url: string, line: string, headers: Record<string, string | number>): { socket: Socket; answer: Promise<string> } {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let text = '';
  socket.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`${line} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('')}\r\n`);
  return { socket, answer: once(socket, 'end').then(() => text) };
}

describe('a large body that nobody wants', () => {
  const wrong = { authorization: 'Bearer wrong', 'content-type': 'application/json', 'content-length': fiveMegabytes };
  const { 'content-length': _length, ...unsized } = wrong;
  it.each<[string, string, Record<string, string | number>, number]>([
    ['with a wrong key', 'POST /v1/chat/completions', wrong, 401],
    ['of unknown size', 'POST /v1/chat/completions', { ...unsized, 'transfer-encoding': 'chunked' }, 401],
    ['to a place where nothing is', 'POST /nothing', wrong, 404],
    ['to a place where another method is', 'PUT /v1/models', wrong, 405],
    ['of a request that has none', 'GET /health', wrong, 413],
    [
      'larger than bodies may be',
      'POST /v1/chat/completions',
      { ...wrong, authorization: `Bearer ${adminKey}`, 'content-length': 1e9 },
      413,
    ],
  ])('%s is refused before it arrives, and the connection ends', async (_what, line, headers, status) => {
    const url = await gateway({ TOOLWHARF_ADMIN_KEY: adminKey });
    const [head = '', body = ''] = (await announce(url, line, headers).answer).split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} .*\r\nconnection: close`, 's'));
    expect(JSON.parse(body)).toMatchObject({ error: { code: expect.any(String) } });
  });

  it('is refused so that a client which sends all of it reads why', async () => {
    const url = await gateway({ TOOLWHARF_ADMIN_KEY: adminKey });
    const answers = Array.from({ length: 8 }, async () => {
      const body = JSON.stringify({ text: 'x'.repeat(fiveMegabytes) });
      const headers = { authorization: 'Bearer wrong', 'content-type': 'application/json' };
      return (await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })).status;
    });
    expect(await Promise.all(answers)).toEqual(Array.from({ length: 8 }, () => 401));
  });

  it('leaves small ones alone: the connection goes on', async () => {
    const url = await gateway({ TOOLWHARF_ADMIN_KEY: adminKey });
    const { socket, answer } = announce(url, 'POST /v1/chat/completions', { ...wrong, 'content-length': 2 });
    socket.write('{}GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    expect((await answer).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 401', 'HTTP/1.1 200']);
  });
});

describe('a body in chunks', () => {
  const chunked = { 'content-type': 'application/json', 'transfer-encoding': 'chunked', connection: 'close' };

  async function answerTo(chunks: string): Promise<string> {
    const app = fastify();
    installErrorHandling(app);
    installJsonBodies(app);
    app.post('/', (request) => JSON.stringify(request.body).length);
    onTestFinished(() => app.close());
    const { socket, answer } = announce(await app.listen({ host: '127.0.0.1', port: 0 }), 'POST /', chunked);
    socket.write(`${chunks}0\r\n\r\n`);
    return answer;
  }
  const list = (values: number): string => `[${Array.from({ length: values }, () => '1').join()}]`;
  const chunksOf = (text: string, length: number): string =>
    Array.from({ length: Math.ceil(text.length / length) }, (_, index) => {
      const chunk = text.slice(index * length, (index + 1) * length);
      return `${chunk.length.toString(16)}\r\n${chunk}\r\n`;
    }).join('');

  it('of a byte each is refused when there are thousands', async () => {
    expect(await answerTo(chunksOf(list(5_000), 1))).toMatch(/^HTTP\/1\.1 400 .*chunks that are too small/s);
  });

  it.each([
    ['of a byte each is read when it is short', list(200), 1],
    ['of 64 bytes each is read at any length', list(50_000 - 10), 64],
  ])('%s', async (_what, text, length) => {
    const answer = await answerTo(chunksOf(text, length));
    expect(answer).toContain('HTTP/1.1 200');
    expect(answer.endsWith(String(text.length)) || answer.includes(`${text.length}\r\n`)).toBe(true);
  });
});

describe('large bodies at the same time', () => {
  const size = 200 * 1024;
  const json = JSON.stringify('x'.repeat(size - 2));
  const headers = { 'content-type': 'application/json', 'content-length': size, connection: 'close' };

  it('wait in memory up to a sum; what is beyond it may come again', async () => {
    const app = fastify();
    installErrorHandling(app);
    installJsonBodies(app, { arrivingBytes: 1.5 * size });
    app.post('/', (request) => String(request.body).length);
    onTestFinished(() => app.close());
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const both = [announce(url, 'POST /', headers), announce(url, 'POST /', headers)];
    // Neither can be whole before the other has begun.
    for (const { socket } of both) socket.write(json.slice(0, -1));
    const refused = await Promise.race(both.map(({ answer }) => answer));
    expect(refused).toMatch(/^HTTP\/1\.1 503 .*\r\nretry-after: 1\r\n.*"code":"overloaded"/s);
    for (const { socket } of both) if (!socket.readableEnded) socket.write(json.slice(-1));
    const statuses = (await Promise.all(both.map(({ answer }) => answer))).map((text) => text.slice(9, 12));
    expect(statuses.toSorted()).toEqual(['200', '503']);
    // Nothing of either counts any longer.
    for (let round = 0; round < 3; round += 1) {
      const later = announce(url, 'POST /', headers);
      later.socket.write(json);
      expect(await later.answer).toContain('HTTP/1.1 200');
    }
    const left = announce(url, 'POST /', headers);
    left.socket.write(json.slice(0, -1));
    left.socket.destroy();
    const last = announce(url, 'POST /', headers);
    last.socket.write(json);
    expect(await last.answer).toContain('HTTP/1.1 200');
  });
});

describe('large bodies of several callers', () => {
  const size = 200 * 1024;
  const headers = (owner: string, length: number) => ({
    'content-type': 'application/json',
    'content-length': length,
    connection: 'close',
    owner,
  });

  async function narrowGateway(arrivingBytes: number) {
    const app = fastify();
    installErrorHandling(app);
    installJsonBodies(app, { arrivingBytes, ownerOf: (request) => String(request.headers['owner']) });
    const waiting: (() => void)[] = [];
    app.post('/', (request) => String(request.body).length);
    app.post('/slow', async () => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return 'done';
    });
    onTestFinished(() => app.close());
    return { url: await app.listen({ host: '127.0.0.1', port: 0 }), waiting };
  }

  const statusOf = (text: string): string => text.slice(9, 12);

  it('whoever leaves many half sent loses the last of them, and the others are heard', async () => {
    const { url } = await narrowGateway(3.5 * size);
    const halves = [1, 2, 3].map(() => announce(url, 'POST /', headers('greedy', size)));
    for (const { socket } of halves) socket.write(`"${'x'.repeat(size - 10)}`);
    const modest = announce(url, 'POST /', headers('modest', size));
    modest.socket.write(`"${'x'.repeat(size - 2)}"`);
    expect(await modest.answer).toContain('HTTP/1.1 200');
    const lost = await Promise.race(halves.map(async ({ answer }, index) => ({ index, status: statusOf(await answer) })));
    expect(lost).toMatchObject({ status: '503' });
    for (const [index, { socket }] of halves.entries()) if (index !== lost.index) socket.write('xxxxxxxx"');
    const ends = await Promise.all(halves.map(async ({ answer }) => statusOf(await answer)));
    expect(ends.toSorted()).toEqual(['200', '200', '503']);
  });

  it('one that was read counts no more while its answer takes long, whatever its letters and its length', async () => {
    const { url, waiting } = await narrowGateway(size);
    // Fewer letters than a small body has bytes.
    const wide = `"${'語'.repeat(60_000)}"`;
    const { 'content-length': _length, ...unsized } = headers('slow', 0);
    const chunk = 'x'.repeat(50_000);
    const running = [announce(url, 'POST /slow', headers('slow', Buffer.byteLength(wide)))];
    running[0]?.socket.write(wide);
    await expect.poll(() => waiting.length).toBe(1);
    for (const count of [2, 3, 4]) {
      const next = announce(url, 'POST /slow', { ...unsized, 'transfer-encoding': 'chunked' });
      next.socket.write(`${(chunk.length + 2).toString(16)}\r\n"${chunk}"\r\n0\r\n\r\n`);
      running.push(next);
      await expect.poll(() => waiting.length).toBe(count);
    }
    const other = announce(url, 'POST /', headers('slow', size - 10));
    other.socket.write(`"${'x'.repeat(size - 12)}"`);
    expect(await other.answer).toContain('HTTP/1.1 200');
    for (const end of waiting) end();
    for (const { answer } of running) expect(await answer).toContain('HTTP/1.1 200');
  });
});

describe('a body', () => {
  const post = async (payload: string, method: 'POST' | 'DELETE' = 'POST', path = '/v1/chat/completions') => {
    const app = await testApp({}, { backends: [] });
    onTestFinished(() => app.close());
    const headers = { host: '127.0.0.1', 'content-type': 'application/json' };
    return app.server.inject({ method, url: path, headers, payload });
  };

  it('of two megabytes of brackets is refused without being parsed', async () => {
    const answer = await post(`{"messages":${'['.repeat(2 * 1024 * 1024)}`);
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toMatchObject({ error: { message: 'The body is nested deeper than 256 levels.' } });
  });

  it('may hold any number of them in its texts', async () => {
    const content = '[{"'.repeat(100_000);
    const answer = await post(JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] }));
    expect(answer.json()).toMatchObject({ error: { code: 'model_not_found' } });
  });

  it.each([
    ['/api/v1/configs/tool_servers', '{"TOOL_SERVER_CONNECTIONS":[{"url":"http://127.0.0.1:1","x":[§]}]}'],
    ['/api/tool-servers/verify', '{"url":"http://127.0.0.1:1","x":[§]}'],
    ['/api/tools/nothing/invoke', '{"arguments":{"v":§}}'],
  ])('that is small and nested without end is refused: %s', async (path, payload) => {
    const app = await testApp({}, { backends: [] });
    onTestFinished(() => app.close());
    const headers = { host: '127.0.0.1', 'content-type': 'application/json' };
    const ask = (method: 'POST', url: string, text: string) => app.server.inject({ method, url, headers, payload: text });
    expect((await ask('POST', '/api/tool-servers', '{"url":"http://127.0.0.1:1","x":[["a"]]}')).statusCode).toBe(201);
    const answer = await ask('POST', path, payload.replace('§', `${'['.repeat(30_000)}${']'.repeat(30_000)}`));
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toMatchObject({ error: { message: expect.stringMatching(/nested/) } });
  });

  it('that sets a prototype is refused', async () => {
    expect((await post('{"__proto__":{"a":1}}')).statusCode).toBe(400);
  });

  it.each<['POST' | 'DELETE', string, number]>([
    ['DELETE', '/api/tool-servers/nobody', 404],
    ['DELETE', '/api/keys/nobody', 404],
    ['DELETE', '/api/presets/nobody', 404],
    ['POST', '/api/tasks/stop/nobody', 404],
    ['POST', '/api/tool-servers/nobody/refresh', 404],
    ['POST', '/v1/chat/completions', 400],
    ['POST', '/api/keys', 400],
    ['POST', '/api/presets', 400],
    ['POST', '/api/tool-servers', 400],
    ['POST', '/api/tool-servers/verify', 400],
    ['POST', '/api/v1/configs/tool_servers', 400],
    ['POST', '/api/tools/nothing/invoke', 400],
    ['POST', '/v1/embeddings', 400],
    ['POST', '/mcp', 400],
    ['POST', '/api/runs/nobody/approvals/none', 400],
  ])('that is empty, though announced as JSON, is none: %s %s answers %d', async (method, path, status) => {
    const answer = await post('', method, path);
    expect(answer.body).not.toMatch(/body is empty|internal/i);
    expect(answer.statusCode).toBe(status);
  });
});
